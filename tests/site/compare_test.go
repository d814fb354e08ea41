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
	"speedmatrix/internal/eventlog"
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
	code := `
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
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {0, 2}, {1, 1}} {
		a, b := folders[pair[0]], folders[pair[1]]
		cmd := exec.Command("node", "-e", code, script, twin(out, a), twin(out, b))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Differences [][3]string
			Refusals    []string
			Cells       []struct {
				Ratio, Low, High *float64
				Verdict, Why     string
			}
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
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
