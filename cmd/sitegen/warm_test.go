package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/pack"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/synth"
)

// small is a run that takes milliseconds to make and to read.
func small(seed uint64) synth.Config {
	return synth.Config{Seed: seed, Small: true, Seconds: 2, Output: 128, Slow: 1 + float64(seed%5)/10}
}

// tree is every file of a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameTrees(t *testing.T, step string, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if other, ok := got[name]; !ok {
			t.Errorf("%s: the warm build lacks %s", step, name)
		} else if other != content {
			t.Errorf("%s: %s differs", step, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: the warm build has %s, which the cold one has not", step, name)
		}
	}
}

// mustBuild builds and returns what was printed.
func mustBuild(t testing.TB, c buildConfig) string {
	t.Helper()
	var stderr bytes.Buffer
	if _, err := build(t.Context(), c, &stderr); err != nil {
		t.Fatal(err)
	}
	return stderr.String()
}

// TestWarmEqualsCold changes the input at random, thirty times, and compares a build that has a cache and an old site with one that
// has neither.
func TestWarmEqualsCold(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	dir := t.TempDir()
	c := buildConfig{results: filepath.Join(dir, "results"), overrides: filepath.Join(dir, "overrides"), templates: "../../templates",
		out: filepath.Join(dir, "site"), cache: filepath.Join(dir, "cache")}
	cold := c
	cold.out, cold.cache = filepath.Join(dir, "cold"), ""
	for _, d := range []string{c.results, c.overrides, filepath.Join(c.results, "errata")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ids := synth.Identities(400)
	var runs []string
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name string
		do   func(i int)
	}{
		{"add", func(i int) {
			for range 1 + random.IntN(3) {
				folder, err := synth.Store(c.results, small(random.Uint64N(5)), ids[random.IntN(len(ids))])
				if err == nil {
					runs = append(runs, folder)
				}
			}
		}},
		{"remove", func(i int) {
			if len(runs) > 2 {
				n := random.IntN(len(runs))
				for _, path := range []string{runs[n], filepath.Join(c.results, "errata", filepath.Base(runs[n])+".toml")} {
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
				}
				runs = slices.Delete(runs, n, n+1)
			}
		}},
		{"notes", func(i int) {
			write(filepath.Join(runs[random.IntN(len(runs))], "notes.md"), fmt.Sprintf("Note *%d*.", i))
		}},
		{"template", func(i int) {
			write(filepath.Join(c.overrides, "stone.html"), fmt.Sprintf(`{{define "content"}}<h1>{{.Heading}} %d</h1>{{end}}`, i))
		}},
		{"style", func(i int) { write(filepath.Join(c.overrides, "style.css"), fmt.Sprintf("/* %d */", i)) }},
		{"names", func(i int) {
			write(filepath.Join(c.results, "names.toml"), fmt.Sprintf("[models]\n\"Model %d\" = [\"synthetic-model-1\"]\n", i%3))
		}},
		{"erratum", func(i int) {
			write(filepath.Join(c.results, "errata", filepath.Base(runs[random.IntN(len(runs))])+".toml"),
				fmt.Sprintf("date = \"2026-12-24\"\ntext = \"wrong %d\"\naction = \"%s\"\n", i, []string{"banner", "tombstone"}[i%2]))
		}},
		{"nothing", func(int) {}},
		{"a page was edited", func(int) { write(filepath.Join(c.out, "runs", filepath.Base(runs[0]), "index.html"), "edited") }},
		{"cache lost in part", func(int) {
			if err := os.RemoveAll(filepath.Join(c.cache, []string{"runs", "index"}[random.IntN(2)])); err != nil {
				t.Fatal(err)
			}
		}},
		{"cache broken", func(int) { write(filepath.Join(c.cache, "index"), "not packed") }},
	}
	steps[0].do(0)
	steps[0].do(0)
	for i := range 30 {
		s := steps[random.IntN(len(steps))]
		s.do(i)
		mustBuild(t, c)
		mustBuild(t, cold)
		sameTrees(t, fmt.Sprintf("step %d, %s", i, s.name), tree(t, c.out), tree(t, cold.out))
		if t.Failed() {
			return
		}
		kept, err := os.ReadDir(filepath.Join(c.cache, "runs"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(kept) > len(runs) {
			t.Fatalf("step %d: the cache keeps %d runs of %d (%v)", i, len(kept), len(runs), err)
		}
	}
}

// A raw file that changes after it was cached is found: its digest no longer is that of run.toml.
func TestChangedRawFileIsFound(t *testing.T) {
	dir := t.TempDir()
	c := buildConfig{results: filepath.Join(dir, "results"), templates: "../../templates", out: filepath.Join(dir, "site"), cache: filepath.Join(dir, "cache")}
	if err := os.Mkdir(c.results, 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := synth.Store(c.results, small(1), synth.Identities(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	mustBuild(t, c)
	before := tree(t, c.out)
	path := filepath.Join(folder, "samples.parquet")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = build(t.Context(), c, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "samples.parquet has the digest") {
		t.Errorf("error %v, want the digest of samples.parquet", err)
	}
	sameTrees(t, "after the failed build", tree(t, c.out), before)
}

// TestNumbersVersion holds the numbers of two fixed synthetic runs. When it fails because package summary computes other numbers now, raise
// numbersVersion, so that aggregates in caches are not taken for today's, and write the digest that the test prints.
func TestNumbersVersion(t *testing.T) {
	const want = "numbers 2 18ab2818aa1c1bb5"
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round the last digit of some sums differently")
	}
	all := struct {
		Shape string
		Runs  []summary.Run
	}{Shape: pack.Digest(summary.Run{})}
	for _, repeats := range []int{1, 3} { // intervals from within the run, and from its repeats
		folder, err := synth.Store(t.TempDir(), synth.Config{Seed: 1, Small: true, Seconds: 6, Output: 200, Repeats: repeats}, synth.Identities(1)[0])
		if err != nil {
			t.Fatal(err)
		}
		l, err := eventlog.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := summarize(l, &workspace{})
		if err != nil {
			t.Fatal(err)
		}
		sum.Facts.Files = nil // digests of files: of the writer's compression, not of the numbers
		all.Runs = append(all.Runs, sum)
	}
	b, err := pack.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(b)
	if got := fmt.Sprintf("numbers %d %s", numbersVersion, hex.EncodeToString(digest[:8])); got != want {
		t.Errorf("the numbers are %q, want %q", got, want)
	}
}
