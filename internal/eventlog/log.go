package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// Log is a run on disk, finished or in progress. It holds no file open and may be read by several goroutines.
type Log struct {
	path string
	run  event.Run
}

// Open reads the run.toml of the run at path, a finished folder or one that ends in ".partial". The parquet files are
// read, and their columns checked, by Requests and Samples.
func Open(path string) (*Log, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	defer f.Close()
	run, err := f.run()
	if err != nil {
		return nil, fmt.Errorf("open run %q: %w", path, err)
	}
	return &Log{path: filepath.Clean(path), run: run}, nil
}

// Run returns the run's facts, plan and windows.
func (l *Log) Run() event.Run { return l.run }

// Path returns the folder that was opened.
func (l *Log) Path() string { return l.path }

// Partial reports whether the run is in progress, or was left so.
func (l *Log) Partial() bool {
	return l.run.State != event.Complete || strings.HasSuffix(l.path, partialSuffix)
}

// Requests reads every request, by cell, then repeat. Of a run in progress it reads the finished passes. The rows are
// checked to be of cells that the run has, with as many instants as token counts; lists share memory.
func (l *Log) Requests() ([]event.Request, error) {
	return read(l, nil, requestsName, decodeRequests, (*folder).requests, func(r *event.Request) int32 { return r.Cell })
}

// RequestsIn is Requests in the memory of buf, without the chunks (ChunkUS and ChunkTokens): load fills those of one cell. What they return is valid until
// the next call of RequestsIn with the same buffer, chunks until the next call of load, and read only. Cells are loaded in their order, each once; any may be left out, unlooked at.
func (l *Log) RequestsIn(buf *Buffer) (reqs []event.Request, load func(cell int) error, err error) {
	if l.run.State != event.Complete {
		reqs, err := l.Requests() // its parts are decoded one after the other and kept together
		return reqs, func(int) error { return nil }, err
	}
	var chunks *chunkLoader
	decode := func(b []byte) (reqs []event.Request, err error) {
		reqs, chunks, err = decodeRequestsIn(buf, b)
		return reqs, err
	}
	reqs, err = read(l, buf, requestsName, decode, (*folder).requests, func(r *event.Request) int32 { return r.Cell })
	if err != nil {
		return nil, nil, err
	}
	return reqs, func(cell int) error {
		if err := chunks.loadCell(cell); err != nil {
			return fmt.Errorf("read run %q: %s: %w", l.run.ID, requestsName, err)
		}
		return nil
	}, nil
}

// Samples reads every sample, in the order of Requests.
func (l *Log) Samples() ([]event.Sample, error) {
	return read(l, nil, samplesName, decodeSamples, (*folder).samples, func(s *event.Sample) int32 { return s.Cell })
}

// SamplesIn is Samples in the memory of buf, beside the requests of the run: what it returns is valid until the next call with the same buffer.
func (l *Log) SamplesIn(buf *Buffer) ([]event.Sample, error) {
	if l.run.State != event.Complete {
		return l.Samples()
	}
	decode := func(b []byte) ([]event.Sample, error) { return decodeSamplesIn(buf, b) }
	return read(l, buf, samplesName, decode, (*folder).samples, func(s *event.Sample) int32 { return s.Cell })
}

func read[T any](l *Log, buf *Buffer, name string, decode func([]byte) ([]T, error), part func(*folder, Step) ([]T, error), cell func(*T) int32) ([]T, error) {
	rows, err := readRows(l, buf, name, decode, part)
	for i := 0; err == nil && i < len(rows); i++ {
		if c := cell(&rows[i]); int(c) >= len(l.run.Cells) {
			err = fmt.Errorf("%s: row %d is of cell %d: the run has %d", name, i, c, len(l.run.Cells))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read run %q: %w", l.run.ID, err)
	}
	return rows, nil
}

func readRows[T any](l *Log, buf *Buffer, name string, decode func([]byte) ([]T, error), part func(*folder, Step) ([]T, error)) ([]T, error) {
	if buf != nil && buf.verified == l {
		return decodeTable(name, buf.files[name], decode)
	}
	f, err := openFolder(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.buf = buf
	if l.run.State == event.Complete {
		return readTable(f, name, decode)
	}
	steps, _, err := f.parts()
	if err != nil {
		return nil, err
	}
	var all []T
	for _, s := range steps {
		rows, err := part(f, s)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// Verify compares the files with the digests in run.toml and returns every difference. A run in progress has none.
func (l *Log) Verify() error { return l.VerifyIn(&Buffer{once: true}) }

// VerifyIn is Verify with the help of a buffer. What it held is lost; it holds the files that were compared, and those are what RequestsIn and SamplesIn of
// this run decode from it: they are read once, and nobody can change them in between.
func (l *Log) VerifyIn(buf *Buffer) error {
	if l.run.State != event.Complete {
		return nil
	}
	f, err := openFolder(l.path)
	if err != nil {
		return fmt.Errorf("verify run %q: %w", l.run.ID, err)
	}
	defer f.Close()
	f.buf = buf
	var errs []error
	for _, name := range []string{requestsName, samplesName} {
		if l.run.Files[name] == "" {
			errs = append(errs, fmt.Errorf("%s has no digest in run.toml", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.run.Files)) {
		if name != requestsName && name != samplesName {
			errs = append(errs, fmt.Errorf("run.toml has a digest of %q, which is no file of a run", name))
			continue
		}
		b, err := f.read(name, maxFileBytes)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if sum := digest(b); sum != l.run.Files[name] {
			errs = append(errs, fmt.Errorf("%s has the digest %s, run.toml says %q", name, sum, l.run.Files[name]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("verify run %q: %w", l.run.ID, err)
	}
	buf.verified = l
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// File is the content of one parquet file of a run; one of the two slices is set.
type File struct {
	Kind     Kind
	Requests []event.Request
	Samples  []event.Sample
}

// ReadFile reads one parquet file by itself, whichever of the two it is.
func ReadFile(path string) (File, error) {
	file, err := readFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read %q: %w", path, err)
	}
	return file, nil
}

func readFile(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return File{}, err
	}
	b, err := readBounded(nil, f, filepath.Base(path), info.Size(), maxFileBytes)
	if err != nil {
		return File{}, err
	}
	return decodeFile(b)
}

func decodeFile(b []byte) (file File, err error) {
	foot, err := readFooter(b)
	if err != nil {
		return File{}, err
	}
	file.Kind = foot.kind()
	switch file.Kind {
	case KindRequests:
		file.Requests, err = decodeRequests(b)
	case KindSamples:
		file.Samples, err = decodeSamples(b)
	default:
		err = errors.New("its columns are not those of a run's requests or samples")
	}
	return file, err
}
