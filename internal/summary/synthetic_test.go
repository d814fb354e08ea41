package summary_test

import (
	"fmt"
	"math/rand/v2"

	"speedmatrix/internal/event"
)

// This file makes synthetic runs: no server was measured. They have the size and shape of a real run, for benchmarks and for
// properties that hold for any run.

// shape is one decode cell of a synthetic run.
type shape struct {
	context, concurrency int
	stepUS               int64
	tokensAChunk         int32
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// seedShapes are 30 decode cells with concurrencies and step times as on the seed page; with 30 s a window they
// make 1.2 million tokens.
func seedShapes() []shape {
	steps := map[int][]int64{
		8192:   {6400, 6800, 6900, 6700, 6900, 8800, 11000, 16100},
		16384:  {7600, 7900, 8000, 7800, 8000, 10800, 14000},
		32768:  {10100, 10300, 10300, 10100, 10200, 15000},
		65536:  {14800, 14800, 14600, 14400, 14500},
		125952: {23600, 23200, 23100, 22600},
	}
	var out []shape
	for _, context := range []int{8192, 16384, 32768, 65536, 125952} {
		for i, us := range steps[context] {
			out = append(out, shape{context, 1 << i, us, 1})
		}
	}
	return out
}

// synthetic makes a run of a lock-step engine: each stream gets a chunk every step, with up to 3 % of noise on the step; first
// requests are staggered, a finished request is followed by the next at once, which takes 5 steps to its first token.
func synthetic(shapes []shape, seconds int64, output int64, seed uint64) (event.Run, []event.Request, []event.Sample) {
	run := event.Run{
		Schema: 1, ID: "synthetic", State: event.Complete, Seed: seed,
		Hardware: event.Facts{"gpu": "Synthetic GPU", "vram_gb": int64(96)}, Model: event.Facts{"id": "nobody/synthetic"},
		Method: event.Method{Prompts: event.PerStream, Start: event.Staggered, OutputTokens: int(output), DurationS: float64(seconds)},
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var requests []event.Request
	var samples []event.Sample
	at := int64(0)
	for _, context := range []int{8192, 16384, 32768, 65536, 125952, 131072} {
		index := int32(len(run.Cells))
		start := at
		for i := range int32(3) {
			ttft := int64(context)*30 + int64(i)*1000
			requests = append(requests, event.Request{
				Cell: index, Stream: 0, Ordinal: i, Stage: event.InWindow, StartUS: at, ChunkUS: []int64{ttft},
				ChunkTokens: []int32{1}, EndUS: ptr(ttft + 10), Clock: event.Kernel, AskedTokens: 1, PromptTokens: ptr(int32(context)),
				CachedTokens: ptr(int32(0)), TokenSource: event.UsagePerChunk, FinishReason: ptr("length"), Outcome: event.OK,
			})
			at += ttft + 20
		}
		run.Cells = append(run.Cells, event.Cell{
			Phase: event.Prefill, Context: context, Label: fmt.Sprint(context), Concurrency: 1,
			Passes: []event.Pass{{WindowStartUS: start, WindowEndUS: at, Stop: event.StopDone}},
		})
	}
	for _, s := range shapes {
		index := int32(len(run.Cells))
		a := at + 3_000_000
		b := a + seconds*1_000_000
		for stream := range s.concurrency {
			requests = append(requests, syntheticStream(random, s, index, int32(stream), at, a, b, output)...)
		}
		for t := a; t <= b; t += 1_000_000 {
			for _, metric := range []string{event.MetricLagP50, event.MetricLagP99, event.MetricLagMax, event.MetricCPUShare, event.MetricMergedShare} {
				samples = append(samples, event.Sample{AtUS: t, Cell: index, Source: event.SourceClient, Metric: metric, Value: 0.01})
			}
			samples = append(samples, event.Sample{AtUS: t, Cell: index, Source: event.SourceServer, Metric: event.MetricRunning, Value: float64(s.concurrency)})
		}
		run.Cells = append(run.Cells, event.Cell{
			Phase: event.Decode, Context: s.context, Label: fmt.Sprint(s.context), Concurrency: s.concurrency,
			Passes: []event.Pass{{WindowStartUS: a, WindowEndUS: b, Stop: event.StopDone}},
		})
		at = b + 1_000_000
	}
	return run, requests, samples
}

// syntheticStream makes the requests of one stream from at to b + 0.5 s.
func syntheticStream(random *rand.Rand, s shape, cell, stream int32, at, a, b, output int64) []event.Request {
	var out []event.Request
	left := max(1, output*int64(s.concurrency-int(stream))/int64(s.concurrency)) // staggered
	for start, ordinal := at, int32(0); start < b; ordinal++ {
		r := event.Request{
			Cell: cell, Stream: stream, Ordinal: ordinal, Stage: event.Warmup, StartUS: start, Clock: event.Kernel,
			AskedTokens: int32(left), PromptTokens: ptr(int32(s.context)), CachedTokens: ptr(int32(s.context)),
			TokenSource: event.UsagePerChunk, Outcome: event.Stopped,
		}
		if start > a {
			r.Stage = event.InWindow
		}
		us := 5 * s.stepUS
		for left > 0 && start+us <= b+500_000 {
			r.ChunkUS = append(r.ChunkUS, us)
			r.ChunkTokens = append(r.ChunkTokens, s.tokensAChunk)
			left -= int64(s.tokensAChunk)
			us += s.stepUS + random.Int64N(s.stepUS*3/100+1)
		}
		if left <= 0 {
			r.Outcome, r.FinishReason = event.OK, ptr("length")
		}
		r.EndUS = ptr(us)
		start += us + 100
		left = output
		out = append(out, r)
	}
	return out
}
