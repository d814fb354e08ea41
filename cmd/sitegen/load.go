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

	"speedmatrix/internal/check"
	"speedmatrix/internal/compare"
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

// scan lists the run folders below dir, sorted, and the runs in progress, which are left out. Files, hidden folders and the errata are
// not runs.
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
		case strings.HasPrefix(name, ".") || name == check.ErrataFolder:
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

// add reads a run folder, or what the last build knew of it, writes the run's folder of the site, and returns its record; nil when the
// run was withdrawn.
func (w *runWriter) add(dir string) (*record, error) {
	if info, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, errors.New("a run must be a folder, not a link")
	}
	id := filepath.Base(dir)
	erratum, wrong := w.extras.errata[id]
	if wrong && erratum.Action == page.Tombstone {
		return nil, w.b.PageUnit("stone.html", page.RunPath(id), page.NewStone(id, erratum, w.site))
	}
	notes, err := readNotes(dir)
	if err != nil {
		return nil, err
	}
	rec, sum, err := w.read(dir, id)
	if err != nil {
		return nil, err
	}
	w.store.use(rec)
	places := w.places.Of(rec.Listed)
	key := w.b.Key("run", rec.Key, notes, fmt.Sprintf("%+v", erratum), fmt.Sprint(places), dir)
	return &rec, w.b.Unit(strings.TrimSuffix(page.RunPath(id), "/"), key, func() error {
		if sum == nil {
			if sum, err = w.again(rec.Key, dir); err != nil {
				return err
			}
		}
		run, err := publish(sum, page.RunInput{Notes: notes, Places: places, Site: w.site}, dir)
		if err != nil {
			return err
		}
		if wrong {
			run.Page.Warnings = append([]page.Caveat{erratum.Caveat()}, run.Page.Warnings...)
		}
		return w.b.Run(run)
	})
}

// read returns what is known of a run. The summary is nil when it was not needed for that.
func (w *runWriter) read(dir, id string) (record, *summary.Run, error) {
	text, err := eventlog.ReadRun(dir)
	if err != nil {
		return record{}, nil, err
	}
	key := w.store.key(text)
	if rec, ok := w.store.known[key]; ok && rec.Listed.Entry.ID == id && untouched(dir, rec.Raw) {
		return rec, nil, nil
	}
	l, err := eventlog.Open(dir)
	if err != nil {
		return record{}, nil, err
	}
	if l.Partial() {
		return record{}, nil, errPartial
	}
	if l.Run().ID != id {
		return record{}, nil, fmt.Errorf("%s names the run %q: the folder must have that name", runFile, l.Run().ID)
	}
	raw, err := stamps(dir) // before the digests are compared: a later change is seen
	if err != nil {
		return record{}, nil, err
	}
	space := w.workspace()
	defer w.workspaces.Put(space)
	if err := l.VerifyIn(&space.events); err != nil {
		return record{}, nil, err
	}
	sum, ok := w.store.aggregates(key)
	if !ok {
		if sum, err = summarize(l, space); err != nil {
			return record{}, nil, err
		}
		w.store.keep(key, &sum)
	}
	rec := record{Key: key, Raw: raw, Files: clone(l.Run().Files), Listed: page.Listed{Entry: page.NewEntry(&sum), Compared: compare.Of(&sum)}}
	return rec, &sum, nil
}

// clone copies digests without the text of the file that they are parts of.
func clone(digests map[string]string) map[string]string {
	out := make(map[string]string, len(digests))
	for name, digest := range digests {
		out[strings.Clone(name)] = strings.Clone(digest)
	}
	return out
}

// again is the summary of a run whose record was known.
func (w *runWriter) again(key, dir string) (*summary.Run, error) {
	if sum, ok := w.store.aggregates(key); ok {
		return &sum, nil
	}
	l, err := eventlog.Open(dir)
	if err != nil {
		return nil, err
	}
	space := w.workspace()
	defer w.workspaces.Put(space)
	sum, err := summarize(l, space)
	if err != nil {
		return nil, err
	}
	w.store.keep(key, &sum)
	return &sum, nil
}

// stamps describes the raw files of a run.
func stamps(dir string) ([]stamp, error) {
	var out []stamp
	for _, name := range rawFiles {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, stamp{name, info.Size(), info.ModTime().UnixNano()})
	}
	return out, nil
}

// untouched reports whether the raw files are as they were when their digests were compared.
func untouched(dir string, raw []stamp) bool {
	now, err := stamps(dir)
	return err == nil && slices.Equal(now, raw)
}

// workspace is memory that the next run uses again.
type workspace struct {
	events  eventlog.Buffer
	summary summary.Buffer
}

func (w *runWriter) workspace() *workspace {
	if s, ok := w.workspaces.Get().(*workspace); ok {
		return s
	}
	return &workspace{}
}

// summarize computes a run's numbers. The events are read into memory that is used again: a summary keeps none of them.
func summarize(l *eventlog.Log, space *workspace) (summary.Run, error) {
	requests, load, err := l.RequestsIn(&space.events)
	if err != nil {
		return summary.Run{}, err
	}
	samples, err := l.SamplesIn(&space.events)
	if err != nil {
		return summary.Run{}, err
	}
	return summary.SummarizeIn(&space.summary, l.Run(), requests, load, samples)
}

// publish makes the page and its twins.
func publish(sum *summary.Run, in page.RunInput, dir string) (site.Run, error) {
	p, err := page.NewRun(sum, in)
	if err != nil {
		return site.Run{}, err
	}
	out := site.Run{Page: p, CSV: page.CellsCSV(sum), Curves: page.NewCurves(sum).JSON(), Strips: page.NewStrips(sum).JSON()}
	if out.JSON, err = page.NewTwin(sum).JSON(); err != nil {
		return site.Run{}, err
	}
	if in.Site.CopyData {
		out.Copy = map[string]string{}
		for _, name := range rawFiles {
			out.Copy[name] = filepath.Join(dir, name)
		}
	}
	return out, nil
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
