package summary

import (
	"math"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
)

// decode fills a decode cell from the passes that have a window.
func (b *builder) decode(c *Cell, attempts []attempt) {
	var measured []*attempt
	for i := range attempts {
		if attempts[i].measured() {
			measured = append(measured, &attempts[i])
		}
	}
	requests := load(attempts)
	failed, later := failedInTime(attempts)
	c.setFailures(failed)
	c.Clock, c.TokenSource = clockOf(requests), sourceOf(requests)
	for _, r := range requests {
		if r.Looped {
			c.Looped++
		}
		if metric.StoppedEarly(r) {
			c.EarlyStops++
		}
	}
	b.decodePrompts(c, attempts)

	counts := make([]windowCount, len(measured))
	for i, a := range measured {
		counts[i] = count(a, b.run.Method.Start)
	}
	shared := b.combine(c, measured, counts)
	if len(measured) > 0 {
		b.setKinds(c, measured)
		c.TokSInterval = b.interval(c, measured, counts)
		c.Timeline, c.Strip = timeline(measured[0]), strip(measured[0], counts[0].whole)
	}
	b.decodeStatus(c, attempts, measured, len(requests))
	if c.Status != event.NotRun {
		b.decodeCaveats(c, requests, later, counts, shared)
	}
	if interrupted(attempts) && len(measured) > 0 {
		c.warn(metric.CellInterrupted)
	}
}

// load returns the requests that make a cell's figures: neither scouts nor those started in the probe phase.
func load(attempts []attempt) []*event.Request {
	var out []*event.Request
	for i := range attempts {
		for _, r := range attempts[i].requests {
			if r.Stage != event.Probe {
				out = append(out, r)
			}
		}
	}
	return out
}

// combine puts the windows of a cell's passes together, and returns the share of chunks that arrived together with the one
// before.
func (b *builder) combine(c *Cell, measured []*attempt, counts []windowCount) (shared float64) {
	if len(counts) == 0 {
		return 0
	}
	var rates, wholes, between, endToEnd []float64
	var tokens, chunks int64
	var seconds, active float64
	completed := 0
	for i := range counts {
		w := &counts[i]
		rates = append(rates, w.rate())
		if whole, ok := w.wholeRate(); ok {
			wholes = append(wholes, whole)
		}
		between = append(between, w.between...)
		endToEnd = append(endToEnd, w.endToEnd...)
		tokens += w.tokens
		chunks += w.chunks
		seconds += w.window.Seconds()
		active += w.active * w.window.Seconds()
		completed += w.completed
		c.Samples += w.seen
	}
	c.TokS = found(stat.Mean(rates))
	c.WholeCellTokS = found(stat.Mean(wholes))
	c.PerStreamTokS = found(*c.TokS/float64(c.Concurrency), true)
	c.OutputTokens, c.MeasuredS = &tokens, &seconds
	c.ActiveRequests = ptr(active / seconds)
	c.CompletedRequests = &completed
	c.BetweenTokens = distribution(between)
	c.BetweenTokensMS = c.BetweenTokens.Median
	c.PerRequestTokS = found(stat.Median(speeds(between)))
	c.EndToEnd = distribution(endToEnd)
	if chunks > 0 {
		c.TokensPerChunk = ptr(float64(tokens) / float64(chunks))
	}
	c.ServerActive = serverActive(measured)
	c.BetweenChunks, shared = b.gaps.take()
	return shared
}

// speeds returns tokens a second for each time between tokens in milliseconds.
func speeds(between []float64) []float64 {
	out := make([]float64, len(between))
	for i, ms := range between {
		out[i] = 1000 / ms // ms is positive: see metric.Pace
	}
	return out
}

// serverActive returns the server's own gauge, weighted by the length of the windows that have it.
func serverActive(measured []*attempt) *float64 {
	var sum, seconds float64
	for _, a := range measured {
		if v, ok := a.health.serverActive(); ok {
			sum += v * a.window.Seconds()
			seconds += a.window.Seconds()
		}
	}
	if seconds == 0 || math.IsInf(sum, 0) {
		return nil
	}
	return ptr(sum / seconds)
}

// setKinds tells the kinds of TTFT apart and picks the one that the cell shows.
func (b *builder) setKinds(c *Cell, measured []*attempt) {
	var all kinds
	for _, a := range measured {
		all.add(a.requests, &b.run.Method)
	}
	for _, kind := range shownKinds {
		requests := all.get(kind)
		if len(requests) == 0 {
			continue
		}
		if c.TTFTMS == nil {
			c.setTTFT(kind, requests)
			continue
		}
		c.TTFTOther = append(c.TTFTOther, KindDistribution{Kind: kind, Distribution: distribution(ttfts(requests))})
	}
}

// interval returns the 95 % interval of the cell's total: from repeats when there are enough, else within this run.
func (b *builder) interval(c *Cell, measured []*attempt, counts []windowCount) *Interval {
	rates := make([]float64, len(counts))
	for i := range counts {
		rates[i] = counts[i].rate()
	}
	if len(rates) >= metric.MinRepeats {
		return repeatInterval(rates)
	}
	if c.BetweenTokensMS == nil {
		return nil
	}
	var all []stat.Block
	for _, a := range measured {
		all = append(all, blocks(a, *c.BetweenTokensMS)...)
	}
	i, ok := b.draw.Interval(all)
	if !ok {
		return nil
	}
	return &Interval{Low: i.Low, High: i.High}
}

// decodePrompts records the median prompt: of the requests whose prompt is the context itself, which a staggered start's first
// ones are not; where no other was sent, of the scouts, which had the same prompt (but found nothing of it cached).
func (b *builder) decodePrompts(c *Cell, attempts []attempt) {
	var whole, scouts []*event.Request
	for i := range attempts {
		a := &attempts[i]
		scouts = append(scouts, a.scouts...)
		for j, r := range a.requests {
			if !streamFirst(a.requests, j) || b.run.Method.Start == event.Together {
				whole = append(whole, r)
			}
		}
	}
	c.setPrompts(whole)
	if c.PromptTokens == nil {
		cached := c.CachedTokens
		c.setPrompts(scouts)
		c.CachedTokens = cached
	}
}
