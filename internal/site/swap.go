package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// marker is the file by which a folder is known as written by this program.
const (
	marker     = ".sitegen"
	markerText = "This folder is written by sitegen and replaced as a whole at each build. Only README.md and .gitignore are kept.\n"
)

// carried are the files of the old folder that the new one keeps.
var carried = []string{"README.md", ".gitignore"}

// checkReplaceable refuses an output folder with content that is not ours.
func checkReplaceable(out string) error {
	info, err := os.Lstat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("output %q is not a folder: name another one with --out", out)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	foreign := ""
	for _, e := range entries {
		if e.Name() == marker && e.Type().IsRegular() {
			return nil
		}
		if foreign == "" && !slices.Contains(carried, e.Name()) {
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("output %q holds %q, which sitegen did not write, and is not replaced: name an empty folder with --out", out, foreign)
	}
	return nil
}

// swap puts the folder built in the place of out. Where the system can exchange two names in one step, there is a site at every
// instant; elsewhere a kill between two renamings leaves the old one beside it, and clearLeft puts that back.
func swap(built, out string) error {
	if err := checkReplaceable(out); err != nil {
		return err // it has changed since New
	}
	if err := carryOver(out, built); err != nil {
		return err
	}
	if exchange(built, out) == nil {
		return os.RemoveAll(built) // the old site, by now
	}
	return swapByRenaming(built, out)
}

// swapByRenaming is swap in two steps. When the second fails, the first is undone.
func swapByRenaming(built, out string) error {
	held := lock(out) // clearLeft of another build must not take it for left behind
	defer held.release()
	old := built + oldSuffix
	err := os.Rename(out, old)
	hadOld := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(built, out); err != nil {
		if hadOld {
			err = errors.Join(err, os.Rename(old, out))
		}
		return err
	}
	if hadOld {
		return os.RemoveAll(old)
	}
	return nil
}

// carryOver copies the files that a rebuild keeps.
func carryOver(from, to string) error {
	for _, name := range carried {
		b, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
