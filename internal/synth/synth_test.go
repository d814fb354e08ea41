package synth_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/synth"
)

// The standard matrix has the seed's size, so that benchmarks mean what they say.
func TestStandardSize(t *testing.T) {
	run, requests, _ := synth.Make(synth.Config{Seed: 1})
	var tokens int64
	for i := range requests {
		tokens += requests[i].Tokens()
	}
	t.Logf("%d cells, %d requests, %d tokens", len(run.Cells), len(requests), tokens)
	if len(run.Cells) != 46 || len(requests) < 400 || tokens < 1_100_000 || tokens > 1_500_000 {
		t.Errorf("%d cells, %d requests, %d tokens: want the seed's size", len(run.Cells), len(requests), tokens)
	}
}

func TestSameSeedSameRun(t *testing.T) {
	cfg := synth.Config{Seed: 3, Small: true, Seconds: 1}
	run, requests, samples := synth.Make(cfg)
	again, requests2, samples2 := synth.Make(cfg)
	if !reflect.DeepEqual(run, again) || !reflect.DeepEqual(requests, requests2) || !reflect.DeepEqual(samples, samples2) {
		t.Error("two runs of one seed differ")
	}
}

// A stored run is one that readers accept, all cells of which are as planned, and which says what it is.
func TestStoreAndCopy(t *testing.T) {
	dir := t.TempDir()
	ids := synth.Identities(30)
	from, err := synth.Store(dir, synth.Config{Seed: 1, Small: true, Seconds: 5, Output: 200, Repeats: 3}, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{filepath.Base(from): true}
	for _, id := range ids[1:] {
		folder, err := synth.Copy(dir, from, id)
		if err != nil {
			t.Fatal(err)
		}
		if seen[filepath.Base(folder)] {
			t.Errorf("two runs are called %s", filepath.Base(folder))
		}
		seen[filepath.Base(folder)] = true
		log, err := eventlog.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		run := log.Run()
		if !run.Simulated() || !strings.Contains(run.ID, "synthetic") || run.Engine.Text("version") != id.Version {
			t.Errorf("%s: simulated %t, version %q", run.ID, run.Simulated(), run.Engine.Text("version"))
		}
		if err := log.Verify(); err != nil {
			t.Error(err)
		}
	}
	log, err := eventlog.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := log.Requests()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := log.Samples()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := summary.Summarize(log.Run(), requests, samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(sum.Prefill, sum.Decode...) {
		if want := log.Run().Cells[c.Index].Status; want == event.Ran && c.Status != event.Valid {
			t.Errorf("%s %s × %d: status %s, %s", c.Phase, c.Label, c.Concurrency, c.Status, c.Reason)
		}
		if c.Phase == event.Decode && c.Status == event.Valid && (c.TokSInterval == nil || c.TokSInterval.Repeats != 3) {
			t.Errorf("%s × %d: interval %+v, want one from 3 repeats", c.Label, c.Concurrency, c.TokSInterval)
		}
	}
}
