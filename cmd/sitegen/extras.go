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

// extraError says what is wrong with one file.
type extraError struct{ path, what, mend string }

func (e extraError) Error() string { return page.Clean(e.path) + ": " + e.what + ": " + e.mend }

// readExtras reads names.toml and errata/<run-id>.toml, and returns all mistakes in them. One is an error whatever runs there are: the site
// would show numbers that are known to be wrong.
func readExtras(results string) (x extras, errs []error) {
	x.errata = map[string]page.Erratum{}
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	note(readTOML(filepath.Join(results, check.NamesFile), &x.names))
	files, err := errataFiles(results)
	note(err)
	for _, path := range files {
		id := strings.TrimSuffix(filepath.Base(path), check.ErratumExt)
		var erratum page.Erratum
		note(readTOML(path, &erratum))
		if _, err := os.Lstat(filepath.Join(results, id)); errors.Is(err, fs.ErrNotExist) {
			note(extraError{path, fmt.Sprintf("there is no run %q", id), "name the file after the run's folder"})
		}
		x.errata[id] = erratum
	}
	return x, errs
}

// errataFiles lists the errata, sorted.
func errataFiles(results string) ([]string, error) {
	dir := filepath.Join(results, check.ErrataFolder)
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
		if strings.HasSuffix(e.Name(), check.ErratumExt) {
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

// readTOML decodes and validates a small regular file, if it is there; keys that v does not have are an error.
func readTOML(path string, v interface{ Validate() error }) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > check.ExtraBytes {
		return extraError{path, fmt.Sprintf("is no regular file of at most %d bytes", check.ExtraBytes), "put the file itself there"}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	meta, err := toml.Decode(string(b), v)
	if err != nil {
		return wrongIn(path, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return wrongIn(path, fmt.Errorf("key %q is not known", extra[0].String()))
	}
	return wrongIn(path, v.Validate())
}

// checkFolder returns what is wrong with a folder of runs beside the runs themselves.
func checkFolder(dir string) []check.Problem {
	out := check.Folder(dir)
	_, errs := readExtras(dir)
	for _, err := range errs {
		p := check.Problem{Path: dir, What: oneLine(err), Mend: "mend its permissions", Severity: check.Refuse}
		if extra := (extraError{}); errors.As(err, &extra) {
			p = check.Problem{Path: page.Clean(extra.path), What: extra.what, Mend: extra.mend, Severity: check.Refuse}
		}
		// What check.Folder says of a file comes first: it may be the reason why it does not read.
		if !slices.ContainsFunc(out, func(told check.Problem) bool { return told.Path == p.Path }) {
			out = append(out, p)
		}
	}
	return out
}
