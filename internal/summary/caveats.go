package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

// warn adds a caveat to the cell; pairs fill the words in braces of its sentence.
func (c *Cell) warn(id metric.WarningID, pairs ...string) {
	c.Warnings = append(c.Warnings, warning(id, pairs...))
}

func warning(id metric.WarningID, pairs ...string) Warning {
	text, _ := metric.WarningText(id, pairs...) // every id is a constant of metric; a test goes over them
	return Warning{ID: string(id), Text: text}
}

func (b *builder) prefillCaveats(c *Cell, samples []*event.Request, void int) {
	if c.Status != event.Valid {
		return
	}
	if c.Samples < metric.MinPrefillSamples {
		c.warn(metric.FewSamples, "n", itoa(c.Samples))
	}
	if void > 0 {
		c.warn(metric.VoidSamples, "n", itoa(void))
	}
	var most int32
	for _, r := range samples {
		if r.CachedTokens != nil && r.PromptTokens != nil &&
			float64(*r.CachedTokens) > metric.MaxColdCached*float64(*r.PromptTokens) {
			most = max(most, *r.CachedTokens)
		}
	}
	if most > 0 {
		c.warn(metric.ColdCached, "n", itoa(int(most)))
	}
	if c.TokS == nil {
		c.warn(metric.NoPromptCount)
	}
	c.warnPrompt()
	c.warnClock()
}

// decodeCaveats adds what a reader must know of a decode cell that ran.
func (b *builder) decodeCaveats(c *Cell, requests []*event.Request, later int, counts []windowCount, shared float64) {
	of := itoa(len(requests))
	if c.TTFTKind == Restart && c.TTFT.N < metric.MinRestarts || c.TTFTMS == nil && len(counts) > 0 {
		c.warn(metric.FewRestarts, "n", itoa(c.TTFT.N))
	}
	c.warnPrompt()
	c.warnWindow(counts)
	c.warnSources(requests)
	if shared > metric.MaxSharedArrivals {
		c.warn(metric.SharedArrivals, "share", percent(shared))
	}
	if c.Looped > 0 {
		c.warn(metric.Looped, "n", itoa(c.Looped), "of", of)
	}
	if c.EarlyStops > 0 {
		c.warn(metric.EarlyStops, "n", itoa(c.EarlyStops), "of", of)
	}
	if *c.FailedRequests > 0 && c.Status != event.Failed {
		c.warn(metric.FailedStreams, "n", itoa(*c.FailedRequests), "of", of, "list", countsText(c.Failures))
	}
	if later > 0 {
		c.warn(metric.FailedAfter, "n", itoa(later))
	}
	c.warnClock()
}

// warnWindow adds what is wrong with the windows; the worst of the repeats speaks for all.
func (c *Cell) warnWindow(counts []windowCount) {
	var short *windowCount
	var drift float64
	for i := range counts {
		w := &counts[i]
		if d := w.drift(); math.Abs(d) > math.Abs(drift) {
			drift = d
		}
		if w.short(c.Concurrency) > 0 && (short == nil || w.fewest(c.Concurrency) < short.fewest(c.Concurrency)) {
			short = w
		}
	}
	queued := c.Status == event.Queued // says itself that streams had no token
	if short != nil && !queued {
		c.warn(metric.ShortWindow, "n", itoa(short.short(c.Concurrency)), "streams", itoa(max(c.Concurrency, short.streams)),
			"least", strconv.FormatInt(short.fewest(c.Concurrency), 10))
	}
	if math.Abs(drift) > metric.MaxDrift {
		word := " more"
		if drift < 0 {
			word = " fewer"
		}
		c.warn(metric.Drift, "share", percent(math.Abs(drift))+word)
	}
	missing := max(1, metric.MaxMissingActive*float64(c.Concurrency))
	if c.ActiveRequests != nil && !queued && *c.ActiveRequests < float64(c.Concurrency)-missing {
		c.warn(metric.FewerActive, "n", strconv.FormatFloat(*c.ActiveRequests, 'f', 1, 64), "wanted", itoa(c.Concurrency))
	}
}

// short returns how many of the streams asked for brought too few tokens, those without any included.
func (w *windowCount) short(asked int) int { return w.shortOf + max(0, asked-w.streams) }

// fewest returns the fewest tokens that one of the streams asked for brought.
func (w *windowCount) fewest(asked int) int64 {
	if w.streams < asked {
		return 0
	}
	return w.least
}

// warnPrompt tells when the prompts were not as long as the context says.
func (c *Cell) warnPrompt() {
	if c.PromptTokens == nil || c.Context < 1 {
		return
	}
	off := float64(*c.PromptTokens-c.Context) / float64(c.Context)
	if math.Abs(off) > metric.MaxPromptOff {
		c.warn(metric.PromptOff, "n", itoa(*c.PromptTokens), "wanted", itoa(c.Context), "share", percent(math.Abs(off)))
	}
}

func (c *Cell) warnClock() {
	if c.Clock == event.Process {
		c.warn(metric.ProcessClock)
	}
}

// sourceRank orders the ways of counting tokens from the best to the worst.
var sourceRank = [...]event.TokenSource{event.UsagePerChunk, event.UsageFinal, event.UnknownTokens, event.ByChunks}

// sources counts the requests that had tokens by the way in which these were counted, in the order of sourceRank.
func sources(requests []*event.Request) (counts [len(sourceRank)]int, with int) {
	for _, r := range requests {
		if len(r.ChunkUS) == 0 {
			continue
		}
		with++
		for i, s := range sourceRank {
			if r.TokenSource == s {
				counts[i]++
			}
		}
	}
	return counts, with
}

// sourceOf returns the worst way in which tokens of the requests were counted; "" when none had any.
func sourceOf(requests []*event.Request) event.TokenSource {
	counts, _ := sources(requests)
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] > 0 {
			return sourceRank[i]
		}
	}
	return ""
}

// warnSources tells of estimates, and of more than one way of counting in a cell. Final usage with cut streams counted by
// the tokens per character of the whole ones is one way: the estimate says it.
func (c *Cell) warnSources(requests []*event.Request) {
	counts, with := sources(requests)
	estimated := 0
	var ways []string
	for i, n := range counts {
		if n == 0 {
			continue
		}
		ways = append(ways, fmt.Sprintf("%s in %d", sourceRank[i], n))
		if sourceRank[i] == event.UnknownTokens || sourceRank[i] == event.ByChunks {
			estimated += n
		}
	}
	if estimated > 0 {
		c.warn(metric.TokensEstimated, "n", itoa(estimated), "of", itoa(with))
	}
	finalAndCut := len(ways) == 2 && counts[1] > 0 && counts[2] > 0
	if len(ways) > 1 && !finalAndCut {
		c.warn(metric.MixedSources, "list", strings.Join(ways, ", "))
	}
}

// clockOf returns the worse of the clocks that stamped the requests' arrivals; "" when none says. A request that was cut
// before its first token has none.
func clockOf(requests []*event.Request) event.Clock {
	var clock event.Clock
	for _, r := range requests {
		switch {
		case len(r.ChunkUS) == 0:
		case r.Clock == event.Process:
			return event.Process
		case r.Clock == event.Kernel:
			clock = event.Kernel
		}
	}
	return clock
}

// runWarnings returns what a reader must know of the run as a whole.
func runWarnings(run *event.Run) []Warning {
	var out []Warning
	if revision := clean(run.Model.Text("revision")); revision != "" && !pinned(revision) {
		out = append(out, warning(metric.Unpinned, "revision", strconv.Quote(revision)))
	}
	if run.Method.AllowBusy {
		out = append(out, warning(metric.AllowBusy))
	}
	if len(run.Method.Dropped) > 0 {
		out = append(out, warning(metric.DroppedFields, "list", clean(strings.Join(run.Method.Dropped, ", "))))
	}
	if run.State == event.Interrupted {
		out = append(out, warning(metric.RunInterrupted))
	}
	if run.Method.Resumed > 0 {
		out = append(out, warning(metric.Resumed, "n", itoa(run.Method.Resumed)))
	}
	return out
}

// pinned reports whether a revision is a commit: 7 hex digits or more.
func pinned(revision string) bool {
	return len(revision) >= 7 && strings.Trim(strings.ToLower(revision), "0123456789abcdef") == ""
}
