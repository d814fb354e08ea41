package check

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/eventlog"
)

// What a folder of runs holds beside them: the names of things, and <run-id>.toml for what turned out to be wrong with a run.
const (
	NamesFile    = "names.toml"
	ErrataFolder = "errata"
	ErratumExt   = ".toml"
	ExtraBytes   = 1 << 20 // of one such file
)

// texts, for people and git, may lie in a folder of runs and in its errata.
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
		case e.Name() == ErrataFolder:
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
		r.extra(path.Join(ErrataFolder, e.Name()), e)
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
	case info.Size() > ExtraBytes:
		r.refuse(name, "size", "shorten it", "has %d bytes: more than %d are refused", info.Size(), ExtraBytes)
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
		return !slices.Contains(texts, name) && name != NamesFile
	case folder == ErrataFolder:
		id, isTOML := strings.CutSuffix(file, ErratumExt)
		return !slices.Contains(texts, file) && !(isTOML && eventlog.ValidID(id))
	}
	return !idForm.MatchString(folder) || !slices.Contains(runFiles, file)
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }
