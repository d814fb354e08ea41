//go:build unix

package eventlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFolder keeps a second process out of a run in progress. The lock is on the folder itself: it leaves no file
// behind, outlives the folder's renaming and ends with the process. A file system without locks is taken as unlocked.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close()
		return nil, errLocked
	case err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOLCK) && !errors.Is(err, unix.ENOSYS):
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlockBeforeRename has nothing to do: the lock goes with the folder.
func unlockBeforeRename(*os.File) error { return nil }
