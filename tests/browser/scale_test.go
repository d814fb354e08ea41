//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/synth"
	"speedmatrix/tests/programs"
)

// TestScale looks at one page of each kind of a site of as many synthetic runs as SCALE says: make scale-browser. It is no part of make
// test, since a thousand runs of the seed's size take a while.
func TestScale(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("SCALE"))
	if err != nil {
		t.Skip("SCALE is not set: make scale-browser does")
	}
	tools := findTools(t)
	bin := programs.Build(t)
	results := t.TempDir()
	if err := synth.Fill(results, n); err != nil {
		t.Fatal(err)
	}
	base, dir := serve(t)
	bin.Must(t, 10*time.Minute, "sitegen", "build", "--results", results, "--templates", "../../templates", "--cache", "", "--out", dir, "--base-url", base)
	site := settings{Base: base, Dir: dir, Run: largest(t, results), Chromium: tools.chromium, Pages: firstOfKind(pages(t, dir))}
	site.Pages = append(site.Pages, page{Kind: "compared", Path: "compare/" + strings.TrimPrefix(newest(t, results), "runs/")})
	for _, script := range []string{"pages.test.mjs", "lighthouse.test.mjs"} {
		t.Run(script, func(t *testing.T) { node(t, tools, site, "--test", "--test-reporter=spec", script) })
	}
}

// newest is the path of the page of the newest run, which has one before it to be compared with.
func newest(t *testing.T, results string) string {
	t.Helper()
	folders := runs(t, results)
	return "runs/" + filepath.Base(slices.Max(folders)) + "/"
}

// firstOfKind keeps one page of each kind.
func firstOfKind(all []page) []page {
	var out []page
	seen := map[string]bool{}
	for _, p := range all {
		if !seen[p.Kind] {
			seen[p.Kind] = true
			out = append(out, p)
		}
	}
	return out
}
