package eventlog

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"speedmatrix/internal/event"
)

// Names within a run's folder.
const (
	runName      = "run.toml"
	requestsName = "requests.parquet"
	samplesName  = "samples.parquet"
	notesName    = "notes.md"
	lockName     = ".lock"

	partialSuffix = ".partial"
	tmpSuffix     = ".tmp"
)

var errLocked = errors.New("another measure process writes this run")

// Step is one pass of one cell.
type Step struct{ Cell, Repeat int }

func (s Step) compare(o Step) int {
	if s.Cell != o.Cell {
		return s.Cell - o.Cell
	}
	return s.Repeat - o.Repeat
}

// file is the name of one of the step's two part files.
func (s Step) file(k Kind) string {
	return fmt.Sprintf("part-c%05d-r%03d.%s.parquet", s.Cell, s.Repeat, k)
}

// parsePart is the inverse of Step.file.
func parsePart(name string) (s Step, k Kind, ok bool) {
	for _, k := range []Kind{KindRequests, KindSamples} {
		n, err := fmt.Sscanf(name, "part-c%05d-r%03d."+string(k)+".parquet", &s.Cell, &s.Repeat)
		if err == nil && n == 2 && s.file(k) == name {
			return s, k, true
		}
	}
	return Step{}, "", false
}

// Writer writes one run in progress. It is used by one goroutine.
type Writer struct {
	disk disk
	dir  string // ends in .partial until Complete has renamed it
	lock *os.File
	run  event.Run
	done map[Step]bool

	madeResults bool // Create made the results folder
	merged      bool // run.toml says complete: the parts may be gone, only Complete is left to do
}

// Create makes <resultsDir>/<run.ID>.partial with its run.toml, and the results folder where there is none. It refuses
// an id that exists, finished or not. The run's state is set to interrupted until Complete.
func Create(resultsDir string, run event.Run) (*Writer, error) {
	return create(disk{}, resultsDir, run)
}

func create(d disk, resultsDir string, run event.Run) (w *Writer, err error) {
	run = unfinished(run)
	if _, err := EncodeRun(run); err != nil {
		return nil, err
	}
	final := filepath.Join(resultsDir, run.ID)
	for _, path := range []string{final, final + partialSuffix} {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("run %q exists already: %s", run.ID, path)
		}
	}
	made, err := makeFolder(resultsDir)
	if err != nil {
		return nil, fmt.Errorf("cannot write to the results folder %q: %w", resultsDir, err)
	}
	w = &Writer{disk: d, dir: final + partialSuffix, run: run, done: map[Step]bool{}, madeResults: made}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot write to the results folder %q: %w", resultsDir, err), w.Discard())
			w = nil
		}
	}()
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		return w, err
	}
	if w.lock, err = lockFolder(w.dir); err != nil {
		return w, err
	}
	if err := d.sync(resultsDir); err != nil {
		return w, err
	}
	return w, w.Save(run)
}

// makeFolder makes the last element of a path, when it is not there.
func makeFolder(dir string) (made bool, err error) {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return false, errors.New("it is a file")
		}
		return false, nil
	}
	return true, os.MkdirAll(dir, 0o755)
}

func unfinished(run event.Run) event.Run {
	run.Schema = event.Schema
	run.State = event.Interrupted
	run.Files = map[string]string{}
	return run
}

// Resume takes up the run in progress at path, which ends in ".partial", and locks it. What a kill left unfinished,
// temporary files and samples without their requests, is removed.
func Resume(path string) (*Writer, error) { return resume(disk{}, path) }

func resume(d disk, path string) (w *Writer, err error) {
	path = filepath.Clean(path)
	defer func() {
		if err != nil {
			err = fmt.Errorf("resume %q: %w", path, err)
		}
	}()
	if filepath.Ext(path) != partialSuffix {
		return nil, errors.New(`only a folder that ends in ".partial" can be resumed`)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	folder, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	run, err := folder.run()
	if err != nil {
		return nil, err
	}
	if run.ID+partialSuffix != filepath.Base(path) {
		return nil, fmt.Errorf("the folder's run.toml has the id %q", run.ID)
	}
	w = &Writer{disk: d, dir: path, lock: lock, run: run, done: map[Step]bool{}, merged: run.State == event.Complete}
	if w.merged {
		return w, w.doneFromRun(folder)
	}
	return w, w.tidy(folder)
}

// tidy notes the finished parts and removes what is none.
func (w *Writer) tidy(f *folder) error {
	steps, orphans, err := f.parts()
	if err != nil {
		return err
	}
	for _, s := range steps {
		w.done[s] = true
	}
	for _, name := range orphans {
		if err := w.disk.drop(filepath.Join(w.dir, name)); err != nil {
			return err
		}
	}
	return w.disk.sync(w.dir)
}

// doneFromRun notes the passes of a run that is merged already.
func (w *Writer) doneFromRun(f *folder) error {
	b, err := f.read(requestsName, maxFileBytes)
	if err != nil {
		return err
	}
	reqs, err := decodeRequests(b)
	if err != nil {
		return fmt.Errorf("%s: %w", requestsName, err)
	}
	for i := range reqs {
		w.done[Step{int(reqs[i].Cell), int(reqs[i].Repeat)}] = true
	}
	for i, c := range w.run.Cells {
		for _, p := range c.Passes {
			w.done[Step{i, p.Repeat}] = true
		}
	}
	return nil
}

// Run returns the run as it was last saved.
func (w *Writer) Run() event.Run { return w.run }

// Dir returns the run's folder.
func (w *Writer) Dir() string { return w.dir }

// Done returns the passes whose events are on disk.
func (w *Writer) Done() map[Step]bool { return maps.Clone(w.done) }

// Part stores the events of one finished pass. When it returns nil they survive a kill and a power cut; when it fails
// the pass counts as not done. Every row must belong to the step, and a step is stored once.
func (w *Writer) Part(step Step, reqs []event.Request, samples []event.Sample) error {
	if err := w.storePart(step, reqs, samples); err != nil {
		return fmt.Errorf("store cell %d, repeat %d: %w", step.Cell, step.Repeat, err)
	}
	w.done[step] = true
	return nil
}

// Drop removes a stored pass that is to be measured again: one that was interrupted, or that a kill separated from
// its place in run.toml. The requests go first, so that a kill in between leaves no part that counts.
func (w *Writer) Drop(step Step) error {
	if !w.done[step] {
		return nil
	}
	if w.merged {
		return fmt.Errorf("drop cell %d, repeat %d: the run is complete", step.Cell, step.Repeat)
	}
	for _, k := range []Kind{KindRequests, KindSamples} {
		if err := w.disk.drop(filepath.Join(w.dir, step.file(k))); err != nil {
			return fmt.Errorf("drop cell %d, repeat %d: %w", step.Cell, step.Repeat, err)
		}
	}
	delete(w.done, step)
	return w.disk.sync(w.dir)
}

func (w *Writer) storePart(step Step, reqs []event.Request, samples []event.Sample) error {
	switch {
	case w.done[step]:
		return errors.New("it is stored already")
	case step.Cell < 0 || step.Repeat < 0 || step.Cell >= len(w.run.Cells) || step.Repeat > 999:
		return fmt.Errorf("the run has %d cells and up to 1000 repeats", len(w.run.Cells))
	case slices.ContainsFunc(reqs, func(r event.Request) bool { return Step{int(r.Cell), int(r.Repeat)} != step }),
		slices.ContainsFunc(samples, func(s event.Sample) bool { return Step{int(s.Cell), int(s.Repeat)} != step }):
		return errors.New("it has rows of another cell or repeat")
	}
	for i := range reqs {
		if err := checkRequest(&reqs[i]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	path := func(k Kind) string { return filepath.Join(w.dir, step.file(k)) }
	err := w.disk.write(path(KindSamples), func(f io.Writer) error { return encodeSamples(f, samples) })
	if err != nil {
		return err
	}
	if err := w.disk.sync(w.dir); err != nil {
		return err
	}
	// The name of the requests is what makes the part count.
	err = w.disk.write(path(KindRequests), func(f io.Writer) error { return encodeRequests(f, reqs) })
	if err != nil {
		return err
	}
	return w.disk.sync(w.dir)
}

// Save replaces run.toml. The state stays interrupted until Complete. On a run that was merged before a kill it does
// nothing: its run.toml is final.
func (w *Writer) Save(run event.Run) error {
	if w.merged {
		return nil
	}
	run = unfinished(run)
	if run.ID != w.run.ID {
		return fmt.Errorf("save run %q: the folder is that of %q", run.ID, w.run.ID)
	}
	return w.saveRun(run)
}

func (w *Writer) saveRun(run event.Run) error {
	b, err := EncodeRun(run)
	if err != nil {
		return err
	}
	err = w.disk.write(filepath.Join(w.dir, runName), func(f io.Writer) error {
		_, err := f.Write(b)
		return err
	})
	if err == nil {
		err = w.disk.sync(w.dir)
	}
	if err != nil {
		return fmt.Errorf("save run.toml: %w", err)
	}
	w.run = run
	return nil
}

// Discard closes the run and removes its folder when no part was stored (also the results folder, if Create made it and
// nothing else is in it). A run that holds a part is left as it is.
func (w *Writer) Discard() error {
	if len(w.done) > 0 || w.merged {
		return w.Close()
	}
	err := w.disk.step("remove", w.dir)
	if err == nil {
		err = os.RemoveAll(w.dir)
	}
	if err == nil && w.madeResults {
		_ = os.Remove(parent(w.dir)) // fails, rightly, when it is not empty
	}
	return errors.Join(err, w.Close())
}

// Close lets go of the run; what is stored stays.
func (w *Writer) Close() error {
	if w.lock == nil {
		return nil
	}
	err := w.lock.Close()
	w.lock = nil
	return err
}
