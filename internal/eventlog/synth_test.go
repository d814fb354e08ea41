package eventlog_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"speedmatrix/internal/event"
)

func ptr[T any](v T) *T { return &v }

// sampleRun is a small run with every table filled: two cells that ran, one with two repeats, and one over capacity.
func sampleRun() event.Run {
	return event.Run{
		Schema: 1, ID: "20261201t101500z-tiny-cpu-sim-1a2b3c4d", State: event.Interrupted,
		Started: time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC), Seed: 1,
		Tool: event.Tool{Name: "measure", Version: "0.1.0", Method: 1, Flags: []string{"--url", "http://localhost:8000/v1"}},
		Hardware: event.Facts{"gpu": "RTX PRO 6000 Blackwell Server Edition", "gpu_count": int64(1), "vram_gb": int64(96),
			"power_limit_w": 599.5},
		Engine:  event.Facts{"name": "sglang", "version": "0.5.0", "simulated": true},
		Model:   event.Facts{"served": "gemma \"q\" \\ \n ü"},
		Server:  event.Facts{},
		Host:    event.Facts{"cores": int64(2)},
		Sources: map[string]event.Source{"hardware.gpu": event.FromProbe, "engine.name": event.FromServer},
		Method: event.Method{Contexts: []int{8192}, Concurrency: []int{1, 2}, Prefill: []int{8192}, DurationS: 30, OutputTokens: 4096,
			Prompts: event.PerStream, Start: event.Staggered, Repeats: 2, Endpoint: "chat", PromptSizing: "tokenize"},
		Capacity: event.Capacity{Tokens: ptr(int64(12288)), Source: "--kv-tokens"},
		Launch:   event.Launch{Command: "python -m sglang.launch_server --port 8000", Source: event.FromUser},
		Cells: []event.Cell{
			{Phase: event.Prefill, Context: 8192, Label: "8K", Concurrency: 1, NeededTokens: 8193,
				Passes: []event.Pass{{WindowStartUS: 1_000_000, WindowEndUS: 2_000_000, Stop: event.StopDone}}},
			{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 1, NeededTokens: 12288,
				Passes: []event.Pass{
					{WindowStartUS: 3_000_000, WindowEndUS: 33_000_000, Stop: event.StopDone},
					{Repeat: 1, WindowStartUS: 43_000_000, WindowEndUS: 73_000_000, Stop: event.StopDone}}},
			{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 2, NeededTokens: 24576,
				Status: event.OverCapacity, Reason: "needs 24,576 tokens, the KV cache holds 12,288"},
		},
		Calibration: []event.Calibration{{Streams: 1, InstantP50US: 12, InstantP99US: 80, TTFTP50US: 12, TTFTP99US: 80,
			BetweenTokensUS: 0.5, RatePercent: -0.01, CPUPerTokenUS: 3.5, Clock: event.Kernel}},
		Files: map[string]string{},
	}
}

// synthetic makes n requests of a pass with the given number of chunks each: a token every 7 ms with the jitter of a
// GPU server's step time (normal, 60 us). It is made up for tests and benchmarks, not measured.
func synthetic(cell, repeat, n, chunks int) []event.Request {
	rng := rand.New(rand.NewPCG(uint64(cell), uint64(repeat)))
	out := make([]event.Request, n)
	for i := range out {
		r := event.Request{
			Cell: int32(cell), Repeat: int32(repeat), Stream: int32(i % 8), Ordinal: int32(i / 8), Stage: event.InWindow,
			StartUS: 3_000_000 + int64(i)*1000 + rng.Int64N(500), HeadersUS: ptr(60_000 + rng.Int64N(2000)), Clock: event.Kernel,
			AskedTokens: 4096, PromptSHA: fmt.Sprintf("%016x", rng.Uint64()), PromptTokens: ptr(int32(8192 + rng.IntN(9))),
			CachedTokens: ptr(int32(8176)), OutputTokens: ptr(int32(chunks)), TokenSource: event.UsagePerChunk,
			FinishReason: ptr("length"), HTTPStatus: ptr(int32(200)), Outcome: event.OK,
		}
		at := 70_000 + rng.Int64N(3000)
		for range chunks {
			r.ChunkUS = append(r.ChunkUS, at)
			r.ChunkTokens = append(r.ChunkTokens, 1)
			at += 7000 + int64(rng.NormFloat64()*60)
		}
		r.VisibleUS = ptr(int64(70_000))
		r.EndUS = ptr(at)
		out[i] = r
	}
	return out
}

// oddRequests holds the corners: nothing known, an error text that is no UTF-8, a list of one, tokens of zero.
func oddRequests(cell, repeat int) []event.Request {
	base := event.Request{Cell: int32(cell), Repeat: int32(repeat), Clock: event.Process, Stage: event.Warmup,
		TokenSource: event.UnknownTokens, Outcome: event.Unreachable}
	bare, full, cut := base, base, base
	bare.Error = ptr("dial: refused")
	full.Stage, full.Outcome, full.TokenSource, full.Looped, full.Void = event.Probe, event.OK, event.ByChunks, true, true
	full.ScheduledUS, full.ConnectUS, full.StartUS = ptr(int64(5)), ptr(int64(0)), 17
	full.ChunkUS, full.ChunkTokens = []int64{0}, []int32{0}
	cut.Stage, cut.Outcome, cut.TokenSource = event.Scout, event.Stopped, event.UsageFinal
	cut.ChunkUS, cut.ChunkTokens = []int64{1, 1, 1 << 40}, []int32{1, 1000000, 0}
	return []event.Request{bare, full, cut, bare}
}

func someSamples(cell, repeat, n int) []event.Sample {
	out := make([]event.Sample, n)
	for i := range out {
		out[i] = event.Sample{AtUS: 3_000_000 + int64(i)*250_000, Cell: int32(cell), Repeat: int32(repeat), Source: event.SourceServer,
			Metric: event.MetricRunning, Labels: "engine=0", Value: float64(i) / 4}
	}
	return out
}
