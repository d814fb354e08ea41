package site

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// folder makes a site with one page.
func folder(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{marker: markerText, "index.html": text} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	out, err := fs.Glob(os.DirFS(dir), "*")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestSwap(t *testing.T) {
	for how, swap := range map[string]func(built, out string) error{"by exchange": swap, "by renaming": swapByRenaming} {
		parent := t.TempDir()
		out, built := filepath.Join(parent, "site"), filepath.Join(parent, ".site.new-1")
		for _, content := range []string{"first", "second"} { // over nothing, over a site
			folder(t, built, content)
			if err := swap(built, out); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if got := text(t, out); got != content {
				t.Errorf("%s: the page says %q, want %q", how, got, content)
			}
			if left := names(t, parent); !slices.Equal(left, []string{"site"}) {
				t.Errorf("%s: left %q", how, left)
			}
		}
	}
}

// TestSwapLeavesNoGap asks for the page all the time while sites replace each other.
func TestSwapLeavesNoGap(t *testing.T) {
	parent := t.TempDir()
	out, built := filepath.Join(parent, "site"), filepath.Join(parent, ".site.new-1")
	folder(t, out, "a")
	folder(t, built, "b")
	if err := exchange(built, out); err != nil {
		t.Skipf("this file system exchanges no names: %v", err)
	}
	done, gaps := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				gaps <- n
				return
			default:
			}
			if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) {
				n++
			}
		}
	}()
	for range 200 {
		folder(t, built, "next")
		if err := swap(built, out); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	if n := <-gaps; n > 0 {
		t.Errorf("there was no site %d times", n)
	}
}

// TestLeftBehind has what killed builds leave, and a build that lives.
func TestLeftBehind(t *testing.T) {
	parent := t.TempDir()
	out := filepath.Join(parent, "site")
	living, livingLock, err := makeBeside(out)
	if err != nil {
		t.Fatal(err)
	}
	defer livingLock.release()
	if livingLock.file == nil {
		t.Skip("folders cannot be locked here")
	}
	folder(t, filepath.Join(parent, ".site.new-123"), "half a site")
	folder(t, filepath.Join(parent, ".site.new-456.old"), "the last good one")
	folder(t, filepath.Join(parent, ".other.new-1"), "of another site")
	mine, mineLock, err := makeBeside(out)
	if err != nil {
		t.Fatal(err)
	}
	defer mineLock.release()
	want := []string{".other.new-1", filepath.Base(living), filepath.Base(mine), "site"}
	slices.Sort(want)
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if got := text(t, out); got != "the last good one" {
		t.Errorf("the site says %q, want the last good one back", got)
	}

	folder(t, filepath.Join(parent, ".site.new-789.old"), "older") // there is a site: this one has been replaced
	clearLeft(out)
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if got := text(t, out); got != "the last good one" {
		t.Errorf("the site says %q after an older one was cleared", got)
	}
}
