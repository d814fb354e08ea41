package summary

import (
	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
)

// prefill fills a prefill row from its cold samples: those of the window that were not void, did not fail and had a token.
func (b *builder) prefill(c *Cell, attempts []attempt) {
	var samples, all []*event.Request
	var rates []float64 // tok/s, one a repeat
	void := 0
	for i := range attempts {
		a := &attempts[i]
		all = append(all, a.requests...)
		var ofRepeat []float64
		for _, r := range a.requests {
			if r.Void {
				void++
			}
			if _, ok := metric.TTFT(r); !ok || r.Void || r.Outcome.Failed() || r.Stage != event.InWindow {
				continue
			}
			samples = append(samples, r)
			if rate, ok := metric.PrefillTokS(r); ok {
				ofRepeat = append(ofRepeat, rate)
			}
		}
		if rate, ok := stat.Median(ofRepeat); ok {
			rates = append(rates, rate)
		}
	}
	failed := failedOf(all)
	c.Samples = len(samples)
	c.CompletedRequests = ptr(len(samples))
	c.setFailures(failed)
	c.setTTFT(Cold, samples)
	c.TokS = found(stat.Mean(rates))
	c.TokSInterval = repeatInterval(rates)
	c.setPrompts(samples)
	c.Clock, c.TokenSource = clockOf(samples), sourceOf(samples)

	b.prefillStatus(c, attempts, len(all), len(failed), void)
	b.prefillCaveats(c, samples, void)
	if c.Status != event.Failed && len(failed) > 0 {
		c.warn(metric.FailedStreams, "n", itoa(len(failed)), "of", itoa(len(all)), "list", countsText(c.Failures))
	}
	if interrupted(attempts) {
		c.warn(metric.CellInterrupted)
	}
}

// setFailures records the failed requests of a cell.
func (c *Cell) setFailures(failed []*event.Request) {
	c.FailedRequests = ptr(len(failed))
	c.Failures = failures(failed)
}

// setTTFT makes kind, of those requests, the TTFT that the cell shows.
func (c *Cell) setTTFT(kind TTFTKind, requests []*event.Request) {
	if len(requests) == 0 {
		return
	}
	c.TTFT = distribution(ttfts(requests))
	c.TTFTMS, c.TTFTKind = c.TTFT.Median, kind
	c.TTFOMS = ttfo(requests)
}

// setPrompts records the median prompt of those requests, as the server counted it.
func (c *Cell) setPrompts(requests []*event.Request) {
	var prompt, cached []float64
	for _, r := range requests {
		prompt = appendCount(prompt, r.PromptTokens)
		cached = appendCount(cached, r.CachedTokens)
	}
	c.PromptTokens, c.CachedTokens = medianCount(prompt), medianCount(cached)
}

// appendCount appends a count that the server told; a negative one is none.
func appendCount(counts []float64, n *int32) []float64 {
	if n == nil || *n < 0 {
		return counts
	}
	return append(counts, float64(*n))
}

// medianCount returns the median of counts as a whole number, halves rounded up.
func medianCount(counts []float64) *int {
	m, ok := stat.Median(counts)
	if !ok {
		return nil
	}
	return ptr(int(m + 0.5))
}

// repeatInterval returns the interval of a rate when there are enough repeats for one.
func repeatInterval(rates []float64) *Interval {
	if len(rates) < metric.MinRepeats {
		return nil
	}
	i, ok := stat.RepeatInterval(rates)
	if !ok {
		return nil
	}
	return &Interval{Low: i.Low, High: i.High, Repeats: len(rates)}
}
