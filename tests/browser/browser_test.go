//go:build browser

// Package browser looks at a built site in a real Chromium. The tests themselves are the *.test.mjs files beside
// this one; here is what they need: the tools (installed when absent), a site of several runs, one of them hostile,
// and a web server that serves it from a folder below its root, as GitHub Pages does.
package browser

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"speedmatrix/tests/programs"
)

// settings is what lib.mjs reads.
type settings struct {
	Base        string `json:"base"`     // URL of the site, ends in "/"
	Dir         string `json:"dir"`      // the site's folder
	Chromium    string `json:"chromium"` // path of the browser
	Run         string `json:"run"`      // path of the run with the most cells
	Pages       []page `json:"pages"`
	Screenshots string `json:"screenshots,omitempty"`
}

func TestSite(t *testing.T) {
	tools := findTools(t)
	dir := os.Getenv("SCREENSHOTS")
	site := buildSite(t, dir == "")
	site.Chromium = tools.chromium
	if dir != "" {
		site.Screenshots = dir
		node(t, tools, site, "screenshots.mjs")
		return
	}
	scripts, err := filepath.Glob("*.test.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no test scripts (%v)", err)
	}
	for _, script := range scripts {
		t.Run(script, func(t *testing.T) { node(t, tools, site, "--test", "--test-reporter=spec", script) })
	}
}

// node runs a script of this folder against the site.
func node(t *testing.T, tools tools, site settings, args ...string) {
	t.Helper()
	text, err := json.MarshalIndent(site, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "site.json")
	if err := os.WriteFile(config, text, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools.node, args...)
	cmd.Env = append(os.Environ(), "BROWSER_TEST_SITE="+config)
	out, err := cmd.CombinedOutput()
	t.Logf("node %v\n%s", args, out)
	if err != nil {
		t.Errorf("node %v: %v", args, err)
	}
}

// buildSite makes a site of the repository's runs, and of a hostile one when asked, and serves it until the test ends.
func buildSite(t *testing.T, hostile bool) settings {
	t.Helper()
	bin := programs.Build(t)
	results := t.TempDir()
	gather(t, bin, results)
	if hostile {
		addHostile(t, results)
	}
	base, dir := serve(t)
	bin.Must(t, time.Minute, "sitegen", "build", "--results", results, "--templates", "../../templates", "--cache", "", "--out", dir, "--base-url", base)
	return settings{Base: base, Dir: dir, Run: largest(t, results), Pages: pages(t, dir)}
}
