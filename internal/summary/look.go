package summary

import (
	"slices"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

// seen is what one look at the lists of a request has found.
type seen struct {
	inside span // the chunks that arrived in the window of the pass
	single bool // every chunk brought one token: nobody need add them up
}

// lookAt sorts a cell's requests and goes once over their chunks: it refuses lists that go backwards, counts the gaps between chunks in the windows, and notes
// what later steps ask of each request. It comes right before the cell is computed: the lists are then still near to the processor, which is worth
// more than any other order. It reports whether all lists are sound.
func (b *builder) lookAt(attempts []attempt, others []*event.Request) bool {
	before := len(b.problems.list) + b.problems.more
	b.gaps.reset()
	for i := range attempts {
		a := &attempts[i]
		slices.SortFunc(a.requests, byStream)
		slices.SortFunc(a.scouts, byStream)
		a.seen = make([]seen, len(a.requests))
		for j, r := range a.requests {
			a.seen[j] = b.look(r, a.window)
		}
		for _, r := range a.scouts {
			b.look(r, metric.Window{})
		}
	}
	for _, r := range others {
		b.look(r, metric.Window{})
	}
	return len(b.problems.list)+b.problems.more == before
}

// look checks the lists of a request and counts the gaps in a window, if it has any length.
func (b *builder) look(r *event.Request, w metric.Window) seen {
	us := r.ChunkUS
	if len(us) != len(r.ChunkTokens) {
		b.problems.add("request %d: %d arrivals and %d token counts: one of each a chunk is wanted", b.row(r), len(us), len(r.ChunkTokens))
		return seen{}
	}
	var inside span
	inside.from, inside.to = metric.Range(r, w) // somewhere within the list, should that not ascend
	counts, single := b.counts(r.ChunkTokens)
	first, last := min(inside.from+1, len(us)), max(inside.to-1, 0) // neighbours share a chunk, so that no gap is left out
	sound := counts && ascending(us[:first]) && b.gaps.add(us[inside.from:inside.to]) && ascending(us[last:])
	if !sound || len(us) > 0 && !instant(us[len(us)-1]) {
		b.problems.add("request %d: arrivals go backwards or out of range, or a token count is negative", b.row(r))
	}
	return seen{inside, single}
}

// counts reports whether no token count is negative, and whether all are 1. The reader of a run lets lists of ones share their memory; what was
// found to be ones is not looked at again.
func (b *builder) counts(tokens []int32) (ok, single bool) {
	if len(tokens) == 0 {
		return true, true
	}
	if &tokens[0] == b.onesAt && len(tokens) <= b.ones {
		return true, true
	}
	var all, others int32
	for _, n := range tokens {
		all |= n
		others |= n ^ 1
	}
	if others == 0 {
		b.onesAt, b.ones = &tokens[0], len(tokens)
	}
	return all >= 0, others == 0
}

// ascending reports whether no arrival is negative or before the one before it. It looks at sign bits only, without a branch a chunk: it runs over
// every chunk of the run.
func ascending(us []int64) bool {
	var last, bad int64
	for _, at := range us {
		bad |= at | (at - last)
		last = at
	}
	return bad >= 0
}
