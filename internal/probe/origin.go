package probe

import (
	"regexp"
	"strings"
)

var (
	// snapshotPath is where the Hugging Face cache keeps a model: its name and the commit of its repository.
	snapshotPath = regexp.MustCompile(`models--([^/\s"']+)/snapshots/([0-9a-f]{40})`)
	// localVersion ends a version built from a commit: 0.5.22.dev236+g1093c501d, 0.11.1rc2+g1234567.d20251201.
	localVersion = regexp.MustCompile(`\+(?:[a-z0-9]+\.)*g([0-9a-f]{7,40})\b`)
)

// addOrigin adds what a model's path tells: its id, and its revision when the path pins one.
func addOrigin(list *factList, path string) {
	if path == "" {
		return
	}
	if m := snapshotPath.FindStringSubmatch(path); m != nil {
		list.text("model", "id", strings.Replace(m[1], "--", "/", 1))
		list.text("model", "revision", m[2])
	} else {
		list.text("model", "id", path)
	}
}

// addVersion adds an engine's version, and the commit that it may name.
func addVersion(list *factList, version string) {
	list.text("engine", "version", version)
	if m := localVersion.FindStringSubmatch(version); m != nil {
		list.text("engine", "commit", m[1])
	}
}
