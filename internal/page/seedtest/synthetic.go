package seedtest

import (
	"math"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// Synthetic returns the reference figures with made-up distributions, timelines, requests, warnings and calibration, so that
// every part of a page has content. Its title says "synthetic".
func Synthetic() summary.Run {
	run := Run()
	run.Title = "synthetic: " + run.Title
	run.Warnings = []summary.Warning{{ID: "unpinned-revision", Text: "The model's revision main is a name that can move, not a commit: the same run may measure other weights later."}}
	run.Facts.Calibration = []event.Calibration{
		{Streams: 1, InstantP50US: 3.2, InstantP99US: 11.4, TTFTP50US: 4.1, TTFTP99US: 14.2, BetweenTokensUS: 0.2, RatePercent: 0.01, CPUPerTokenUS: 8.4, Clock: event.Kernel},
		{Streams: 128, InstantP50US: 6.8, InstantP99US: 44, TTFTP50US: 7.9, TTFTP99US: 61, BetweenTokensUS: -0.4, RatePercent: -0.02, CPUPerTokenUS: 6.1, MergedShare: 0.004, Clock: event.Kernel},
	}
	run.Facts.Tool = event.Tool{Name: "speedmatrix measure", Version: "0.0.0", Method: 1, Flags: []string{"--url=http://localhost:8000/v1", "--contexts=8K,16K"}}
	one := map[int]float64{}
	for i := range run.Decode {
		c := &run.Decode[i]
		if c.TokS == nil {
			continue
		}
		if c.Concurrency == 1 {
			one[c.Context] = *c.TokS
		}
		fill(c, one[c.Context])
	}
	for i := range run.Prefill {
		c := &run.Prefill[i]
		c.Samples, c.TTFT = 3, spread(*c.TTFTMS, 3)
		n, cached := c.Context+15, 0
		c.PromptTokens, c.CachedTokens = &n, &cached
	}
	return run
}

func fill(c *summary.Cell, one float64) {
	efficiency, stream, whole := *c.TokS/(float64(c.Concurrency)*one), *c.TokS/float64(c.Concurrency), *c.TokS*0.93
	failed, prompt, cached := 0, c.Context+15, c.Context
	c.ScalingEfficiency, c.PerStreamTokS, c.WholeCellTokS, c.FailedRequests = &efficiency, &stream, &whole, &failed
	c.PromptTokens, c.CachedTokens, c.Samples = &prompt, &cached, c.Concurrency*2
	c.TokenSource, c.Clock = event.UsagePerChunk, event.Kernel
	c.TokSInterval = &summary.Interval{Low: *c.TokS * 0.98, High: *c.TokS * 1.02}
	c.TTFT, c.BetweenTokens = spread(*c.TTFTMS, max(6, c.Concurrency)), spread(*c.BetweenTokensMS, c.Concurrency*2)
	c.BetweenChunks = spread(*c.BetweenTokensMS, int(*c.OutputTokens))
	if c.Concurrency == 64 {
		c.Warnings = []summary.Warning{{ID: "few-restarts", Text: "TTFT rests on 4 restarts; 6 or more are wanted."}}
	}
	c.Timeline, c.Strip = timeline(c), strip(c)
}

// spread is a skewed distribution around a median.
func spread(median float64, n int) summary.Distribution {
	d := summary.Distribution{N: n, Median: &median}
	for i := range 101 {
		q := float64(i)/100 - 0.5
		d.Quantiles = append(d.Quantiles, median*math.Exp(q*0.4+math.Pow(q+0.5, 12)*0.6))
	}
	d.Quantiles[50] = median
	d.Min, d.Max = &d.Quantiles[0], &d.Quantiles[100]
	if n >= 10 {
		d.P90 = &d.Quantiles[90]
	}
	if n >= 100 {
		d.P99 = &d.Quantiles[99]
	}
	return d
}

const second = 1_000_000 // microseconds

func timeline(c *summary.Cell) *summary.Timeline {
	t := &summary.Timeline{BinUS: second / 2, StartUS: 90 * second, WindowStartUS: 98 * second, WindowEndUS: 128 * second}
	for i := range 86 {
		rate := *c.TokS * (1 + 0.03*math.Sin(float64(i)*1.7) + 0.015*math.Cos(float64(i)*5.3))
		if i < 12 {
			rate *= float64(i) / 12
		}
		t.TokS = append(t.TokS, rate)
	}
	return t
}

func strip(c *summary.Cell) []summary.Span {
	var out []summary.Span
	answer := int64(outputTokens / *c.PerRequestTokS * second)
	for s := range min(c.Concurrency, 64) {
		at := int64(90*second) - answer*int64(s)/int64(c.Concurrency)/4
		for n := range 3 {
			first := at + int64(*c.TTFTMS*1000)
			last := first + answer
			if n == 0 {
				last -= answer * int64(s) / int64(c.Concurrency)
			}
			end := last + 2000
			span := summary.Span{Stream: s, Stage: event.Warmup, StartUS: at, FirstUS: &first, LastUS: &last, EndUS: &end, Tokens: outputTokens, Outcome: event.OK}
			if at > 98*second {
				span.Stage = event.InWindow
			}
			if cut := int64(132 * second); last > cut {
				span.LastUS, span.EndUS, span.Outcome = &cut, &cut, event.Stopped
			}
			out = append(out, span)
			if at = end; at > 128*second {
				break
			}
		}
	}
	return out
}
