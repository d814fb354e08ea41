package summary

import (
	"cmp"
	"slices"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

const (
	maxBins  = 80
	maxSpans = 512
)

// timeline counts the tokens of a pass over time, from its first send to its last token or the window's end. An edge lies on
// the window's start, so that bins inside of it hold nothing from outside. Bins are the shortest of 250 ms, 500 ms, 1 s, and
// then twice as long each, of which 80 suffice: a page shows them as a table too.
func timeline(a *attempt) *Timeline {
	from, to := a.window.StartUS, a.window.EndUS
	for _, r := range a.requests {
		from = min(from, r.StartUS)
		if n := len(r.ChunkUS); n > 0 {
			to = max(to, r.StartUS+r.ChunkUS[n-1])
		}
	}
	width := int64(250_000)
	before, after := bins(from, a.window.StartUS, width), bins(a.window.StartUS, to, width)
	for before+after > maxBins {
		width *= 2
		before, after = bins(from, a.window.StartUS, width), bins(a.window.StartUS, to, width)
	}
	t := &Timeline{
		BinUS: width, StartUS: a.window.StartUS - before*width,
		WindowStartUS: a.window.StartUS, WindowEndUS: a.window.EndUS,
	}
	edges := make([]int64, before+after+1)
	for i := range edges {
		edges[i] = t.StartUS + int64(i)*width
	}
	counts := make([]int64, before+after)
	all := metric.Window{StartUS: edges[0], EndUS: edges[len(edges)-1]}
	for i, r := range a.requests {
		low, high := metric.Range(r, all)
		tally(counts, edges, r, a.tokens(i), span{low, high})
	}
	t.TokS = make([]float64, len(counts))
	for i, n := range counts {
		t.TokS[i] = float64(n) / (float64(width) / 1e6)
	}
	return t
}

// bins returns how many bins of that width cover the span.
func bins(from, to, width int64) int64 { return (to - from + width - 1) / width }

// strip returns the requests of a pass, with their tokens, as spans, by stream, then start; at most 512, those of the
// first streams.
func strip(a *attempt, tokens []int64) []Span {
	spans := make([]Span, 0, min(len(a.requests), maxSpans))
	for i, r := range a.requests[:min(len(a.requests), maxSpans)] {
		s := Span{Stream: int(r.Stream), Stage: r.Stage, StartUS: r.StartUS, Tokens: tokens[i], Outcome: r.Outcome}
		if first, ok := metric.TTFT(r); ok {
			s.FirstUS = ptr(r.StartUS + first)
		}
		if last, ok := metric.EndToEnd(r); ok {
			s.LastUS = ptr(r.StartUS + last)
		}
		if r.EndUS != nil {
			s.EndUS = ptr(r.StartUS + *r.EndUS)
		}
		spans = append(spans, s)
	}
	return spans
}

// failures counts failed outcomes by kind, in the order of their names.
func failures(requests []*event.Request) []Count {
	var out []Count
	for _, r := range requests {
		i, ok := slices.BinarySearchFunc(out, r.Outcome, func(c Count, kind event.Outcome) int { return cmp.Compare(c.Kind, kind) })
		if !ok {
			out = slices.Insert(out, i, Count{Kind: r.Outcome})
		}
		out[i].N++
	}
	return out
}
