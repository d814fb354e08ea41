package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speedmatrix/internal/synth"
)

// TestServedPagesReload builds, serves, and follows one reload to an open page.
func TestServedPagesReload(t *testing.T) {
	c := buildConfig{results: t.TempDir(), templates: "../../templates", out: filepath.Join(t.TempDir(), "site")}
	if _, err := build(t.Context(), c, io.Discard); err != nil {
		t.Fatal(err)
	}
	s := &server{dir: c.out, clients: map[chan struct{}]bool{}}
	web := httptest.NewServer(s)
	defer web.Close()
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, body := get("/"); code != 200 || !strings.Contains(body, scriptPath) {
		t.Errorf("home: status %d, reload script in it %t", code, strings.Contains(body, scriptPath))
	}
	for _, path := range []string{"/nowhere/", "/nowhere", "/nowhere.json", "/runs/nowhere"} {
		if code, body := get(path); code != 404 || !strings.Contains(body, "Page not found") {
			t.Errorf("%s is absent: status %d, body %.80q", path, code, body)
		}
	}
	if code, body := get("/data/runs.json"); code != 200 || strings.Contains(body, scriptPath) {
		t.Errorf("file: status %d", code)
	}
	if code, body := get("/../../../etc/hosts.html"); code != 404 || !strings.Contains(body, "Page not found") {
		t.Errorf("path that leaves the folder: status %d", code)
	}
	if b, err := os.ReadFile(filepath.Join(c.out, "index.html")); err != nil || bytes.Contains(b, []byte(scriptPath)) {
		t.Errorf("the built page holds the reload script, or is gone: %v", err)
	}

	resp, err := http.Get(web.URL + reloadPath) // headers come after the page is known to the server
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.reload()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "data: rebuilt\n" {
		t.Errorf("event %q, error %v", line, err)
	}
}

// TestFingerprintTellsChanges looks at the input as the watcher does.
func TestFingerprintTellsChanges(t *testing.T) {
	c := buildConfig{results: t.TempDir(), templates: t.TempDir()}
	empty := fingerprint(c)
	if empty != fingerprint(c) {
		t.Error("nothing changed, but the fingerprint did")
	}
	if _, err := synth.Store(c.results, synth.Config{Small: true, Seconds: 1, Output: 16}, synth.Identity{}); err != nil {
		t.Fatal(err)
	}
	if fingerprint(c) == empty {
		t.Error("a new run is not seen")
	}
}

// TestCancelledBuildLeavesNothing stops a build before its first run.
func TestCancelledBuildLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	c := buildConfig{results: t.TempDir(), templates: "../../templates", out: filepath.Join(parent, "site")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build(ctx, c, io.Discard); err == nil {
		t.Error("a cancelled build succeeded")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, error %v", left, err)
	}
}
