//go:build browser

package browser

import (
	"compress/gzip"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// prefix is the folder below the server's root from which the site is served.
const prefix = "/speed/tests/"

// serve answers with the files of a folder that the site goes into, compressed as static hosts do. Nothing else of
// the server exists: a link that leaves the sub-folder fails.
func serve(t *testing.T) (base, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "site")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" { // Lighthouse asks for it at the root
			io.WriteString(w, "User-agent: *\nAllow: /\n")
			return
		}
		name, inside := strings.CutPrefix(path.Clean(r.URL.Path), strings.TrimSuffix(prefix, "/"))
		if !inside {
			http.NotFound(w, r)
			return
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "index.html")
		}
		status := http.StatusOK
		text, err := os.ReadFile(file)
		if err != nil {
			status = http.StatusNotFound
			file = filepath.Join(dir, "404.html")
			text, _ = os.ReadFile(file)
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(file)))
		w.Header().Set("Cache-Control", "max-age=600")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(status)
			w.Write(text)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		zip := gzip.NewWriter(w)
		zip.Write(text)
		zip.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL + prefix, dir
}

// A page is one to look at.
type page struct {
	Kind string `json:"kind"`
	Path string `json:"path"` // below the base
}

// pages picks from a built site what to look at: three runs (the hostile one is the first by name) and two of each
// other kind, a kind being the folder at the top. A new kind of page is looked at without a change here.
func pages(t *testing.T, dir string) []page {
	t.Helper()
	each := func(kind string) int {
		if kind == "run" {
			return 3
		}
		return 2
	}
	var list []page
	count := map[string]int{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		kind, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(rel, "index.html"), "/"), "/")
		switch {
		case rel == "index.html":
			kind = "home"
		case rel == "404.html":
			kind = "404"
		case rest != "":
			kind = strings.TrimSuffix(kind, "s")
		}
		if count[kind]++; count[kind] <= each(kind) {
			list = append(list, page{Kind: kind, Path: escape(strings.TrimSuffix(rel, "index.html"))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"home", "run", "methodology", "404"} {
		if !slices.ContainsFunc(list, func(p page) bool { return p.Kind == want }) {
			t.Errorf("the site has no %s page: %v", want, list)
		}
	}
	return list
}

// escape writes a path as it stands in a link.
func escape(name string) string { return (&url.URL{Path: name}).EscapedPath() }
