package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// folder reads the files of a run's folder, and none outside of it: a link that leaves it is refused.
type folder struct {
	root *os.Root
	buf  *Buffer // whose memory read writes over; nil: fresh memory for each file
}

func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &folder{root: root}, nil
}

func (f *folder) Close() error { return f.root.Close() }

// read returns a regular file of at most limit bytes.
func (f *folder) read(name string, limit int64) ([]byte, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil { // of the file that was opened: a run in progress may have put another in its place since
		return nil, err
	}
	if f.buf != nil {
		b, err := readBounded(f.buf.files[name][:0], file, name, info.Size(), limit)
		if err == nil {
			f.buf.keep(name, b)
		}
		return b, err
	}
	return readBounded(nil, file, name, info.Size(), limit)
}

// readBounded reads size bytes, in the memory of b where that is enough.
func readBounded(b []byte, file io.Reader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes: more than %d are refused", name, size, limit)
	}
	b = slices.Grow(b, int(size))[:size]
	if _, err := io.ReadFull(file, b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func (f *folder) run() (event.Run, error) {
	b, err := f.read(runName, maxRunBytes)
	if err != nil {
		return event.Run{}, err
	}
	return DecodeRun(b)
}

// parts lists the finished passes, by cell, then repeat, and the files that a kill has left behind.
func (f *folder) parts() (steps []Step, orphans []string, err error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, nil, err
	}
	var samples []Step
	for _, e := range entries {
		s, kind, ok := parsePart(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), tmpSuffix):
			orphans = append(orphans, e.Name())
		case ok && kind == KindRequests:
			steps = append(steps, s)
		case ok:
			samples = append(samples, s)
		}
	}
	slices.SortFunc(steps, Step.compare)
	for _, s := range samples {
		if _, done := slices.BinarySearchFunc(steps, s, Step.compare); !done {
			orphans = append(orphans, s.file(KindSamples))
		}
	}
	return steps, orphans, nil
}

// requests reads a part. Its rows must be of its step.
func (f *folder) requests(s Step) ([]event.Request, error) {
	reqs, err := readTable(f, s.file(KindRequests), decodeRequests)
	if err == nil && slices.ContainsFunc(reqs, func(r event.Request) bool { return Step{int(r.Cell), int(r.Repeat)} != s }) {
		err = fmt.Errorf("%s: it has rows of another cell or repeat", s.file(KindRequests))
	}
	return reqs, err
}

func (f *folder) samples(s Step) ([]event.Sample, error) {
	samples, err := readTable(f, s.file(KindSamples), decodeSamples)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && slices.ContainsFunc(samples, func(r event.Sample) bool { return Step{int(r.Cell), int(r.Repeat)} != s }) {
		err = fmt.Errorf("%s: it has rows of another cell or repeat", s.file(KindSamples))
	}
	return samples, err
}

func readTable[T any](f *folder, name string, decode func([]byte) ([]T, error)) ([]T, error) {
	b, err := f.read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return decodeTable(name, b, decode)
}

func decodeTable[T any](name string, b []byte, decode func([]byte) ([]T, error)) ([]T, error) {
	rows, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}

// ReadRun returns the bytes of the run.toml of the run at path, not decoded.
func ReadRun(path string) ([]byte, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	defer f.Close()
	return f.read(runName, maxRunBytes)
}
