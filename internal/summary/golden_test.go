package summary_test

import (
	"math"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

const ms = int64(1000) // microseconds

// requestOf makes a request whose first token comes firstMS after its start and the next every stepMS, n in all, one token
// a chunk, cut by us at the last; the server counts 8,192 prompt tokens, all cached.
func requestOf(cell, stream int32, stage event.Stage, startMS, firstMS, stepMS int64, n int) event.Request {
	r := event.Request{
		Cell: cell, Stream: stream, Stage: stage, StartUS: startMS * ms, Clock: event.Kernel, AskedTokens: int32(n),
		PromptTokens: ptr(int32(8192)), CachedTokens: ptr(int32(8192)), TokenSource: event.UsagePerChunk, Outcome: event.Stopped,
	}
	for i := range int64(n) {
		r.ChunkUS = append(r.ChunkUS, (firstMS+i*stepMS)*ms)
		r.ChunkTokens = append(r.ChunkTokens, 1)
	}
	r.EndUS = ptr((firstMS + int64(n-1)*stepMS) * ms)
	return r
}

// finished makes the server the one that ended the request.
func finished(r event.Request) event.Request {
	r.Outcome, r.FinishReason = event.OK, ptr("length")
	return r
}

func decodeCell(concurrency int, passes ...event.Pass) event.Cell {
	return event.Cell{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: concurrency, Passes: passes}
}

func pass(repeat int, fromMS, toMS int64) event.Pass {
	return event.Pass{Repeat: repeat, WindowStartUS: fromMS * ms, WindowEndUS: toMS * ms, Stop: event.StopDone}
}

func summarize(t *testing.T, run event.Run, requests []event.Request, samples ...event.Sample) summary.Run {
	t.Helper()
	out, err := summary.Summarize(run, requests, samples)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// is reports a number that is not the one computed by hand.
func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s = %s, want %v", what, show(got), want)
	}
}

func isCount[T int | int64](t *testing.T, what string, got *T, want T) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s = %s, want %d", what, show(got), want)
	}
}

func show[T any](v *T) any {
	if v == nil {
		return "none"
	}
	return *v
}

// ids returns the ids of warnings.
func ids(warnings []summary.Warning) map[string]string {
	out := map[string]string{}
	for _, w := range warnings {
		out[w.ID] = w.Text
	}
	return out
}

// TestGoldenPrefill: three cold samples of 8,200 tokens, one of 300 tokens cached, and a void one that does not count.
//
//	TTFT 200 ms: 8,200 / 0.2 = 41,000 tok/s
//	TTFT 250 ms: 8,200 / 0.25 = 32,800 tok/s: the median
//	TTFT 300 ms, 100 cached: 8,100 / 0.3 = 27,000 tok/s
//
// 8,200 is 0.1 % more than 8,192: within bounds. 100 of 8,200 are 1.2 %, above the 1 % that a cold prompt may have cached.
func TestGoldenPrefill(t *testing.T) {
	run := event.Run{State: event.Complete, Cells: []event.Cell{
		{Phase: event.Prefill, Context: 8192, Label: "8K", Concurrency: 1, Passes: []event.Pass{pass(0, 0, 5000)}},
	}}
	sample := func(ordinal int32, startMS, ttftMS int64, cached int32) event.Request {
		r := finished(requestOf(0, 0, event.InWindow, startMS, ttftMS, 1, 1))
		r.Ordinal, r.PromptTokens, r.CachedTokens = ordinal, ptr(int32(8200)), ptr(cached)
		return r
	}
	void := sample(3, 3000, 20, 8000)
	void.Void = true
	out := summarize(t, run, []event.Request{sample(0, 0, 200, 0), sample(1, 1000, 250, 0), sample(2, 2000, 300, 100), void})
	if len(out.Prefill) != 1 || len(out.Decode) != 0 {
		t.Fatalf("%d prefill rows and %d decode cells", len(out.Prefill), len(out.Decode))
	}
	c := out.Prefill[0]
	if c.Status != event.Valid || c.TTFTKind != summary.Cold || c.Samples != 3 {
		t.Errorf("status %s, kind %s, %d samples, want valid, cold, 3", c.Status, c.TTFTKind, c.Samples)
	}
	is(t, "tok/s", c.TokS, 32800)
	is(t, "TTFT", c.TTFTMS, 250)
	is(t, "TTFT at the 25th percentile", &c.TTFT.Quantiles[25], 225)
	isCount(t, "completed", c.CompletedRequests, 3)
	isCount(t, "prompt tokens", c.PromptTokens, 8200)
	isCount(t, "cached tokens", c.CachedTokens, 0)
	if c.OutputTokens != nil || c.MeasuredS != nil || c.BetweenTokensMS != nil || c.ActiveRequests != nil || c.TokSInterval != nil {
		t.Error("a prefill row has figures of a decode cell")
	}
	got := ids(c.Warnings)
	if len(got) != 2 || got["void-samples"] == "" || got["cold-cached"] != "The server took up to 100 tokens of a cold prompt from its cache." {
		t.Errorf("warnings are %v", got)
	}
}

// oneStream is a cell of one stream under --start together, window (10 s, 12 s]:
//
//	request 0, warm-up: start 8.0 s, tokens at 8.1, 8.2 … 10.6 s (26), ended by the server
//	request 1, window:  start 10.7 s, tokens at 10.9, 11.0 … 12.5 s (17), cut by us
func oneStream(cell int32) []event.Request {
	second := requestOf(cell, 0, event.InWindow, 10_700, 200, 100, 17)
	second.Ordinal = 1
	return []event.Request{finished(requestOf(cell, 0, event.Warmup, 8000, 100, 100, 26)), second}
}

func togetherRun(cells ...event.Cell) event.Run {
	return event.Run{State: event.Complete, Seed: 1, Cells: cells,
		Method: event.Method{Start: event.Together, Prompts: event.PerStream}}
}

// TestGoldenDecode: the cell of oneStream.
//
//	in the window: 10.1 … 10.6 s (6; 10.0 s is outside) and 10.9 … 12.0 s (12): 18 tokens in 2 s, 9 tok/s
//	time between tokens: 500 ms / 5 and 1,100 ms / 11, both 100 ms; 10 tok/s a request
//	active: 10.0 to 10.6 s and 10.9 to 12.0 s: 1.7 of 2 s
//	whole cell: 26 + 12 tokens from 8.0 s to 12.0 s: 9.5 tok/s
//	end to end: 10.6 - 8.0 s, of the one request that completed
//	halves: (10 s, 11 s] has 6 + 2, (11 s, 12 s] has 10 tokens: 2 / 9 more
//	TTFT: the start took 100 ms, the one restart 200 ms
func TestGoldenDecode(t *testing.T) {
	out := summarize(t, togetherRun(decodeCell(1, pass(0, 10_000, 12_000))), oneStream(0))
	c := out.Decode[0]
	if c.Status != event.Valid || c.Reason != "" {
		t.Errorf("status %s because %q", c.Status, c.Reason)
	}
	is(t, "total tok/s", c.TokS, 9)
	is(t, "per stream", c.PerStreamTokS, 9)
	is(t, "scaling", c.ScalingEfficiency, 1)
	isCount(t, "output tokens", c.OutputTokens, 18)
	is(t, "measured", c.MeasuredS, 2)
	is(t, "time between tokens", c.BetweenTokensMS, 100)
	is(t, "per request", c.PerRequestTokS, 10)
	is(t, "active", c.ActiveRequests, 0.85)
	is(t, "whole cell", c.WholeCellTokS, 9.5)
	is(t, "end to end", c.EndToEnd.Median, 2600)
	is(t, "tokens a chunk", c.TokensPerChunk, 1)
	isCount(t, "completed", c.CompletedRequests, 1)
	isCount(t, "failed", c.FailedRequests, 0)
	is(t, "TTFT", c.TTFTMS, 200)
	if c.TTFTKind != summary.Restart || c.TTFT.N != 1 || len(c.TTFTOther) != 1 || c.TTFTOther[0].Kind != summary.Start {
		t.Fatalf("TTFT is %s with n = %d, others %+v", c.TTFTKind, c.TTFT.N, c.TTFTOther)
	}
	is(t, "TTFT of the start", c.TTFTOther[0].Median, 100)
	if c.BetweenChunks.N != 16 || c.BetweenTokens.N != 2 || c.Samples != 2 || c.EndToEnd.N != 1 {
		t.Errorf("n: %d gaps, %d requests with a time between tokens, %d seen, %d ended; want 16, 2, 2, 1",
			c.BetweenChunks.N, c.BetweenTokens.N, c.Samples, c.EndToEnd.N)
	}
	is(t, "longest gap", c.BetweenChunks.Max, 100)
	if c.BetweenChunks.P90 == nil || c.BetweenChunks.P99 != nil || c.TTFT.P90 != nil {
		t.Error("p90 needs 10 values, p99 100")
	}
	if c.ServerActive != nil || c.TTFOMS != nil || c.TokSInterval != nil {
		t.Error("a figure exists that nothing was recorded for (2 blocks of a second have no interval)")
	}
	got := ids(c.Warnings)
	for id, text := range map[string]string{
		"few-restarts": "TTFT rests on 1 restart; 6 or more are wanted.",
		"short-window": "1 of 1 streams brought fewer than 100 tokens within the window, the slowest 18: the rate may be off by up to one step.",
		"drift":        "Output drifted within the window: its second half brought 22.2 % more than the first; up to 5 % is steady.",
	} {
		if got[id] != text {
			t.Errorf("warning %s is %q, want %q", id, got[id], text)
		}
	}
	if len(got) != 3 {
		t.Errorf("warnings are %v", got)
	}
	timelineOfOneStream(t, c.Timeline)
	stripOfOneStream(t, c.Strip)
}

// timelineOfOneStream: 8 bins of 250 ms from 8.0 s to the window's start and 10 from there to the last token at 12.5 s.
// 8.1 and 8.2 s are in the first bin; 10.5 s closes the bin (10.25 s, 10.5 s]: 10.3, 10.4, 10.5; (10.5 s, 10.75 s] has 10.6 s alone.
func timelineOfOneStream(t *testing.T, line *summary.Timeline) {
	t.Helper()
	if line == nil || line.BinUS != 250_000 || line.StartUS != 8_000_000 || len(line.TokS) != 18 ||
		line.WindowStartUS != 10_000_000 || line.WindowEndUS != 12_000_000 {
		t.Fatalf("timeline is %+v", line)
	}
	is(t, "first bin", &line.TokS[0], 2*4)
	is(t, "bin to 10.5 s", &line.TokS[9], 3*4)
	is(t, "bin to 10.75 s", &line.TokS[10], 1*4)
	var sum float64
	for _, rate := range line.TokS {
		sum += rate / 4
	}
	is(t, "tokens in all bins", &sum, 26+17)
}

func stripOfOneStream(t *testing.T, spans []summary.Span) {
	t.Helper()
	if len(spans) != 2 || spans[0].Tokens != 26 || spans[1].Tokens != 17 || spans[0].Outcome != event.OK || spans[1].Stage != event.InWindow {
		t.Fatalf("strip is %+v", spans)
	}
	isCount(t, "first token", spans[1].FirstUS, 10_900_000)
	isCount(t, "last token", spans[1].LastUS, 12_500_000)
	isCount(t, "end", spans[1].EndUS, 12_500_000)
}

// TestScaling: two streams of 8 and 10 tokens in (0 s, 1 s] are 18 tok/s, against 10 tok/s of one alone: 18 / (2 x 10) = 0.9.
// A third cell, at another context, has nothing to be compared with.
func TestScaling(t *testing.T) {
	far := decodeCell(2, pass(0, 0, 1000))
	far.Context = 16384
	run := togetherRun(decodeCell(1, pass(0, 0, 1000)), decodeCell(2, pass(0, 0, 1000)), far)
	out := summarize(t, run, []event.Request{
		requestOf(0, 0, event.Warmup, 0, 100, 100, 10),
		requestOf(1, 0, event.Warmup, 0, 100, 120, 8), requestOf(1, 1, event.Warmup, 0, 100, 100, 10),
		requestOf(2, 0, event.Warmup, 0, 100, 100, 10),
	})
	is(t, "one", out.Decode[0].ScalingEfficiency, 1)
	is(t, "two", out.Decode[1].ScalingEfficiency, 0.9)
	is(t, "two, per stream", out.Decode[1].PerStreamTokS, 9)
	if got := out.Decode[2].ScalingEfficiency; got != nil {
		t.Errorf("a row without a single request scales by %v", *got)
	}
}

// TestRepeats: one stream of 8, 10 and 12 tokens in windows of 1, 1 and 2 s.
//
//	rates 8, 10 and 6: mean 8, deviation 2; t(0.975, 2) = 4.303: 8 ± 4.303 x 2 / sqrt(3) = 8 ± 4.96868
//	30 tokens, 4 s
//	times between tokens, pooled: 120, 100 and 160 ms: median 120
//	active: 0.84, 0.9 and 1.76 of 4 s
func TestRepeats(t *testing.T) {
	var requests []event.Request
	for i, n := range []int{8, 10, 12} {
		r := requestOf(0, 0, event.Warmup, int64(i)*10_000, 100, []int64{120, 100, 160}[i], n)
		r.Repeat = int32(i)
		requests = append(requests, r)
	}
	run := togetherRun(decodeCell(1, pass(2, 20_000, 22_000), pass(0, 0, 1000), pass(1, 10_000, 11_000)))
	c := summarize(t, run, requests).Decode[0]
	is(t, "total tok/s", c.TokS, 8)
	isCount(t, "output tokens", c.OutputTokens, 30)
	is(t, "measured", c.MeasuredS, 4)
	is(t, "time between tokens", c.BetweenTokensMS, 120)
	is(t, "active", c.ActiveRequests, (0.84+0.9+1.76)/4)
	if c.TokSInterval == nil || c.TokSInterval.Repeats != 3 {
		t.Fatalf("interval is %+v", c.TokSInterval)
	}
	half := 4.303 * 2 / math.Sqrt(3)
	is(t, "low", &c.TokSInterval.Low, 8-half)
	is(t, "high", &c.TokSInterval.High, 8+half)
	if c.TTFT.N != 3 || c.TTFTKind != summary.Start {
		t.Errorf("TTFT is %s with n = %d", c.TTFTKind, c.TTFT.N)
	}
	if c.Timeline.WindowEndUS != 1_000_000 {
		t.Error("the timeline is not that of repeat 0")
	}
}

// TestIntervalWithinTheRun: a stream of exactly 10 tokens in each of 8 s has blocks that are all equal.
func TestIntervalWithinTheRun(t *testing.T) {
	run := togetherRun(decodeCell(1, pass(0, 0, 8000)))
	c := summarize(t, run, []event.Request{requestOf(0, 0, event.Warmup, 0, 50, 100, 80)}).Decode[0]
	if c.TokSInterval == nil || *c.TokSInterval != (summary.Interval{Low: 10, High: 10}) {
		t.Errorf("interval is %+v, want 10 to 10 within this run", c.TokSInterval)
	}
}
