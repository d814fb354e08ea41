package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of the folders beside the output: a site under construction, and the old one while swapByRenaming moves it out of the way.
const (
	newInfix  = ".new-"
	oldSuffix = ".old"
)

// makeBeside makes the folder under construction in the output's parent, so that renaming it is one step, and holds it until the
// build has ended. What builds that were killed left there is removed.
func makeBeside(out string) (dir string, held *folderLock, err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return "", nil, err
	}
	parent := filepath.Dir(out)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, err
	}
	clearLeft(out)
	for range 10 {
		dir, err := os.MkdirTemp(parent, prefixBeside(out))
		if err != nil {
			return "", nil, err
		}
		held := lock(dir)
		if held.isStill(dir) {
			return dir, held, os.Chmod(dir, 0o755)
		}
		held.release() // another build took it for left behind, in the instant before it was locked
	}
	return "", nil, fmt.Errorf("output %q: other builds remove what this one begins: build it once at a time", out)
}

func prefixBeside(out string) string { return "." + filepath.Base(out) + newInfix }

// clearLeft removes folders that no living build holds. An old site whose successor did not come is put back. It does what it can:
// what cannot be removed is in nobody's way. Where folders cannot be locked it does nothing.
func clearLeft(out string) {
	parent := filepath.Dir(out)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefixBeside(out)) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		held := lock(dir)
		if held.file == nil {
			continue
		}
		if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(dir, oldSuffix) {
			_ = os.Rename(dir, out)
		} else {
			_ = os.RemoveAll(dir)
		}
		held.release()
	}
}

// folderLock is the claim of a living process on a folder; it ends with the process. The file is nil where the folder is another's
// or the system has no such locks.
type folderLock struct{ file *os.File }

// isStill reports whether the folder at path is the one that was locked. Without locks nothing removes it, so it is.
func (l *folderLock) isStill(path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	if l.file == nil {
		return true
	}
	then, err := l.file.Stat()
	return err == nil && os.SameFile(now, then)
}

func (l *folderLock) release() {
	if l.file != nil {
		l.file.Close() // nothing was written
	}
}
