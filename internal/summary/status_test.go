package summary_test

import (
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
)

// steady is a cell of n streams that bring a token every 10 ms throughout the window (1 s, 3 s]: 200 tokens each.
func steady(n int) (event.Run, []event.Request) {
	run := togetherRun(decodeCell(n, pass(0, 1000, 3000)))
	var requests []event.Request
	for i := range n {
		requests = append(requests, requestOf(0, int32(i), event.Warmup, 0, 50, 10, 300))
	}
	return run, requests
}

// failedRequest is a request that failed before its first token.
func failedRequest(stream int32, atMS int64, kind event.Outcome) event.Request {
	return event.Request{Stream: stream, Ordinal: 1, Stage: event.InWindow, StartUS: atMS * ms, EndUS: ptr(ms), Outcome: kind}
}

func checkStatus(t *testing.T, c summary.Cell, status event.Status, reason string) {
	t.Helper()
	if c.Status != status || c.Reason != reason {
		t.Errorf("status %s because %q, want %s because %q", c.Status, c.Reason, status, reason)
	}
}

// TestFailedStreams: one failure is always forgiven, more up to 1 % of the requests.
func TestFailedStreams(t *testing.T) {
	check := func(streams int, kinds []event.Outcome, status event.Status, reason, warning string) {
		t.Helper()
		run, requests := steady(streams)
		for i, kind := range kinds {
			requests = append(requests, failedRequest(int32(i), 2000, kind))
		}
		c := summarize(t, run, requests).Decode[0]
		checkStatus(t, c, status, reason)
		isCount(t, "failed requests", c.FailedRequests, len(kinds))
		if got := ids(c.Warnings)["failed-streams"]; got != warning {
			t.Errorf("warning %q, want %q", got, warning)
		}
	}
	check(1, nil, event.Valid, "", "")
	check(1, []event.Outcome{event.Reset}, event.Valid, "", "1 of 2 requests failed and were replaced: 1 reset.")
	check(1, []event.Outcome{event.Reset, event.Reset}, event.Failed, "2 of 3 requests failed: 2 reset", "")
	// 2 of 200 are 1 %, not above it; 2 of 199 are above.
	two := []event.Outcome{event.Stalled, event.Reset}
	check(198, two, event.Valid, "", "2 of 200 requests failed and were replaced: 1 reset, 1 stalled.")
	check(197, two, event.Failed, "2 of 199 requests failed: 1 reset, 1 stalled", "")
}

// TestFailuresAfterTheWindow: nothing of the probe phase counts but its TTFTs.
func TestFailuresAfterTheWindow(t *testing.T) {
	run, requests := steady(1)
	probe := failedRequest(0, 3500, event.Reset)
	probe.Stage = event.Probe
	late := failedRequest(0, 2000, event.Reset)
	late.EndUS = ptr(1001 * ms) // 3.001 s
	c := summarize(t, run, append(requests, probe, late)).Decode[0]
	checkStatus(t, c, event.Valid, "")
	isCount(t, "failed", c.FailedRequests, 0)
	if got := ids(c.Warnings)["failed-after-window"]; !strings.HasPrefix(got, "2 requests failed after") {
		t.Errorf("warning %q", got)
	}
}

// TestQueued: of 16 streams, 9 run. Seven wait all the time.
func TestQueued(t *testing.T) {
	run, requests := steady(9)
	run.Cells[0].Concurrency, run.Cells[0].Passes[0].Stop = 16, event.StopQueued
	for i := range int32(7) {
		requests = append(requests, event.Request{Stream: 9 + i, Stage: event.Warmup, EndUS: ptr(4000 * ms), Outcome: event.Stopped})
	}
	out := summarize(t, run, requests)
	c := out.Decode[0]
	checkStatus(t, c, event.Queued, "the server ran 9 of 16 requests at once")
	if c.RanRequests != 9 {
		t.Errorf("ran %v requests, want 9", c.RanRequests)
	}
	is(t, "total tok/s", c.TokS, 900)
	if c.ScalingEfficiency != nil {
		t.Error("a queued cell has a scaling efficiency")
	}
	if got := ids(c.Warnings); got["short-window"] != "" || got["fewer-active"] != "" {
		t.Errorf("a queued cell warns of what its status says: %v", got)
	}
	// Close to all: a whole number would read "16 of 16".
	run, requests = steady(16)
	run.Cells[0].Passes[0].Stop = event.StopQueued
	requests[0].ChunkUS, requests[0].ChunkTokens, requests[0].EndUS = requests[0].ChunkUS[:196], requests[0].ChunkTokens[:196], ptr(2000*ms)
	checkStatus(t, summarize(t, run, requests).Decode[0], event.Queued, "the server ran 15.50 of 16 requests at once")
}

// TestFewerActive: half of the streams are active, and nobody called the cell queued.
func TestFewerActive(t *testing.T) {
	run, requests := steady(4)
	run.Cells[0].Concurrency = 8
	c := summarize(t, run, requests).Decode[0]
	if got := ids(c.Warnings)["fewer-active"]; got != "On average 4.0 of 8 requests were active." {
		t.Errorf("warning %q", got)
	}
}

func TestClientBound(t *testing.T) {
	sample := func(name string, atMS int64, v float64) event.Sample {
		return event.Sample{AtUS: atMS * ms, Source: event.SourceClient, Metric: name, Value: v}
	}
	check := func(name string, clock event.Clock, calibration []event.Calibration, reason string, samples ...event.Sample) {
		t.Helper()
		run, requests := steady(2)
		run.Calibration = calibration
		for i := range requests {
			requests[i].Clock = clock
		}
		c := summarize(t, run, requests, samples...).Decode[0]
		status := event.ClientBound
		if reason == "" {
			status = event.Valid
		}
		if c.Status != status || c.Reason != reason {
			t.Errorf("%s: %s because %q, want %s because %q", name, c.Status, c.Reason, status, reason)
		}
	}
	cpu, merged, lag := event.MetricCPUShare, event.MetricMergedShare, event.MetricLagP99
	calibrated := []event.Calibration{{Streams: 1, MergedShare: 0.5}, {Streams: 2, MergedShare: 0.1}, {Streams: 64, MergedShare: 0.6}}

	check("85 % of the cores is sound", event.Kernel, nil, "", sample(cpu, 2000, 0.85))
	check("mean of 80 and 92 %", event.Kernel, nil, "the client used 86.0 % of the cores it may use (up to 85 % is sound)",
		sample(cpu, 2000, 0.80), sample(cpu, 3000, 0.92))
	check("outside of the window", event.Kernel, nil, "", sample(cpu, 1000, 1), sample(cpu, 3001, 1))
	check("5 % merged", event.Kernel, nil, "", sample(merged, 2000, 0.05))
	check("6 % merged", event.Kernel, nil, "6.0 % of the client's reads merged arrivals of one stream, 0.0 % in calibration (up to 5 % more is sound)",
		sample(merged, 2000, 0.06))
	check("14 % merged where calibration had 10 %", event.Kernel, calibrated, "", sample(merged, 2000, 0.14))
	check("16 % merged where calibration had 10 %", event.Kernel, calibrated,
		"16.0 % of the client's reads merged arrivals of one stream, 10.0 % in calibration (up to 5 % more is sound)", sample(merged, 2000, 0.16))
	check("lag does not matter with kernel stamps", event.Kernel, nil, "", sample(lag, 2000, 1e6))
	// Time between tokens is 10 ms, a tenth of it 1 ms.
	check("1 ms of lag", event.Process, nil, "", sample(lag, 2000, 1000))
	check("1.1 ms of lag", event.Process, nil, "the client's reads lagged by 1.1 ms in the 99th percentile (up to 1.0 ms is sound)",
		sample(lag, 2000, 1100))
	check("one bad second of three", event.Process, nil, "", sample(lag, 1500, 100), sample(lag, 2000, 9000), sample(lag, 2500, 200))
	check("CPU does not matter with process stamps", event.Process, nil, "", sample(cpu, 2000, 1))
}

// TestServersGauge: two engines that share the load, sampled twice within the window: (3 + 4) / 2 + (1 + 2) / 2 = 5.
func TestServersGauge(t *testing.T) {
	run, requests := steady(5)
	sample := func(labels string, atMS int64, v float64) event.Sample {
		return event.Sample{AtUS: atMS * ms, Source: event.SourceServer, Metric: event.MetricRunning, Labels: labels, Value: v}
	}
	c := summarize(t, run, requests, sample("engine=0", 500, 99), sample("engine=0", 1500, 3), sample("engine=1", 1500, 1),
		sample("engine=0", 2500, 4), sample("engine=1", 2500, 2)).Decode[0]
	is(t, "server's gauge", c.ServerActive, 5)
}

// TestStoredStatuses: what measure alone knows is kept, and nothing is made up beside it.
func TestStoredStatuses(t *testing.T) {
	for _, status := range []event.Status{event.OverCapacity, event.OverLength, event.Unready, event.Skipped, event.NotRun} {
		run, requests := steady(2)
		run.Cells[0].Status, run.Cells[0].Reason, run.Cells[0].NeededTokens = status, "because", 49152
		run.Capacity.Tokens = ptr(int64(40000))
		c := summarize(t, run, requests).Decode[0]
		checkStatus(t, c, status, "because")
		if c.TokS != nil || c.TTFTMS != nil || c.OutputTokens != nil || c.CompletedRequests != nil || c.FailedRequests != nil || len(c.Warnings) != 0 {
			t.Errorf("%s has figures: %+v", status, c)
		}
		if c.NeededTokens != 49152 || *c.CapacityTokens != 40000 {
			t.Errorf("%s has lost what was needed", status)
		}
	}
	// A file that calls itself valid is not believed: the status follows from the events.
	run, requests := steady(2)
	run.Cells[0].Status = event.Valid
	requests = append(requests, failedRequest(0, 2000, event.Reset), failedRequest(1, 2000, event.Reset))
	checkStatus(t, summarize(t, run, requests).Decode[0], event.Failed, "2 of 4 requests failed: 2 reset")
}

func TestCellsWithoutFigures(t *testing.T) {
	check := func(name string, change func(*event.Run, *[]event.Request), status event.Status, reason string) {
		t.Helper()
		run, requests := steady(2)
		change(&run, &requests)
		c := summarize(t, run, requests).Decode[0]
		if c.Status != status || c.Reason != reason {
			t.Errorf("%s: %s because %q, want %s because %q", name, c.Status, c.Reason, status, reason)
		}
	}
	check("no pass", func(r *event.Run, _ *[]event.Request) { r.Cells[0].Passes = nil }, event.NotRun, "the run stopped before this cell")
	check("interrupted before the window", func(r *event.Run, _ *[]event.Request) {
		r.Cells[0].Passes[0] = event.Pass{Stop: event.StopInterrupted}
	}, event.NotRun, "the run was interrupted before this cell's window had been measured")
	check("no window", func(r *event.Run, _ *[]event.Request) { r.Cells[0].Passes[0].WindowEndUS = 1000 * ms }, event.Failed, "no measured window is recorded")
	check("no token", func(_ *event.Run, rs *[]event.Request) { *rs = nil }, event.Failed, "no token arrived within the window")
	check("given up", func(r *event.Run, _ *[]event.Request) { r.Cells[0].Passes[0].Stop = event.StopFailed }, event.Failed, "its streams failed to go on")
}

func TestPrefillWithoutFigures(t *testing.T) {
	check := func(name string, requests []event.Request, stop event.Stop, status event.Status, reason string) {
		t.Helper()
		run := event.Run{State: event.Complete, Cells: []event.Cell{
			{Phase: event.Prefill, Context: 8192, Concurrency: 1, Passes: []event.Pass{{WindowEndUS: 5000 * ms, Stop: stop}}},
		}}
		c := summarize(t, run, requests).Prefill[0]
		if c.Status != status || c.Reason != reason || c.TokS != nil || c.TTFTMS != nil {
			t.Errorf("%s: %s because %q, want %s because %q", name, c.Status, c.Reason, status, reason)
		}
	}
	void := requestOf(0, 0, event.InWindow, 0, 10, 1, 1)
	void.Void = true
	check("all void", []event.Request{void, void}, event.StopDone, event.Failed,
		"none of 2 samples was cold: the server took their prompts from its cache")
	check("one that failed", []event.Request{failedRequest(0, 0, event.BadRequest)}, event.StopDone, event.Failed, "1 of 1 requests failed: 1 bad-request")
	check("nothing", nil, event.StopDone, event.Failed, "no sample is recorded")
	check("interrupted", nil, event.StopInterrupted, event.NotRun, "the run was interrupted before this row had a sample")
	// No usage: no rate, but a TTFT.
	run := event.Run{State: event.Complete, Cells: []event.Cell{
		{Phase: event.Prefill, Context: 8192, Concurrency: 1, Passes: []event.Pass{{WindowEndUS: 5000 * ms}}},
	}}
	bare := requestOf(0, 0, event.InWindow, 0, 10, 1, 1)
	bare.PromptTokens, bare.CachedTokens = nil, nil
	c := summarize(t, run, []event.Request{bare}).Prefill[0]
	checkStatus(t, c, event.Valid, "")
	is(t, "TTFT", c.TTFTMS, 10)
	if got := ids(c.Warnings); c.TokS != nil || got["no-prompt-count"] == "" || got["few-samples"] != "The row rests on 1 cold sample; 3 are wanted." {
		t.Errorf("rate %v, warnings %v", show(c.TokS), got)
	}
}

// TestWarnings makes each warning that a decode cell or a run can have.
func TestWarnings(t *testing.T) {
	run, requests := steady(4)
	run.Cells[0].Concurrency, run.Cells[0].Context, run.Cells[0].Passes[0].Stop = 6, 8000, event.StopInterrupted
	run.State, run.Method.AllowBusy, run.Method.Resumed = event.Interrupted, true, 1
	run.Method.Dropped = []string{"ignore_eos", "min_tokens"}
	run.Model = event.Facts{"revision": "main"}
	requests[0].TokenSource, requests[1].TokenSource, requests[2].TokenSource = event.ByChunks, event.UnknownTokens, event.UsageFinal
	requests[0].Looped, requests[1].Clock = true, event.Process
	requests[2].AskedTokens, requests[2].FinishReason, requests[2].Outcome = 4096, ptr("stop"), event.OK
	for i := 1; i < 300; i += 2 { // a proxy that sends two at a time
		requests[2].ChunkUS[i] = requests[2].ChunkUS[i-1]
		requests[3].ChunkUS[i] = requests[3].ChunkUS[i-1]
	}
	requests[3].ChunkUS, requests[3].ChunkTokens = requests[3].ChunkUS[:190], requests[3].ChunkTokens[:190]
	requests = append(requests, failedRequest(5, 2000, event.Stalled), failedRequest(5, 3100, event.Stalled), requestOf(0, 0, event.InWindow, 2500, 50, 10, 100))
	out := summarize(t, run, requests)
	got := ids(out.Decode[0].Warnings)
	for id, want := range map[metric.WarningID]string{
		metric.FewRestarts:     "TTFT rests on 1 restart; 6 or more are wanted.",
		metric.PromptOff:       "Prompts had 8192 tokens where 8000 were aimed at (2.4 % off; up to 0.5 % is wanted).",
		metric.ShortWindow:     "3 of 6 streams brought fewer than 100 tokens within the window, the slowest 0: the rate may be off by up to one step.",
		metric.FewerActive:     "On average 4.2 of 6 requests were active.",
		metric.TokensEstimated: "The tokens of 2 of 5 requests are an estimate: the server did not count them.",
		metric.MixedSources:    "Tokens were counted in more than one way: usage-per-chunk in 2, usage-final in 1, unknown in 1, chunks in 1.",
		metric.Looped:          "1 of 7 requests fell into exact repetition; speculation and caches make such text faster than real text.",
		metric.EarlyStops:      "1 of 7 requests ended before the length asked for; their streams started again at once.",
		metric.FailedStreams:   "1 of 7 requests failed and were replaced: 1 stalled.",
		metric.FailedAfter:     "1 request failed after the window; no figure but TTFT comes from that time.",
		metric.ProcessClock:    "Arrivals were stamped when this program read them, not by the kernel.",
		metric.CellInterrupted: "The run was interrupted in this cell; its window is shorter than asked.",
	} {
		if got[string(id)] != want {
			t.Errorf("%s: %q, want %q", id, got[string(id)], want)
		}
		delete(got, string(id))
	}
	for _, id := range []metric.WarningID{metric.SharedArrivals, metric.Drift} {
		if got[string(id)] == "" {
			t.Errorf("no warning %s", id)
		}
		delete(got, string(id))
	}
	if len(got) > 0 {
		t.Errorf("further warnings: %v", got)
	}
	whole := ids(out.Warnings)
	for id, want := range map[metric.WarningID]string{
		metric.Unpinned:       `The model's revision "main" is a name that can move, not a commit: the same run may measure other weights later.`,
		metric.AllowBusy:      "The server was not idle when the run began; someone else's load may be in the figures.",
		metric.DroppedFields:  "The server refused these optional request fields, which were left out: ignore_eos, min_tokens.",
		metric.RunInterrupted: "The run was interrupted; cells that it did not reach are marked.",
		metric.Resumed:        "The run was taken up again 1 time; the server may have changed in between.",
	} {
		if whole[string(id)] != want {
			t.Errorf("%s: %q, want %q", id, whole[string(id)], want)
		}
	}
}

// TestNoWarnings: a cell that is as it should be has none.
func TestNoWarnings(t *testing.T) {
	run, requests := steady(4)
	run.Model = event.Facts{"revision": "5f0b02c75b57c5855da9ae460ce51323ea669d8a"}
	out := summarize(t, run, requests)
	if len(out.Warnings) != 0 || len(out.Decode[0].Warnings) != 0 {
		t.Errorf("warnings %v, %v", out.Warnings, out.Decode[0].Warnings)
	}
	// Final usage with cut streams is one way of counting: an estimate, not a mixture.
	requests[0].TokenSource, requests[1].TokenSource, requests[2].TokenSource, requests[3].TokenSource =
		event.UsageFinal, event.UnknownTokens, event.UnknownTokens, event.UnknownTokens
	c := summarize(t, run, requests).Decode[0]
	if got := ids(c.Warnings); len(got) != 1 || got["tokens-estimated"] == "" || c.TokenSource != event.UnknownTokens {
		t.Errorf("warnings %v, source %s", got, c.TokenSource)
	}
}

func TestTitle(t *testing.T) {
	check := func(model, hardware, engine event.Facts, want string) {
		t.Helper()
		run := event.Run{Model: model, Hardware: hardware, Engine: engine}
		if got := summarize(t, run, nil).Title; got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
	type f = event.Facts
	gpu := f{"gpu": "RTX PRO 6000 Blackwell Server Edition", "vram_gb": int64(96), "gpu_count": int64(1)}
	check(f{"id": "google/gemma-4-E2B-it", "served": "gemma"}, gpu, nil, "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB")
	check(f{"id": "google/gemma-4-E2B-it"}, gpu, f{"simulated": true},
		"Simulated engine: gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB")
	check(f{"served": "tiny"}, f{"gpu": "Simulated engine (profile tiny)"}, f{"simulated": true}, "tiny on Simulated engine (profile tiny)")
	check(f{"served": "gemma"}, f{"gpu": "H100", "gpu_count": int64(8), "vram_gb": 79.6}, nil, "gemma on 8 x H100 79.6GB")
	check(f{"served": "tiny"}, f{"cpu": "EPYC 9654"}, nil, "tiny on EPYC 9654")
	check(nil, nil, nil, "unknown model")
	check(f{"id": "a\x00b\n/c\td\u202e  e/"}, f{"gpu": int64(3), "vram_gb": "x"}, nil, "c d e")
	check(f{"id": strings.Repeat("é", 500)}, nil, nil, strings.Repeat("é", 119)+"…")
}
