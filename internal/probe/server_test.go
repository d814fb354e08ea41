package probe

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"speedmatrix/internal/event"
)

// recorded serves the answers of a txtar file: files are named "GET /path", with a status when it is not 200.
type recorded struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // "POST /abort_request {"rid":"x"}"
	keys  map[string]bool
}

func serve(t *testing.T, file string, header http.Header) *recorded {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{keys: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		name := req.Method + " " + req.URL.Path
		r.mu.Lock()
		r.asked = append(r.asked, strings.TrimSpace(name+" "+string(body)))
		r.keys[req.Header.Get("Authorization")] = true
		r.mu.Unlock()
		for k, v := range header {
			w.Header()[k] = v
		}
		for _, f := range archive.Files {
			if f.Name == name {
				_, _ = w.Write(f.Data)
				return
			}
			if status, ok := strings.CutPrefix(f.Name, name+" "); ok {
				code, _ := strconv.Atoi(status)
				w.WriteHeader(code)
				_, _ = w.Write(f.Data)
				return
			}
		}
		http.NotFound(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// nowhere is a machine without files and tools.
func nowhere() machine { return testMachine("linux", fstest.MapFS{}, nil, nil) }

func testMachine(goos string, files fstest.MapFS, links map[string]string, tools map[string]string) machine {
	return machine{
		goos:  goos,
		files: files,
		run: func(_ context.Context, name string, args ...string) []byte {
			return []byte(tools[strings.Join(append([]string{name}, args...), " ")])
		},
		links: func(path string) (string, error) {
			if to, ok := links[path]; ok {
				return to, nil
			}
			return "", fs.ErrNotExist
		},
		glob: func(pattern string) []string {
			paths, _ := fs.Glob(files, pattern)
			return paths
		},
	}
}

// sorted returns facts ordered by table and key.
func sorted(facts []event.Fact) []event.Fact {
	return slices.SortedFunc(slices.Values(facts), func(a, b event.Fact) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Key, b.Key))
	})
}
