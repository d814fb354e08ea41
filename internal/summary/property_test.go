package summary_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
	"speedmatrix/internal/summary"
)

// smallRun is a synthetic run of a few cells, with single and with several tokens a chunk.
func smallRun(seed uint64) (event.Run, []event.Request, []event.Sample) {
	return synthetic([]shape{{8192, 1, 20_000, 1}, {8192, 4, 31_000, 1}, {8192, 16, 170_000, 3}, {65536, 3, 9_000, 2}}, 12, 300, seed)
}

// TestInvariants: what holds for any run.
func TestInvariants(t *testing.T) {
	for seed := range uint64(5) {
		run, requests, samples := smallRun(seed)
		out := summarize(t, run, requests, samples...)
		for i := range out.Decode {
			c := &out.Decode[i]
			if c.Status != event.Valid {
				t.Fatalf("cell %d is %s because %q", c.Index, c.Status, c.Reason)
			}
			wholeIsSumOfParts(t, c, requests, run.Cells[c.Index].Passes[0])
			for name, d := range map[string]summary.Distribution{
				"TTFT": c.TTFT, "between tokens": c.BetweenTokens, "between chunks": c.BetweenChunks, "end to end": c.EndToEnd,
			} {
				ordered(t, name, d)
			}
			if *c.ActiveRequests > float64(c.Concurrency)+1e-9 {
				t.Errorf("%v of %d requests active", *c.ActiveRequests, c.Concurrency)
			}
			if c.TokSInterval == nil || c.TokSInterval.Low > *c.TokS || c.TokSInterval.High < *c.TokS {
				t.Errorf("interval %+v does not hold the rate %v", c.TokSInterval, *c.TokS)
			}
			if alone := c.Context == 8192; (c.ScalingEfficiency != nil) != alone || alone && *c.ScalingEfficiency <= 0 {
				t.Errorf("scaling %v at %d", show(c.ScalingEfficiency), c.Context)
			}
		}
	}
}

// wholeIsSumOfParts: the bins within the window add up to its tokens (the window is a multiple of the bins), none is below and the
// peak is not below the average.
func wholeIsSumOfParts(t *testing.T, c *summary.Cell, requests []event.Request, p event.Pass) {
	t.Helper()
	w := metric.Window{StartUS: p.WindowStartUS, EndUS: p.WindowEndUS}
	var tokens int64
	var gaps []int64
	for i := range requests {
		if r := &requests[i]; int(r.Cell) == c.Index {
			tokens += metric.TokensIn(r, w)
			gaps = metric.ChunkGaps(gaps, r, w)
		}
	}
	isCount(t, "output tokens", c.OutputTokens, tokens)
	is(t, "rate", c.TokS, float64(tokens)/w.Seconds())
	line := c.Timeline
	first, last := (line.WindowStartUS-line.StartUS)/line.BinUS, (line.WindowEndUS-line.StartUS)/line.BinUS
	var sum, peak float64
	for _, rate := range line.TokS[first:last] {
		sum += rate * float64(line.BinUS) / 1e6
		peak = max(peak, rate)
	}
	if math.Abs(sum-float64(tokens)) > 1e-6 || peak < *c.TokS {
		t.Errorf("bins add up to %v of %d tokens; peak %v, average %v", sum, tokens, peak, *c.TokS)
	}
	// Counting in bins must agree with sorting.
	values := make([]float64, len(gaps))
	for i, gap := range gaps {
		values[i] = float64(gap) / 1000
	}
	if c.BetweenChunks.N != len(values) {
		t.Fatalf("%d gaps, want %d", c.BetweenChunks.N, len(values))
	}
	for k, got := range c.BetweenChunks.Quantiles {
		if want, _ := stat.Quantile(values, float64(k)/100); math.Abs(got-want) > 1e-9 {
			t.Fatalf("quantile %d of the gaps is %v, want %v", k, got, want)
		}
	}
}

func ordered(t *testing.T, name string, d summary.Distribution) {
	t.Helper()
	if d.N == 0 {
		if d.Median != nil || d.Min != nil || d.Max != nil || d.Quantiles != nil {
			t.Errorf("%s of nothing is %+v", name, d)
		}
		return
	}
	if len(d.Quantiles) != 101 || !slices.IsSorted(d.Quantiles) || *d.Min > *d.Median || *d.Median > *d.Max ||
		d.Quantiles[0] != *d.Min || d.Quantiles[50] != *d.Median || d.Quantiles[100] != *d.Max {
		t.Errorf("%s is out of order: %+v", name, d)
	}
	if (d.P90 != nil) != (d.N >= 10) || (d.P99 != nil) != (d.N >= 100) {
		t.Errorf("%s has p90 %v and p99 %v with n = %d", name, d.P90, d.P99, d.N)
	}
}

// TestOrderOfRowsDoesNotMatter: shuffled rows give the same run, and nothing given is changed.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	run, requests, samples := smallRun(9)
	want := summarize(t, run, requests, samples...)
	random := rand.New(rand.NewPCG(5, 6))
	random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	random.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
	before := slices.Clone(requests)
	if got := summarize(t, run, requests, samples...); !reflect.DeepEqual(got, want) {
		t.Error("shuffled rows give another run")
	}
	if !reflect.DeepEqual(requests, before) {
		t.Error("the requests were changed")
	}
}

// TestShiftedRun: moving all instants moves nothing but the instants of timeline and strip.
func TestShiftedRun(t *testing.T) {
	run, requests, samples := smallRun(2)
	want := summarize(t, run, requests, samples...)
	const by = 12_345_678
	for i := range requests {
		requests[i].StartUS += by
	}
	for i := range samples {
		samples[i].AtUS += by
	}
	for i := range run.Cells {
		run.Cells[i].Passes = slices.Clone(run.Cells[i].Passes)
		run.Cells[i].Passes[0].WindowStartUS += by
		run.Cells[i].Passes[0].WindowEndUS += by
	}
	got := summarize(t, run, requests, samples...)
	for i := range got.Decode {
		a, b := got.Decode[i], want.Decode[i]
		if a.Timeline.StartUS != b.Timeline.StartUS+by || !slices.Equal(a.Timeline.TokS, b.Timeline.TokS) {
			t.Errorf("cell %d: the timeline did not move along", i)
		}
		a.Timeline, b.Timeline, a.Strip, b.Strip = nil, nil, nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Errorf("cell %d: %+v, want %+v", i, a, b)
		}
	}
}

// TestLongGaps: gaps beyond the counted range are exact too, alone and beside short ones.
func TestLongGaps(t *testing.T) {
	run := togetherRun(decodeCell(1, pass(0, 0, 100_000)))
	r := requestOf(0, 0, event.Warmup, 0, 0, 0, 0)
	for _, at := range []int64{1000, 1131, 1262, 21_262, 21_262, 51_262} { // gaps 131, 131, 20,000, 0 and 30,000 ms
		r.ChunkUS = append(r.ChunkUS, at*ms)
		r.ChunkTokens = append(r.ChunkTokens, 1)
	}
	c := summarize(t, run, []event.Request{r}).Decode[0]
	is(t, "median", c.BetweenChunks.Median, 131)
	is(t, "75 %", &c.BetweenChunks.Quantiles[75], 20_000)
	is(t, "longest", c.BetweenChunks.Max, 30_000)
	is(t, "shortest", c.BetweenChunks.Min, 0)
}

// TestLongCell: a window of hours has wider bins, not more.
func TestLongCell(t *testing.T) {
	run := togetherRun(decodeCell(1, pass(0, 1000, 7_201_000)))
	c := summarize(t, run, []event.Request{requestOf(0, 0, event.Warmup, 0, 500, 1000, 7200)}).Decode[0]
	if n := len(c.Timeline.TokS); n > 80 || c.Timeline.BinUS != 128_000_000 {
		t.Errorf("%d bins of %d µs", n, c.Timeline.BinUS)
	}
}

// TestStripIsBounded: 600 streams are more than a strip shows.
func TestStripIsBounded(t *testing.T) {
	run, requests := steady(600)
	c := summarize(t, run, requests).Decode[0]
	if len(c.Strip) != 512 || c.Strip[511].Stream != 511 {
		t.Errorf("%d spans", len(c.Strip))
	}
}

func TestRefused(t *testing.T) {
	check := func(want string, change func(*event.Run, []event.Request)) {
		t.Helper()
		run, requests := steady(2)
		change(&run, requests)
		_, err := summary.Summarize(run, requests, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	check(`request 1: cell 7 does not exist: the run has 1`, func(_ *event.Run, rs []event.Request) { rs[1].Cell = 7 })
	check(`request 0: cell -1 does not exist`, func(_ *event.Run, rs []event.Request) { rs[0].Cell = -1 })
	check(`must not be negative`, func(_ *event.Run, rs []event.Request) { rs[0].Stream = -1 })
	check(`unknown stage "x"`, func(_ *event.Run, rs []event.Request) { rs[0].Stage = "x" })
	check(`outcome "x"`, func(_ *event.Run, rs []event.Request) { rs[0].Outcome = "x" })
	check(`an instant is out of range`, func(_ *event.Run, rs []event.Request) { rs[0].StartUS = -1 })
	check(`an instant is out of range`, func(_ *event.Run, rs []event.Request) { rs[0].EndUS = ptr(int64(math.MaxInt64)) })
	check(`300 arrivals and 299 token counts`, func(_ *event.Run, rs []event.Request) { rs[0].ChunkTokens = rs[0].ChunkTokens[1:] })
	check(`arrivals go backwards`, func(_ *event.Run, rs []event.Request) { rs[0].ChunkUS[5] = 1 })
	check(`arrivals go backwards`, func(_ *event.Run, rs []event.Request) { rs[0].ChunkUS[0] = -1 })
	check(`token count is negative`, func(_ *event.Run, rs []event.Request) { rs[0].ChunkTokens[299] = -1 })
	check(`out of range`, func(_ *event.Run, rs []event.Request) { rs[0].ChunkUS[299] = math.MaxInt64 })
	check(`unknown phase "x"`, func(r *event.Run, _ []event.Request) { r.Cells[0].Phase = "x" })
	check(`unknown status "x"`, func(r *event.Run, _ []event.Request) { r.Cells[0].Status = "x" })
	check(`concurrency 0`, func(r *event.Run, _ []event.Request) { r.Cells[0].Concurrency = 0 })
	check(`repeat 0 is negative or stands twice`, func(r *event.Run, _ []event.Request) {
		r.Cells[0].Passes = slices.Repeat(r.Cells[0].Passes, 2)
	})
	check(`window (-1, 5] is out of range`, func(r *event.Run, _ []event.Request) {
		r.Cells[0].Passes[0] = event.Pass{WindowStartUS: -1, WindowEndUS: 5}
	})
	// All at once, but not without end.
	run, requests := steady(100)
	for i := range requests {
		requests[i].Cell = 1
	}
	_, err := summary.Summarize(run, requests, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "and 92 more problems") {
		t.Errorf("error %v", err)
	}
}

// TestHostileSamples: samples that make no sense are left out.
func TestHostileSamples(t *testing.T) {
	run, requests := steady(2)
	var samples []event.Sample
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		for _, cell := range []int32{0, -1, 1, math.MaxInt32, math.MinInt32} {
			for _, name := range []string{event.MetricRunning, event.MetricCPUShare, event.MetricLagP99, event.MetricMergedShare, "x"} {
				samples = append(samples, event.Sample{AtUS: 2000 * ms, Cell: cell, Source: event.SourceClient, Metric: name, Value: v},
					event.Sample{AtUS: math.MinInt64, Cell: cell, Repeat: -1, Source: event.SourceServer, Metric: name, Value: 1})
			}
		}
	}
	samples = append(samples, event.Sample{AtUS: 2000 * ms, Source: event.SourceServer, Metric: event.MetricRunning, Value: math.MaxFloat64},
		event.Sample{AtUS: 2000 * ms, Source: event.SourceServer, Metric: event.MetricRunning, Value: math.MaxFloat64})
	c := summarize(t, run, requests, samples...).Decode[0]
	if c.Status != event.Valid || c.ServerActive != nil {
		t.Errorf("status %s, server's gauge %v", c.Status, show(c.ServerActive))
	}
}
