package survival

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/simengine"
)

// cutRun leaves a partial run with at least its prefill rows, of the engine e.
func cutRun(t *testing.T, e *engine, more ...string) (dir string) {
	t.Helper()
	out := t.TempDir()
	p := start(t, matrix(e.url(), out, more...)...)
	p.until("two finished passes", func() bool { return finishedIn(t, out) >= 2 })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.must(130)
	dir = runIn(t, out)
	if !strings.HasSuffix(dir, ".partial") {
		t.Fatalf("interrupted run left %s, want a folder ending in .partial", dir)
	}
	return dir
}

// TestResumeRefuses: a run goes on only against what it began with; what differs is said, and nothing is changed.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	e := newEngine(t, simengine.Options{})
	dir := cutRun(t, e)
	before := listing(dir)
	check := func(name, url string, code int, say string, more ...string) {
		t.Run(name, func(t *testing.T) {
			p := start(t, resume(url, dir, more...)...)
			p.must(code)
			if !strings.Contains(p.stderr.String(), say) {
				t.Errorf("said %q, want %q in it", p.stderr.String(), say)
			}
			if now := listing(dir); now != before {
				t.Errorf("the refused run was changed:\n%s\nit was\n%s", now, before)
			}
		})
	}
	check("another engine", newEngine(t, simengine.Options{Dialect: simengine.SGLang}).url(), 2, `the engine was "vllm" and is "sglang"`)
	check("another model", newEngineOf(t, "pace", simengine.Options{}).url(), 4, "tiny")
	check("another GPU under the same model", newEngineOf(t, sameModel(t), simengine.Options{}).url(), 2, `the GPU was "Simulated engine (profile tiny)"`)
	check("a smaller cache", newEngine(t, simengine.Options{KVTokens: 1024}).url(), 2, "over-capacity")
	check("a shorter limit", newEngine(t, simengine.Options{MaxModelLen: 768}).url(), 2, "the plan")
	for _, other := range [][2]string{
		{"contexts", "1K"}, {"concurrency", "1,2,3"}, {"prefill", "512"}, {"duration", "2s"}, {"max-tokens", "128"}, {"prompts", "shared"},
		{"start", "together"}, {"repeats", "2"}, {"temperature", "0.5"}, {"endpoint", "completions"}, {"seed", "2"}, {"model", "other"},
		{"preset", "llm-inference-bench"},
	} {
		check("--"+other[0], e.url(), 2, "--"+other[0]+" "+other[1]+" differs from the run's", "--"+other[0], other[1])
	}
	check("no server", "http://127.0.0.1:1/v1", 4, "cannot reach")

	t.Run("another method", func(t *testing.T) {
		run := read(t, dir).run
		run.Tool.Method = event.MethodVersion + 1
		b, err := eventlog.EncodeRun(run)
		if err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(filepath.Join(dir, "run.toml"))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "run.toml"), b)
		p := start(t, resume(e.url(), dir)...)
		p.must(2)
		if want := "it was measured by method 2, this program measures by method 1"; !strings.Contains(p.stderr.String(), want) {
			t.Errorf("said %q, want %q in it", p.stderr.String(), want)
		}
		writeFile(t, filepath.Join(dir, "run.toml"), old)
	})
	t.Run("what is no run in progress", func(t *testing.T) {
		for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent.partial")} {
			p := start(t, resume(e.url(), dir)...)
			if code := p.wait(); code == 0 || !strings.Contains(p.stderr.String(), "--resume") {
				t.Errorf("%s: exit code %d, said %q", dir, code, p.stderr.String())
			}
		}
	})
	t.Run("a run that another process writes", func(t *testing.T) {
		log, err := eventlog.Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		p := start(t, resume(e.url(), dir)...)
		p.must(1)
		if !strings.Contains(p.stderr.String(), "another measure process writes this run") {
			t.Errorf("said %q", p.stderr.String())
		}
	})
	t.Run("and goes on with what is the same", func(t *testing.T) {
		had := read(t, dir).finished()
		start(t, resume(e.url(), dir, "--contexts", "512", "--duration", "1s")...).must(0)
		checkComplete(t, strings.TrimSuffix(dir, ".partial"), content{run: event.Run{Cells: read(t, strings.TrimSuffix(dir, ".partial")).run.Cells}}, had)
	})
}

// TestResumeKeepsTheUsersLimits: limits that the user stated hold on without being repeated.
func TestResumeKeepsTheUsersLimits(t *testing.T) {
	t.Parallel()
	e := newEngine(t, simengine.Options{})
	dir := cutRun(t, e, "--kv-tokens", "1100", "--max-model-len", "4K")
	start(t, resume(e.url(), dir)...).must(0)
	run := read(t, strings.TrimSuffix(dir, ".partial")).run
	if run.Capacity.Source != "--kv-tokens" || *run.Capacity.Tokens != 1100 || run.Method.Resumed != 1 {
		t.Errorf("capacity %+v, resumed %d times", run.Capacity, run.Method.Resumed)
	}
	if last := run.Cells[len(run.Cells)-1]; last.Status != event.OverCapacity {
		t.Errorf("cell %s x %d: status %q, want over-capacity under the user's limit", last.Label, last.Concurrency, last.Status)
	}
}

// TestSitegenLeavesPartialRunsOut: a site shows finished runs only, and says what it left out.
func TestSitegenLeavesPartialRunsOut(t *testing.T) {
	t.Parallel()
	dir := cutRun(t, newEngine(t, simengine.Options{}))
	templates, err := filepath.Abs("../../templates")
	if err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(t.TempDir(), "site")
	r := bin.Run(t, patience, "sitegen", "build", "--results", filepath.Dir(dir), "--templates", templates, "--out", site)
	if said := r.Stdout + r.Stderr; r.Code != 0 || !strings.Contains(said, filepath.Base(dir)) {
		t.Errorf("sitegen build: exit code %d, said %q, want the run that it left out named", r.Code, said)
	}
	if _, err := os.Stat(filepath.Join(site, "runs", strings.TrimSuffix(filepath.Base(dir), ".partial"))); err == nil {
		t.Error("the site has a page of a run that is not finished")
	}
	r = bin.Run(t, patience, "sitegen", "check", filepath.Dir(dir))
	if said := r.Stdout + r.Stderr; !strings.Contains(said, filepath.Base(dir)) {
		t.Errorf("sitegen check: exit code %d, said %q, want the run named", r.Code, said)
	}
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameModel is a profile that serves the model of tiny under another name of machine.
func sameModel(t *testing.T) string {
	t.Helper()
	p, err := simengine.LoadProfile("tiny")
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "other"
	f, err := os.Create(filepath.Join(t.TempDir(), "other.toml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := toml.NewEncoder(f).Encode(p); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestResumeOfAMeasuredRun: when all is measured and the run cannot be put in its place, --resume does only that.
func TestResumeOfAMeasuredRun(t *testing.T) {
	t.Parallel()
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out)...)
	p.until("a first pass", func() bool { return finishedIn(t, out) == 1 })
	dir := runIn(t, out)
	final := strings.TrimSuffix(dir, ".partial")
	if err := os.Mkdir(final, 0o755); err != nil { // in the way
		t.Fatal(err)
	}
	p.must(1)
	if s := p.stderr.String(); !strings.Contains(s, "exists already") || !strings.Contains(s, "--resume "+dir) {
		t.Errorf("said %q, want what is in the way, and how to go on", s)
	}
	before := checkPartial(t, dir, nil)
	if len(before) != 4 {
		t.Errorf("%d finished passes, want all four", len(before))
	}
	if err := os.Remove(final); err != nil {
		t.Fatal(err)
	}
	e.stop() // no server is needed for that
	start(t, resume(e.url(), dir)...).must(0)
	checkComplete(t, final, uncut(t), before)
}
