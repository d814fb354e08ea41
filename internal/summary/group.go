package summary

import (
	"cmp"
	"slices"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

// attempt is one pass of a cell together with its requests.
type attempt struct {
	pass     event.Pass
	window   metric.Window
	requests []*event.Request // without scouts; by stream, then start, once lookAt has sorted them
	scouts   []*event.Request
	seen     []seen // of each of requests: set by lookAt
	health   health
}

// measured reports whether the pass has a window.
func (a *attempt) measured() bool { return a.window.EndUS > a.window.StartUS }

// group returns the passes of each cell, by repeat, with their requests, in no order. Requests of a pass that the run does not list
// are others, by cell: a pass in progress when the program died.
func group(run event.Run, requests []event.Request) (cells [][]attempt, others [][]*event.Request) {
	cells, others = make([][]attempt, len(run.Cells)), make([][]*event.Request, len(run.Cells))
	for i, c := range run.Cells {
		for _, pass := range c.Passes {
			window := metric.Window{StartUS: pass.WindowStartUS, EndUS: pass.WindowEndUS}
			cells[i] = append(cells[i], attempt{pass: pass, window: window})
		}
		slices.SortFunc(cells[i], func(a, b attempt) int { return cmp.Compare(a.pass.Repeat, b.pass.Repeat) })
	}
	for i := range requests {
		r := &requests[i]
		a := find(cells[r.Cell], int(r.Repeat))
		switch {
		case a == nil:
			others[r.Cell] = append(others[r.Cell], r)
		case r.Stage == event.Scout:
			a.scouts = append(a.scouts, r)
		default:
			a.requests = append(a.requests, r)
		}
	}
	return cells, others
}

// tokens returns the token counts of requests[i].
func (a *attempt) tokens(i int) tokenCounts {
	return tokenCounts{a.requests[i].ChunkTokens, a.seen[i].single}
}

// find returns the pass of that repeat, or nil. Cells have a handful of passes.
func find(attempts []attempt, repeat int) *attempt {
	for i := range attempts {
		if attempts[i].pass.Repeat == repeat {
			return &attempts[i]
		}
	}
	return nil
}

// byStream orders requests by stream, then start; ties are broken so that any order of rows gives the same result.
func byStream(a, b *event.Request) int {
	order := cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.StartUS, b.StartUS), cmp.Compare(a.Ordinal, b.Ordinal))
	if order != 0 {
		return order
	}
	return cmp.Or(slices.Compare(a.ChunkUS, b.ChunkUS), slices.Compare(a.ChunkTokens, b.ChunkTokens))
}

// streamFirst reports whether requests[i] is its stream's first; they are in the order of byStream. The ordinal is not asked:
// a scout may have taken number 0.
func streamFirst(requests []*event.Request, i int) bool {
	return i == 0 || requests[i-1].Stream != requests[i].Stream
}
