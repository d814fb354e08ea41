package summary_test

import (
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// kindCell is a cell of two streams whose window is (10 s, 20 s], with a first request each that runs all the time.
func kindRun(start event.StartMode, prompts event.PromptMode, more ...event.Request) (event.Run, []event.Request) {
	run := togetherRun(decodeCell(2, pass(0, 10_000, 20_000)))
	run.Method.Start, run.Method.Prompts = start, prompts
	requests := []event.Request{
		finished(requestOf(0, 0, event.Warmup, 5000, 90, 100, 60)), // to 10.99 s
		finished(requestOf(0, 1, event.Warmup, 5000, 110, 100, 60)),
	}
	for i := range more {
		more[i].Ordinal = int32(i + 1)
	}
	return run, append(requests, more...)
}

func TestTTFTKinds(t *testing.T) {
	restart := func(stream int32, stage event.Stage, startMS, firstMS int64) event.Request {
		return requestOf(0, stream, stage, startMS, firstMS, 100, 10)
	}
	uncached := func(r event.Request) event.Request {
		r.CachedTokens = ptr(int32(7372)) // 89.99 % of 8,192
		return r
	}
	check := func(name string, start event.StartMode, prompts event.PromptMode, kind summary.TTFTKind, median float64, n int, others map[summary.TTFTKind]int, more ...event.Request) {
		t.Helper()
		run, requests := kindRun(start, prompts, more...)
		c := summarize(t, run, requests).Decode[0]
		if kind == "" {
			if c.TTFTMS != nil || c.TTFTKind != "" || len(c.TTFTOther) != 0 {
				t.Errorf("%s: kind %q, %v ms, others %v, want none", name, c.TTFTKind, show(c.TTFTMS), c.TTFTOther)
			}
			return
		}
		is(t, name, c.TTFTMS, median)
		if c.TTFTKind != kind || c.TTFT.N != n || len(c.TTFTOther) != len(others) {
			t.Errorf("%s: %s with n = %d, others %+v; want %s with n = %d, others %v", name, c.TTFTKind, c.TTFT.N, c.TTFTOther, kind, n, others)
		}
		for _, o := range c.TTFTOther {
			if o.N != others[o.Kind] {
				t.Errorf("%s: %d of kind %s, want %d", name, o.N, o.Kind, others[o.Kind])
			}
		}
	}
	const staggered, together, perStream, fresh = event.Staggered, event.Together, event.PerStream, event.Fresh
	type count = map[summary.TTFTKind]int

	check("first requests under together", together, perStream, summary.Start, 100, 2, nil)
	check("first requests under staggered are of no kind", staggered, perStream, "", 0, 0, nil)
	check("restarts of window and probe phase together", staggered, perStream, summary.Restart, 60, 2, nil,
		restart(0, event.InWindow, 12_000, 50), restart(1, event.Probe, 21_000, 70))
	check("restarts before the window do not count", staggered, perStream, "", 0, 0, nil,
		restart(0, event.Warmup, 9000, 50))
	check("restart beside start", together, perStream, summary.Restart, 50, 1, count{summary.Start: 2},
		restart(0, event.InWindow, 12_000, 50))
	// The second starts 30 ms into the first's wait of 50 ms: both wait at once, neither joins a steady state.
	check("a wave of two", staggered, perStream, summary.Wave, 55, 2, nil,
		restart(0, event.InWindow, 12_000, 50), restart(1, event.InWindow, 12_030, 60))
	check("a start in the very instant of the first token is within the TTFT", staggered, perStream, summary.Restart, 60, 1, count{summary.Wave: 1},
		restart(0, event.InWindow, 12_000, 50), restart(1, event.InWindow, 12_050, 60))
	check("a start after the first token is not", staggered, perStream, summary.Restart, 55, 2, nil,
		restart(0, event.InWindow, 12_000, 50), restart(1, event.InWindow, 12_051, 60))
	check("uncached below 90 %", staggered, perStream, summary.Restart, 50, 1, count{summary.Uncached: 1},
		restart(0, event.InWindow, 12_000, 50), uncached(restart(1, event.InWindow, 14_000, 900)))
	check("fresh prompts are uncached, whatever the server says", staggered, fresh, summary.Uncached, 50, 1, nil,
		restart(0, event.InWindow, 12_000, 50))
	check("fresh first requests stand for uncached where there is no other", together, fresh, summary.Uncached, 100, 2, nil)
	check("a later one replaces them", together, fresh, summary.Uncached, 50, 1, nil,
		restart(0, event.InWindow, 12_000, 50))
	failed := restart(0, event.InWindow, 12_000, 50)
	failed.Outcome = event.Reset
	check("failed requests have no TTFT", staggered, perStream, "", 0, 0, nil, failed)
}

// TestOrdinalsMayCountScouts: the first request of a stream is the first in time, whatever its number.
func TestOrdinalsMayCountScouts(t *testing.T) {
	run, requests := kindRun(event.Staggered, event.PerStream)
	scout := requestOf(0, 0, event.Scout, 1000, 900, 1, 1)
	for i := range requests {
		requests[i].Ordinal = 1
	}
	c := summarize(t, run, append(requests, scout)).Decode[0]
	if c.TTFTMS != nil {
		t.Errorf("a staggered first request became %s", c.TTFTKind)
	}
	// No whole prompt was sent but the scout's.
	isCount(t, "prompt tokens", c.PromptTokens, 8192)
	if c.CachedTokens != nil {
		t.Errorf("cached tokens of a scout count: %d", *c.CachedTokens)
	}
	if len(c.Strip) != 2 {
		t.Errorf("the strip has %d requests, want 2 without the scout", len(c.Strip))
	}
}

// TestTTFO: shown only where it differs from TTFT. Two restarts show text after 50 and 250 ms: median 150.
func TestTTFO(t *testing.T) {
	first, second := requestOf(0, 0, event.InWindow, 12_000, 50, 100, 10), requestOf(0, 1, event.InWindow, 14_000, 50, 100, 10)
	first.VisibleUS, second.VisibleUS = ptr(50*ms), ptr(250*ms)
	run, requests := kindRun(event.Staggered, event.PerStream, first, second)
	is(t, "TTFO", summarize(t, run, requests).Decode[0].TTFOMS, 150)
	second.VisibleUS = ptr(50 * ms)
	run, requests = kindRun(event.Staggered, event.PerStream, first, second)
	if got := summarize(t, run, requests).Decode[0].TTFOMS; got != nil {
		t.Errorf("TTFO = %v where it is the TTFT", *got)
	}
}
