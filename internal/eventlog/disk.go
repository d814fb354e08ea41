package eventlog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// disk does the few things to the file system that must survive a kill, in an order that makes them durable.
// Its zero value is the real one.
type disk struct {
	// before is called ahead of each step; an error stands for the step having failed, or for the process having died
	// just before it. nil outside the tests.
	before func(op, path string) error
	// volatile leaves the syncs out, which a test that simulates a kill does not need: the page cache survives it.
	volatile bool
}

func (d disk) step(op, path string) error {
	if d.before == nil {
		return nil
	}
	return d.before(op, path)
}

// write makes the file at path whole or not at all: temporary name, sync, rename. The folder is not synced.
func (d disk) write(path string, fill func(io.Writer) error) (err error) {
	tmp := path + tmpSuffix
	if err := d.step("create", tmp); err != nil {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.drop(tmp))
		}
	}()
	err = fill(stepWriter{d, f, tmp})
	if err == nil {
		err = d.step("sync", tmp)
	}
	if err == nil && !d.volatile {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.rename(tmp, path)
}

// drop removes a temporary file after a failure, as far as that goes.
func (d disk) drop(path string) error {
	if err := d.step("remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (d disk) rename(from, to string) error {
	if err := d.step("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// sync makes the names in a folder durable.
func (d disk) sync(dir string) error {
	if err := d.step("sync", dir); err != nil {
		return err
	}
	if d.volatile || runtime.GOOS == "windows" {
		return nil // Windows cannot sync a folder
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// stepWriter lets a test fail in the middle of a file.
type stepWriter struct {
	disk
	w    io.Writer
	path string
}

func (s stepWriter) Write(b []byte) (int, error) {
	if err := s.step("write", s.path); err != nil {
		n, _ := s.w.Write(b[:len(b)/2])
		return n, err
	}
	return s.w.Write(b)
}

// parent is the folder that holds a run.
func parent(dir string) string { return filepath.Dir(filepath.Clean(dir)) }
