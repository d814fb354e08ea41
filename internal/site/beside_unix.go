//go:build unix

package site

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the folder at path if no other process has it. Where there are no locks it has nothing, so that nothing is removed: a run in
// progress (package eventlog) goes on without one instead.
func lock(path string) *folderLock {
	f, err := os.Open(path)
	if err != nil {
		return &folderLock{}
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return &folderLock{}
	}
	return &folderLock{f}
}
