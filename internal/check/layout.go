package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// Files of a run.
const (
	runFile      = "run.toml"
	requestsFile = "requests.parquet"
	samplesFile  = "samples.parquet"
	notesFile    = "notes.md"
)

var runFiles = []string{runFile, requestsFile, samplesFile, notesFile}

// Sizes of a run's folder: the repository is cloned by everyone, for ever.
const (
	WarnBytes   = 4 << 20
	RefuseBytes = 50 << 20
	notesBytes  = 256 << 10
)

var idForm = regexp.MustCompile(`^\d{8}t\d{6}z-[a-z0-9.-]+-[0-9a-f]{8}$`)

// layout checks name, files and sizes. It returns false when the files are not fit to be read.
func (r *report) layout() bool {
	const rule = "layout"
	info, err := os.Lstat(r.dir)
	if err != nil {
		r.refuse("", rule, "give the folder of a run, such as results/<run-id>", "cannot be read: %v", err)
		return false
	}
	if !info.IsDir() {
		r.refuse("", rule, "give the folder of a run, such as results/<run-id>", "is not a folder")
		return false
	}
	name := filepath.Base(r.dir)
	if strings.HasSuffix(name, ".partial") {
		r.refuse("", rule, "finish it with measure run --resume", "is a run in progress")
		return false
	}
	if !eventlog.ValidID(name) || !idForm.MatchString(name) {
		r.refuse("", rule, "keep the name that measure gave", "the name %q is not of the form 20261201t101500z-<model>-<gpu>-<engine>-<hash8>", name)
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.refuse("", rule, "mend its permissions", "cannot be read: %v", err)
		return false
	}
	return r.files(entries) && r.notes()
}

func (r *report) files(entries []os.DirEntry) bool {
	const rule = "layout"
	readable, total := true, int64(0)
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
		info, err := e.Info()
		switch {
		case !slices.Contains(runFiles, e.Name()):
			r.refuse("", rule, "remove it: a run is run.toml, requests.parquet, samples.parquet and, optionally, notes.md", "holds %q", e.Name())
		case err != nil || !info.Mode().IsRegular():
			r.refuse(e.Name(), rule, "put the file itself there", "is not a regular file")
			readable = false
		}
		if err == nil {
			total += info.Size()
		}
	}
	for _, name := range []string{runFile, requestsFile, samplesFile} {
		if !slices.Contains(have, name) {
			r.refuse("", rule, "restore the file that measure wrote", "has no %s", name)
			readable = false
		}
	}
	const smaller = "measure fewer cells or a shorter --duration, or publish it elsewhere"
	switch {
	case total > RefuseBytes:
		r.refuse("", "size", smaller, "has %.1f MB: more than 50 are refused", float64(total)/(1<<20))
		readable = false
	case total > WarnBytes:
		r.add(Warn, "", "size", smaller, "has %.1f MB: every clone of the repository will carry them", float64(total)/(1<<20))
	}
	return readable
}

// notes checks that notes.md is a text of a sane size.
func (r *report) notes() bool {
	b, err := os.ReadFile(r.path(notesFile))
	switch {
	case os.IsNotExist(err):
	case err != nil:
		r.refuse(notesFile, "layout", "mend its permissions", "cannot be read: %v", err)
	case len(b) > notesBytes:
		r.refuse(notesFile, "size", "shorten it", "has %d bytes: more than %d are refused", len(b), notesBytes)
	case !utf8.Valid(b):
		r.refuse(notesFile, "layout", "save it as UTF-8", "is not UTF-8 text")
	default:
		r.text(notesFile, string(b))
	}
	return true
}

// identity checks that run.toml belongs to its folder and is finished.
func (r *report) identity(run *event.Run) {
	if name := filepath.Base(r.dir); run.ID != name {
		r.refuse(runFile, "layout", "keep the folder's name as measure gave it", "has the id %q in a folder called %q", run.ID, name)
	}
	if stamp := run.Started.UTC().Format("20060102t150405z"); idForm.MatchString(run.ID) && !strings.HasPrefix(run.ID, stamp+"-") {
		r.refuse(runFile, "layout", "restore the file that measure wrote", "started %s is not the instant in the id", stamp)
	}
	if run.State != event.Complete {
		r.refuse(runFile, "layout", "finish it with measure run --resume", "the state is %q", run.State)
	}
}
