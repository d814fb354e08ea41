package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
	"speedmatrix/internal/summary"
)

const (
	partialSuffix = ".partial"
	runFile       = "run.toml"
	notesFile     = "notes.md"
	maxNotesBytes = 128 << 10 // the page cuts at half of that
)

// rawFiles are copied beside a page with --copy-data.
var rawFiles = []string{"requests.parquet", "samples.parquet"}

// scan lists the run folders below dir, sorted, and the runs in progress, which are left out. Files, hidden folders and the folder
// "errata" are not runs.
func scan(dir string) (runs, partial []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("results folder %q does not exist: name it with --results, or measure a run first", dir)
		}
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, ".") || name == "errata":
		case !e.IsDir() && e.Type()&fs.ModeSymlink == 0:
		case strings.HasSuffix(name, partialSuffix):
			partial = append(partial, filepath.Join(dir, name))
		default:
			runs = append(runs, filepath.Join(dir, name))
		}
	}
	slices.Sort(runs)
	return runs, partial, nil
}

// errPartial says that a folder holds a run in progress.
var errPartial = errors.New("the run is not complete")

// loaded is one run, ready to be written, and its line in the lists.
type loaded struct {
	run   site.Run
	entry page.Entry
}

// load reads a run folder and computes everything that is published of it.
func load(dir string, s page.Site) (loaded, error) {
	if info, err := os.Lstat(dir); err != nil {
		return loaded{}, err
	} else if !info.IsDir() {
		return loaded{}, errors.New("a run must be a folder, not a link")
	}
	l, err := eventlog.Open(dir)
	if err != nil {
		return loaded{}, err
	}
	if l.Partial() {
		return loaded{}, errPartial
	}
	if name := filepath.Base(dir); l.Run().ID != name {
		return loaded{}, fmt.Errorf("%s names the run %q: the folder must have that name", runFile, l.Run().ID)
	}
	sum, err := summarize(l)
	if err != nil {
		return loaded{}, err
	}
	notes, err := readNotes(dir)
	if err != nil {
		return loaded{}, err
	}
	return publish(&sum, notes, dir, s)
}

func summarize(l *eventlog.Log) (summary.Run, error) {
	requests, err := l.Requests()
	if err != nil {
		return summary.Run{}, err
	}
	samples, err := l.Samples()
	if err != nil {
		return summary.Run{}, err
	}
	return summary.Summarize(l.Run(), requests, samples)
}

// publish makes the page and its twins.
func publish(sum *summary.Run, notes, dir string, s page.Site) (loaded, error) {
	p, err := page.NewRun(sum, page.RunInput{Notes: notes, Site: s})
	if err != nil {
		return loaded{}, err
	}
	out := loaded{run: site.Run{Page: p, CSV: page.CellsCSV(sum)}, entry: page.NewEntry(sum)}
	var errs [3]error
	out.run.JSON, errs[0] = page.NewTwin(sum).JSON()
	out.run.Curves, errs[1] = page.NewCurves(sum).JSON()
	out.run.Strips, errs[2] = page.NewStrips(sum).JSON()
	if s.CopyData {
		out.run.Copy = map[string]string{}
		for _, name := range rawFiles {
			out.run.Copy[name] = filepath.Join(dir, name)
		}
	}
	return out, errors.Join(errs[:]...)
}

// readNotes reads notes.md, when it is there and a regular file.
func readNotes(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(notesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", notesFile)
	}
	f, err := root.Open(notesFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxNotesBytes))
	return string(b), err
}
