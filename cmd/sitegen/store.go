package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"speedmatrix/internal/event"
	"speedmatrix/internal/pack"
	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
	"speedmatrix/internal/summary"
)

// numbersVersion is raised when the same events give other numbers than before: what was computed by older code is then not read.
// TestNumbersVersion fails when that was forgotten.
const numbersVersion = 2

// store keeps, between builds, what was computed of each run. Everything in it can be lost or wrong without changing a byte of the
// site: a build without it does the same from the raw events.
//
//	<dir>/runs/<key>    the aggregates of a run, by the digest of its run.toml and of the code's types
//	<dir>/index         what lists and comparisons need of all runs, for the program that wrote it
//	<dir>/site-<hash>   which files of an output folder are made of what
type store struct {
	dir     string // "" keeps nothing
	program string // digest of this program
	shape   string // digest of the aggregates' types
	out     string // absolute path of the output

	known map[string]record // of the last build, by key

	mu     sync.Mutex
	used   map[string]record
	failed error // the first aggregates that could not be kept; save tells it
}

// record is what a build needs of a run that is not computed again.
type record struct {
	Key    string
	Raw    []stamp // the raw files whose digests were compared with run.toml
	Listed page.Listed
	Files  map[string]string // digests of the raw files, as in run.toml
}

// stamp tells that a file was not written since.
type stamp struct {
	Name string
	Size int64
	ModN int64
}

type index struct {
	Program string
	Records []record
}

// openStore reads what the last build left. Nothing that is wrong with it is an error.
func openStore(dir, out string) *store {
	s := &store{dir: dir, program: programDigest(), shape: pack.Digest(summary.Run{}), known: map[string]record{}, used: map[string]record{}}
	if abs, err := filepath.Abs(out); err == nil {
		s.out = abs
	}
	if dir == "" || s.program == "" {
		s.dir = ""
		return s
	}
	b, err := os.ReadFile(filepath.Join(dir, "index"))
	if err != nil {
		return s
	}
	var x index
	if pack.Unmarshal(b, &x) == nil && x.Program == s.program {
		for _, r := range x.Records {
			s.known[r.Key] = r
		}
	}
	return s
}

// programDigest names the code that makes pages: the digest of this executable, "" when it cannot be read.
func programDigest() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// key names the aggregates of a run.
func (s *store) key(runTOML []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "speedmatrix aggregates %d %d %s\n", numbersVersion, event.Schema, s.shape)
	h.Write(runTOML)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// aggregates reads what was computed of a run before.
func (s *store) aggregates(key string) (summary.Run, bool) {
	var sum summary.Run
	if s.dir == "" {
		return sum, false
	}
	b, err := os.ReadFile(s.file(key))
	if err != nil || pack.Unmarshal(b, &sum) != nil {
		return summary.Run{}, false
	}
	return sum, true
}

func (s *store) file(key string) string { return filepath.Join(s.dir, "runs", key) }

// keep stores what was computed of a run. That this fails is no fault of the run and costs the next build time only.
func (s *store) keep(key string, sum *summary.Run) {
	if s.dir == "" {
		return
	}
	b, err := pack.Marshal(*sum)
	if err == nil {
		err = s.write(filepath.Join("runs", key), b)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = cmp.Or(s.failed, err)
	}
}

// use notes that a run is part of this build.
func (s *store) use(r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[r.Key] = r
}

// previous is the manifest of the site that stands at the output.
func (s *store) previous() site.Manifest {
	if s.dir == "" {
		return site.Manifest{}
	}
	b, err := os.ReadFile(filepath.Join(s.dir, s.manifest()))
	if err != nil {
		return site.Manifest{}
	}
	return site.ReadManifest(b)
}

func (s *store) manifest() string {
	sum := sha256.Sum256([]byte(s.out))
	return "site-" + hex.EncodeToString(sum[:6])
}

// save writes the index and the manifest after a build that went well, and drops the aggregates of runs that are gone.
// It fails where anything of this build could not be kept.
func (s *store) save(m site.Manifest) error {
	if s.dir == "" || s.failed != nil {
		return s.failed
	}
	x := index{Program: s.program}
	for _, key := range sortedKeys(s.used) {
		x.Records = append(x.Records, s.used[key])
	}
	records, err := pack.Marshal(x)
	if err != nil {
		return err
	}
	units, err := m.Encode()
	if err != nil {
		return err
	}
	return errors.Join(s.write("index", records), s.write(s.manifest(), units), s.sweep())
}

// sweep removes aggregates that no run of this build has.
func (s *store) sweep() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if _, used := s.used[e.Name()]; !used && (isKey(e.Name()) || strings.HasSuffix(e.Name(), tmpSuffix)) {
			errs = append(errs, os.Remove(filepath.Join(s.dir, "runs", e.Name())))
		}
	}
	return errors.Join(append(errs, err)...)
}

func isKey(name string) bool { return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == "" }

const tmpSuffix = ".tmp"

// write replaces a file of the store whole.
func (s *store) write(name string, content []byte) error {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+tmpSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
