package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"speedmatrix/internal/check"
	"speedmatrix/internal/page"
)

// extras is what a results folder may hold beside runs.
type extras struct {
	names  page.Names
	errata map[string]page.Erratum // by the run's id
}

const (
	namesFile    = "names.toml"
	errataFolder = "errata"
	maxExtra     = 1 << 20 // bytes of one such file
)

// extraError says what is wrong with one file.
type extraError struct{ path, what, mend string }

func (e extraError) Error() string { return page.Clean(e.path) + ": " + e.what + ": " + e.mend }

// readExtras reads names.toml and errata/<run-id>.toml. A mistake in them is an error whatever runs there are: the site would show
// numbers that are known to be wrong. The errors are of the type extraError, joined.
func readExtras(results string) (extras, error) {
	x := extras{errata: map[string]page.Erratum{}}
	_, err := readTOML(filepath.Join(results, namesFile), &x.names)
	if err == nil {
		err = wrongIn(filepath.Join(results, namesFile), x.names.Validate())
	}
	files, folderErr := errataFiles(results)
	errs := []error{err, folderErr}
	for _, path := range files {
		id := strings.TrimSuffix(filepath.Base(path), ".toml")
		var erratum page.Erratum
		_, err := readTOML(path, &erratum)
		if err == nil {
			err = wrongIn(path, erratum.Validate())
		}
		if _, missing := os.Lstat(filepath.Join(results, id)); err == nil && missing != nil {
			err = extraError{path, fmt.Sprintf("there is no run %q", id), "name the file after the run's folder"}
		}
		errs = append(errs, err)
		x.errata[id] = erratum
	}
	return x, errors.Join(errs...)
}

// errataFiles lists the errata, sorted.
func errataFiles(results string) ([]string, error) {
	dir := filepath.Join(results, errataFolder)
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.IsDir() {
		return nil, extraError{dir, "is not a folder", "make it one of files <run-id>.toml"}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func wrongIn(path string, err error) error {
	if err == nil {
		return nil
	}
	return extraError{path, oneLine(err), "mend it by docs/publishing.md"}
}

// readTOML decodes a small regular file; keys that v does not have are an error.
func readTOML(path string, v any) (found bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxExtra {
		return false, extraError{path, "is no regular file of at most 1 MB", "put the file itself there"}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	meta, err := toml.Decode(string(b), v)
	if err != nil {
		return false, wrongIn(path, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return false, wrongIn(path, fmt.Errorf("key %q is not known", extra[0].String()))
	}
	return true, nil
}

// checkFolder returns what is wrong with a folder of runs beside the runs themselves.
func checkFolder(dir string) []check.Problem {
	out := check.Folder(dir)
	_, err := readExtras(dir)
	for _, err := range parts(err) {
		p := check.Problem{Path: dir, What: oneLine(err), Mend: "mend its permissions", Severity: check.Refuse}
		if extra := (extraError{}); errors.As(err, &extra) {
			p = check.Problem{Path: page.Clean(extra.path), What: extra.what, Mend: extra.mend, Severity: check.Refuse}
		}
		if !slices.ContainsFunc(out, func(told check.Problem) bool { return told.Path == p.Path }) {
			out = append(out, p)
		}
	}
	return out
}

// parts are the errors that were joined.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
