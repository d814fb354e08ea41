package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"speedmatrix/internal/event"
)

// Complete makes the run final and returns its folder: the parts are merged in the order of cell, then repeat, run.toml
// gets their digests and the state complete, the parts go, and the folder loses its ".partial". It may be called again
// after a failure, and after a kill on the writer that Resume returns; from the moment that run.toml says complete, it
// finishes that run and does not look at its argument. The writer is closed when it returns nil.
func (w *Writer) Complete(run event.Run) (dir string, err error) {
	if !w.merged {
		if err := w.merge(run); err != nil {
			return "", fmt.Errorf("complete run %q: %w", w.run.ID, err)
		}
	}
	if dir, err = w.publish(); err != nil {
		return "", fmt.Errorf("complete run %q: %w", w.run.ID, err)
	}
	return dir, nil
}

func (w *Writer) merge(run event.Run) error {
	run = unfinished(run)
	if run.ID != w.run.ID {
		return fmt.Errorf("it is called %q here", run.ID)
	}
	folder, err := openFolder(w.dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	steps, _, err := folder.parts()
	if err != nil {
		return err
	}
	mergers := map[string]func(io.Writer) error{
		requestsName: func(f io.Writer) error { return mergeRequests(f, folder, steps) },
		samplesName:  func(f io.Writer) error { return mergeSamples(f, folder, steps) },
	}
	for _, name := range []string{requestsName, samplesName} {
		h := sha256.New()
		err := w.disk.write(filepath.Join(w.dir, name), func(f io.Writer) error {
			return mergers[name](io.MultiWriter(f, h))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		run.Files[name] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	if err := w.disk.sync(w.dir); err != nil {
		return err
	}
	run.State = event.Complete
	if err := w.saveRun(run); err != nil {
		return err
	}
	w.merged = true
	return nil
}

// mergeRequests holds one part and one row group in memory at a time.
func mergeRequests(out io.Writer, f *folder, steps []Step) (err error) {
	defer recovered(&err)
	e := newRequestEncoder(out)
	for _, s := range steps {
		reqs, err := f.requests(s)
		if err != nil {
			return err
		}
		for i := range reqs {
			if err := addRequest(e, &reqs[i]); err != nil {
				return err
			}
		}
	}
	return e.close()
}

func mergeSamples(out io.Writer, f *folder, steps []Step) (err error) {
	defer recovered(&err)
	e := newSampleEncoder(out)
	for _, s := range steps {
		samples, err := f.samples(s)
		if err != nil {
			return err
		}
		for i := range samples {
			if err := addSample(e, &samples[i]); err != nil {
				return err
			}
		}
	}
	return e.close()
}

// publish removes the parts and renames the folder; run.toml is final already.
func (w *Writer) publish() (string, error) {
	names, err := os.ReadDir(w.dir)
	if err != nil {
		return "", err
	}
	for _, e := range names {
		if _, _, part := parsePart(e.Name()); part || strings.HasSuffix(e.Name(), tmpSuffix) {
			if err := w.disk.drop(filepath.Join(w.dir, e.Name())); err != nil {
				return "", err
			}
		}
	}
	if err := w.disk.sync(w.dir); err != nil {
		return "", err
	}
	final := strings.TrimSuffix(w.dir, partialSuffix)
	if _, err := os.Lstat(final); err == nil {
		return "", fmt.Errorf("%s exists already", final)
	}
	if err := unlockBeforeRename(w.lock); err != nil {
		return "", err
	}
	if err := w.disk.rename(w.dir, final); err != nil {
		return "", err
	}
	w.dir = final
	return final, errors.Join(w.disk.sync(parent(final)), w.Close())
}
