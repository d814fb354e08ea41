package check

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/eventlog"
)

// What a folder of runs holds beside them: texts for people and git, the names of things, and what turned out to be wrong with runs.
const (
	errataFolder = "errata"
	extraBytes   = 1 << 20
	tomlSuffix   = ".toml"
)

// texts may lie in a folder of runs, and in its errata.
var texts = []string{"README.md", ".gitignore", ".gitattributes"}

const (
	strayText = "is no part of a run, an erratum or names.toml"
	strayMend = "remove it: every clone of the repository would carry it"
)

// Folder returns what is wrong with a folder of runs beside the runs: files that nothing reads, links, and secrets in the texts. What
// names.toml and the errata say is not looked at, and neither are runs in progress.
func Folder(dir string) []Problem {
	r := &report{dir: filepath.Clean(dir)}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.refuse("", "layout", "mend its permissions", "cannot be read: %v", err)
		return r.done()
	}
	for _, e := range entries {
		switch {
		case e.Name() == errataFolder:
			r.errata(e)
		case isHidden(e.Name()) || e.Type().IsRegular():
			r.extra(e.Name(), e)
		case !e.IsDir() && e.Type()&fs.ModeSymlink == 0:
			r.refuse(e.Name(), "layout", strayMend, "is not a regular file")
		}
	}
	return r.done()
}

// errata looks at the folder of that name.
func (r *report) errata(e os.DirEntry) {
	if !e.IsDir() {
		r.refuse(e.Name(), "layout", "make it a folder of files <run-id>.toml", "is not a folder")
		return
	}
	entries, err := os.ReadDir(r.path(e.Name()))
	if err != nil {
		r.refuse(e.Name(), "layout", "mend its permissions", "cannot be read: %v", err)
		return
	}
	for _, e := range entries {
		r.extra(path.Join(errataFolder, e.Name()), e)
	}
}

// extra looks at one file or folder that is not a run.
func (r *report) extra(name string, e os.DirEntry) {
	info, err := e.Info()
	switch {
	case isStray(name):
		r.refuse(name, "layout", strayMend, strayText)
	case err != nil || !info.Mode().IsRegular():
		r.refuse(name, "layout", "put the file itself there", "is not a regular file")
	case info.Size() > extraBytes:
		r.refuse(name, "size", "shorten it", "has %d bytes: more than %d are refused", info.Size(), extraBytes)
	default:
		b, err := os.ReadFile(r.path(name))
		if err != nil {
			r.refuse(name, "layout", "mend its permissions", "cannot be read: %v", err)
			return
		}
		r.text(name, string(b))
	}
}

// isStray reports whether nothing reads a file with this path below a folder of runs, in slashes.
func isStray(name string) bool {
	folder, file, nested := strings.Cut(name, "/")
	switch {
	case !nested:
		return !slices.Contains(texts, name) && name != "names.toml"
	case folder == errataFolder:
		id, isTOML := strings.CutSuffix(file, tomlSuffix)
		return !slices.Contains(texts, file) && !(isTOML && eventlog.ValidID(id))
	}
	return !idForm.MatchString(folder) || !slices.Contains(runFiles, file)
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// Changes refuses changes to runs that exist already: below results, in slashes from the repository's root, each run
// folder that is touched must be new as a whole, its run.toml included. Errata, names.toml and the texts beside them may
// change; what nothing reads may only be removed.
func Changes(results string, changes []Change) []Problem {
	byRun := map[string][]Change{}
	var out []Problem
	prefix := path.Clean(results) + "/"
	for _, c := range changes {
		name, ok := strings.CutPrefix(c.Path, prefix)
		if !ok {
			continue
		}
		id, _, nested := strings.Cut(name, "/")
		switch {
		case nested && idForm.MatchString(id):
			byRun[id] = append(byRun[id], c)
		case isStray(name) && c.Status != 'D':
			out = append(out, Problem{oneLine(c.Path), strayText, strayMend, Refuse})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byRun)) {
		isNew := slices.Contains(byRun[id], Change{'A', prefix + id + "/" + runFile})
		for _, c := range byRun[id] {
			if !isNew || c.Status != 'A' {
				out = append(out, Problem{oneLine(c.Path), fmt.Sprintf("%s in a run that exists already", verb(c.Status)),
					"take the change back: runs never change; say what is wrong with one in results/errata/" + id + ".toml", Refuse})
			}
		}
	}
	return out
}
