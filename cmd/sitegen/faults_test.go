package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
	"speedmatrix/internal/synth"
)

// results makes a folder of n small synthetic runs, and the configuration of a build of them.
func results(t *testing.T, n int) buildConfig {
	t.Helper()
	dir := t.TempDir()
	c := buildConfig{results: filepath.Join(dir, "results"), templates: "../../templates", out: filepath.Join(dir, "site"), cache: filepath.Join(dir, "cache")}
	for i, id := range synth.Identities(n) {
		if _, err := synth.Store(c.results, small(uint64(i+1)), id); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A cache that cannot be written costs time, and no run is left out for it.
func TestCacheThatCannotBeWritten(t *testing.T) {
	c := results(t, 3)
	if err := os.WriteFile(c.cache, []byte("a file stands where the folder should"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c.keepGoing = range []bool{false, true} {
		var stderr bytes.Buffer
		n, err := build(t.Context(), c, &stderr)
		if err != nil || n != 3 {
			t.Errorf("keep going %t: %d runs, error %v, want 3", c.keepGoing, n, err)
		}
		if !strings.Contains(stderr.String(), "the next build starts without a cache") || strings.Contains(stderr.String(), "broken") {
			t.Errorf("keep going %t: told %q", c.keepGoing, &stderr)
		}
	}
}

// A site that cannot be written is an error even with --keep-going: it must not be told as runs that are broken.
func TestOutputThatCannotBeWritten(t *testing.T) {
	c := results(t, 2)
	opt, s, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	b, err := site.New(opt, s)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	begun, err := filepath.Glob(filepath.Join(filepath.Dir(c.out), ".site.new-*"))
	if err != nil || len(begun) != 1 {
		t.Fatalf("folders under construction: %q, %v", begun, err)
	}
	if err := os.RemoveAll(begun[0]); err != nil {
		t.Fatal(err)
	}
	w := &runWriter{b: b, site: s, store: openStore("", c.out), places: page.NewPlaces(page.Names{})}
	dirs, _, err := scan(c.results)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	_, err = w.addRuns(t.Context(), dirs, true, &stderr)
	if want := new(site.OutputError); !errors.As(err, &want) || stderr.Len() > 0 || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, told %q, want one error of the output", err, &stderr)
	}
}
