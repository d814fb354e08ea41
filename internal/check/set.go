package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/eventlog"
)

// Duplicates finds runs of the set that hold the same events, by the content of requests.parquet, and runs that say
// that they are the same. The later of two, by path, is the one that is reported. Folders that cannot be read are
// left to Run.
func Duplicates(paths []string) []Problem {
	var out []Problem
	content, ids := map[string]string{}, map[string]string{}
	paths = slices.Clone(paths)
	for i := range paths {
		paths[i] = filepath.Clean(paths[i])
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if sum, err := contentHash(filepath.Join(p, requestsFile)); err == nil {
			if first, ok := content[sum]; ok {
				out = append(out, Problem{p, fmt.Sprintf("has the same events as %s", first), "remove one of the two", Refuse})
			} else {
				content[sum] = p
			}
		}
		if log, err := eventlog.Open(p); err == nil {
			if first, ok := ids[log.Run().ID]; ok {
				out = append(out, Problem{p, fmt.Sprintf("has the same id as %s", first), "remove one of the two", Refuse})
			} else {
				ids[log.Run().ID] = p
			}
		}
	}
	return out
}

func contentHash(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > RefuseBytes {
		return "", errors.New("not a file to be read")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Change is a path that a contribution changes, with git's letter: A added, M modified, D deleted, and so on.
type Change struct {
	Status byte
	Path   string // slashes, from the repository's root
}

// ParseNameStatus reads the output of `git diff --name-status --no-renames -z`.
func ParseNameStatus(b []byte) ([]Change, error) {
	fields := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if len(fields) == 1 && fields[0] == "" {
		return nil, nil
	}
	var out []Change
	for i := 0; i < len(fields); i += 2 {
		if i+1 >= len(fields) || len(fields[i]) != 1 || fields[i+1] == "" {
			return nil, fmt.Errorf("output of git diff: field %d is %q, want a letter and a path", i, fields[i])
		}
		out = append(out, Change{fields[i][0], fields[i+1]})
	}
	return out, nil
}

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

func verb(status byte) string {
	switch status {
	case 'A':
		return "is added"
	case 'D':
		return "is deleted"
	}
	return "is changed"
}
