package site

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/page"
	"speedmatrix/internal/summary"
	"speedmatrix/tests/programs"
)

// TestScriptComparesAsThePackage runs the comparison of the browser in Node.js on published run.json files, and wants what package
// compare says of the same runs.
func TestScriptComparesAsThePackage(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIPPED: THE BROWSER'S COMPARISON IS NOT TESTED: there is no node")
	}
	results, out := someSite(t, programs.Build(t))
	folders, err := filepath.Glob(filepath.Join(results, "*"))
	if err != nil || len(folders) != 3 {
		t.Fatal(folders, err)
	}
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {0, 2}, {1, 1}} {
		a, b := folders[pair[0]], folders[pair[1]]
		got := inBrowser(t, twin(out, a), twin(out, b))
		want := compare.Runs(summaryOf(t, a), summaryOf(t, b))
		name := fmt.Sprint(pair)
		if len(got.Cells) != len(want.Cells) || len(got.Refusals) != len(want.Refusals) || len(got.Differences) != len(want.Differences) {
			t.Fatalf("%s: %d cells, %q, %q; want %d, %q, %+v", name, len(got.Cells), got.Refusals, got.Differences, len(want.Cells), want.Refusals, want.Differences)
		}
		for i, d := range want.Differences {
			if got.Differences[i] != [3]string{d.Key, d.A, d.B} {
				t.Errorf("%s: difference %q, want %+v", name, got.Differences[i], d)
			}
		}
		for i, p := range want.Cells {
			g := got.Cells[i]
			if g.Verdict != string(p.Verdict) || g.Why != p.Why || !near(g.Ratio, p.Ratio) || !near(g.Low, p.Low) || !near(g.High, p.High) {
				t.Errorf("%s: cell %d: %+v, want %+v", name, i, g, p)
			}
		}
	}
}

// TestScriptWritesNumbersAsThePackage has facts at the ends of what a browser's number can say.
func TestScriptWritesNumbersAsThePackage(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIPPED: THE BROWSER'S NUMBERS ARE NOT TESTED: there is no node")
	}
	plain := summary.Run{Facts: event.Run{ID: "plain"}}
	full := summary.Run{Facts: event.Run{ID: "full", Hardware: event.Facts{}}}
	for i, v := range []any{1e20, 1e21, 123456789012345680000.0, 1e-6, 1.5e-7, 5e-324, math.MaxFloat64, 0.1 + 0.2, 96.0, 0.0, math.Copysign(0, -1), -2.5e-9,
		math.NaN(), math.Inf(1), int64(0), int64(1 << 53), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64), int64(-7), true, false, "1e3", ""} {
		full.Facts.Hardware[fmt.Sprintf("n%02d", i)] = v
	}
	store := func(s *summary.Run) string {
		text, err := page.NewTwin(s).JSON()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got := inBrowser(t, store(&plain), store(&full))
	want := compare.Runs(compare.Of(&plain), compare.Of(&full)).Differences
	if len(got.Differences) != len(want) {
		t.Errorf("%d differences, want %d: %q", len(got.Differences), len(want), got.Differences)
	}
	for i := range min(len(want), len(got.Differences)) {
		if d := want[i]; got.Differences[i] != [3]string{d.Key, d.A, d.B} {
			t.Errorf("the browser says %q, the package %q", got.Differences[i], d)
		}
	}
}

// comparison is what the browser's script says of two runs.
type comparison struct {
	Differences [][3]string
	Refusals    []string
	Cells       []struct {
		Ratio, Low, High *float64
		Verdict, Why     string
	}
}

// inBrowser runs the script in Node.js on two run.json files.
func inBrowser(t *testing.T, a, b string) comparison {
	t.Helper()
	const code = `
require(process.argv[1]);
const fs = require('fs');
const load = (f) => JSON.parse(fs.readFileSync(f));
const r = speedmatrix.compare(load(process.argv[2]), load(process.argv[3]));
console.log(JSON.stringify({ differences: r.differences, refusals: r.refusals,
  cells: r.cells.map((p) => ({ ratio: p.ratio ?? null, low: p.low ?? null, high: p.high ?? null, verdict: p.verdict, why: p.why })) }));`
	script, err := filepath.Abs("../../templates/compare.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "-e", code, script, a, b)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out comparison
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func twin(site, folder string) string {
	return filepath.Join(site, "runs", filepath.Base(folder), "run.json")
}

func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) < 1e-12*math.Abs(*b)
}

func summaryOf(t *testing.T, folder string) compare.Run {
	t.Helper()
	l, err := eventlog.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := l.Requests()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := l.Samples()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := summary.Summarize(l.Run(), requests, samples)
	if err != nil {
		t.Fatal(err)
	}
	return compare.Of(&sum)
}
