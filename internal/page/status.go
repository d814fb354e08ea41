package page

import (
	"fmt"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
)

// State is what became of a cell, in words; the class gives it a pattern, never only a colour.
type State struct {
	Word  string // "Valid", "Over capacity"
	Note  string // "ran 9 of 16", or ""
	Class string // "valid", "over-capacity"; one of the known statuses
}

// stateFootnotes stand under the decode matrix where their state occurs, in the order of metric.Statuses.
var stateFootnotes = map[event.Status]string{
	event.OverCapacity: "Over capacity: not run because this many requests at this context would exceed the server's KV cache.",
	event.OverLength:   "Over length: not run because context and output together would exceed the model's limit.",
	event.Queued:       "Queued: the server did not run all of these requests at once; the figures are those of the requests that ran.",
	event.Unready:      "Unready: not measured because no stream got a first token in time.",
	event.ClientBound:  "Client-bound: the measuring program was the bottleneck; the server may be faster.",
	event.Failed:       "Failed: more than 1 % of the requests failed; kinds and counts are in the details of All measurements.",
	event.Skipped:      "Skipped: not run, by choice or because a lower concurrency of the row was queued, unready or failed.",
	event.NotRun:       "Not run: the run stopped before this cell.",
}

// newState words a cell's status. A status this version does not know is shown as it is, with the look of "not run".
func newState(c *summary.Cell) State {
	name, known := metric.StatusName(c.Status)
	if !known {
		return State{Word: Clean(string(c.Status)), Class: string(event.NotRun)}
	}
	s := State{Word: name, Class: string(c.Status)}
	if c.Status == event.Queued && finite(c.RanRequests) {
		s.Note = fmt.Sprintf("ran %s of %d", ranText(c.RanRequests), c.Concurrency)
	}
	return s
}

// ranText prints a concurrency reached: whole where it is whole, else one decimal.
func ranText(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// measured reports whether a cell ran and has a rate.
func measured(c *summary.Cell) bool {
	switch c.Status {
	case event.Valid, event.Queued, event.ClientBound, event.Failed:
		return c.TokS != nil && finite(*c.TokS)
	}
	return false
}
