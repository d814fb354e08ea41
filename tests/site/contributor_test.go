package site

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speedmatrix/tests/programs"
)

// git runs git in dir, as a user without settings of their own.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=New", "GIT_AUTHOR_EMAIL=new@example.org",
		"GIT_COMMITTER_NAME=New", "GIT_COMMITTER_EMAIL=new@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestNewContributor does what the contribution guide says, with real git: clone, measure, check, commit, build; then tries to change the
// published run, which the check refuses.
func TestNewContributor(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	bin := programs.Build(t)
	dir := t.TempDir()
	origin, clone := filepath.Join(dir, "origin"), filepath.Join(dir, "clone")
	for _, name := range []string{".gitattributes", ".gitignore", "site/README.md", "site/.gitignore"} {
		copyFile(t, filepath.Join("../..", name), filepath.Join(origin, name))
	}
	if err := os.CopyFS(filepath.Join(origin, "templates"), os.DirFS("../../templates")); err != nil {
		t.Fatal(err)
	}
	git(t, origin, "init", "-q", "-b", "main")
	git(t, origin, "add", ".")
	git(t, origin, "commit", "-q", "-m", "a site without runs")
	git(t, dir, "clone", "-q", origin, clone)

	engine := exec.Command(filepath.Join(string(bin), "measure"), "simulate", "--listen", "127.0.0.1:0", "--profile", "tiny")
	stdout, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Process.Kill(); _ = engine.Wait() })
	buf := make([]byte, 200)
	n, err := stdout.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(string(buf[:n])), "listening on ")
	results := filepath.Join(clone, "results")
	bin.Must(t, 2*time.Minute, "measure", "run", "--url", strings.Fields(url)[0], "--contexts", "1K", "--concurrency", "1,2", "--max-tokens", "64", "--duration", "1s",
		"--yes", "--quiet", "--out", results)
	bin.Must(t, time.Minute, "sitegen", "check", results)

	git(t, clone, "checkout", "-q", "-b", "my-run")
	git(t, clone, "add", "results")
	git(t, clone, "commit", "-q", "-m", "a run of mine")
	changes := filepath.Join(dir, "changes")
	names := git(t, clone, "diff", "--name-status", "--no-renames", "-z", "origin/main...HEAD")
	if err := os.WriteFile(changes, []byte(names), 0o644); err != nil {
		t.Fatal(err)
	}
	bin.Must(t, time.Minute, "sitegen", "check", "--changes", changes, "--results", "results", results)

	site := filepath.Join(clone, "site")
	bin.Must(t, time.Minute, "sitegen", "build", "--results", results, "--templates", filepath.Join(clone, "templates"), "--out", site, "--cache", filepath.Join(clone, ".cache"))
	if _, err := os.Stat(filepath.Join(site, "index.html")); err != nil {
		t.Error(err)
	}
	if left := git(t, clone, "status", "--porcelain"); left != "" {
		t.Errorf("after the build git sees changes:\n%s", left)
	}

	// Once published, a run never changes.
	runs, err := filepath.Glob(filepath.Join(results, "2*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	text, err := os.ReadFile(filepath.Join(runs[0], "run.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs[0], "run.toml"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, clone, "commit", "-q", "-a", "-m", "a change to a run")
	names = git(t, clone, "diff", "--name-status", "--no-renames", "-z", "HEAD~1...HEAD")
	if err := os.WriteFile(changes, []byte(names), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := bin.Run(t, time.Minute, "sitegen", "check", "--changes", changes, "--results", "results"); r.Code != 1 || !strings.Contains(r.Stdout+r.Stderr, "run.toml") {
		t.Errorf("check of a changed run: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
