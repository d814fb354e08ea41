package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

const (
	mendInstants = "restore the file that measure wrote; if it did write this, please report it"
	slackUS      = 1_000_000 // between a request's start and the edge of the phase that it names
)

// future refuses a run that started, or whose events went on, after now.
func (r *report) future(run *event.Run, reqs []event.Request, samples []event.Sample, now time.Time) {
	if now.IsZero() {
		return
	}
	last := int64(0)
	for i := range reqs {
		last = max(last, reqs[i].StartUS+lastUS(&reqs[i]))
	}
	for i := range samples {
		last = max(last, samples[i].AtUS)
	}
	window := int64(0)
	for _, c := range run.Cells {
		for _, p := range c.Passes {
			window = max(window, p.WindowEndUS)
		}
	}
	const mend = "set the clock of the machine that measures, and measure again"
	if run.Started.After(now) {
		r.refuse(runFile, "future", mend, "started %s, in the future", run.Started.Format(time.RFC3339))
		return
	}
	until := int64(now.Sub(run.Started) / time.Microsecond)
	if last > until {
		r.refuse(requestsFile, "future", mend, "goes on until %s, in the future", after(run.Started, last))
	}
	if window > until {
		r.refuse(runFile, "future", mend, "has a window until %s, in the future", after(run.Started, window))
	}
}

// after is an instant in words; what lies further away than a duration can say is cut to the longest one.
func after(started time.Time, us int64) string {
	return started.Add(time.Duration(min(us, math.MaxInt64/1000)) * time.Microsecond).Format(time.RFC3339)
}

// lastUS is a request's latest instant, from its start.
func lastUS(q *event.Request) int64 {
	last := int64(0)
	if n := len(q.ChunkUS); n > 0 {
		last = q.ChunkUS[n-1]
	}
	if q.EndUS != nil {
		last = max(last, *q.EndUS)
	}
	return last
}

// windows checks each pass's window, and that no two overlap: passes run one after the other.
func (r *report) windows(run *event.Run) {
	type window struct {
		cell int
		event.Pass
	}
	var all []window
	for i, c := range run.Cells {
		for _, p := range c.Passes {
			ended := p.Stop == event.StopDone || p.Stop == event.StopQueued
			if p.WindowStartUS < 0 || p.WindowEndUS < p.WindowStartUS || (ended && p.WindowEndUS == p.WindowStartUS) {
				r.refuse(runFile, "instants", mendInstants, "cell %d, repeat %d: the window (%d, %d] does not end after it starts", i, p.Repeat, p.WindowStartUS, p.WindowEndUS)
				continue
			}
			all = append(all, window{i, p})
		}
		if c.Status == event.Ran && len(c.Passes) == 0 {
			r.refuse(runFile, "instants", mendInstants, "cell %d has no pass and no status that says why", i)
		}
	}
	slices.SortStableFunc(all, func(a, b window) int { return cmp.Compare(a.WindowStartUS, b.WindowStartUS) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if b.WindowStartUS < a.WindowEndUS {
			r.refuse(runFile, "instants", mendInstants, "the windows of cell %d, repeat %d and cell %d, repeat %d overlap", a.cell, a.Repeat, b.cell, b.Repeat)
		}
	}
}

// request checks one row: its instants, its place, its counts.
func (r *report) request(row int, q *event.Request, run *event.Run, passes passOf) {
	if what, ok := instantsInOrder(q); !ok {
		r.refuse(requestsFile, "instants", mendInstants, "row %d: %s", row, what)
	} else {
		r.counts(row, q)
	}
	cell := &run.Cells[q.Cell]
	if int(q.Stream) >= cell.Concurrency {
		r.refuse(requestsFile, "place", mendInstants, "row %d is of stream %d, counted from 0; cell %d has %d", row, q.Stream, q.Cell, cell.Concurrency)
	}
	p, ok := passes[eventlog.Step{Cell: int(q.Cell), Repeat: int(q.Repeat)}]
	switch {
	case cell.Status == event.OverCapacity || cell.Status == event.OverLength || cell.Status == event.Skipped:
		r.refuse(requestsFile, "place", mendInstants, "row %d belongs to cell %d, which did not run (%s)", row, q.Cell, cell.Status)
	case !ok && cell.Status == event.Ran:
		r.refuse(requestsFile, "place", mendInstants, "row %d belongs to cell %d, repeat %d, which run.toml does not have", row, q.Cell, q.Repeat)
	case ok && !withinPass(q, p):
		r.refuse(requestsFile, "instants", mendInstants, "row %d starts at %d us, outside the %q of the window (%d, %d]", row, q.StartUS, q.Stage, p.WindowStartUS, p.WindowEndUS)
	}
}

// place is what no two requests of a run share. A scout is asked again where the first did not do, under the same number: its start tells it apart.
type place struct {
	cell, repeat, stream, ordinal int32
	scoutUS                       int64
}

func placeOf(q *event.Request) place {
	p := place{q.Cell, q.Repeat, q.Stream, q.Ordinal, -1}
	if q.Stage == event.Scout {
		p.scoutUS = q.StartUS
	}
	return p
}

// twice refuses rows that stand for one request: they would be counted twice.
func (r *report) twice(reqs []event.Request) {
	first := make(map[place]int, len(reqs))
	for i := range reqs {
		p := placeOf(&reqs[i])
		if j, ok := first[p]; ok {
			r.refuse(requestsFile, "place", mendInstants, "rows %d and %d are both request %d of stream %d of cell %d, repeat %d", j, i, p.ordinal, p.stream, p.cell, p.repeat)
			continue
		}
		first[p] = i
	}
}

// withinPass reports whether a request starts in the phase that its stage names.
func withinPass(q *event.Request, p event.Pass) bool {
	switch q.Stage {
	case event.InWindow:
		return q.StartUS >= p.WindowStartUS-slackUS && q.StartUS <= p.WindowEndUS+slackUS
	case event.Probe:
		return q.StartUS >= p.WindowEndUS-slackUS
	default:
		return q.StartUS <= p.WindowEndUS+slackUS
	}
}

// instantsInOrder says what stands before what it must follow. connect_us is a length, of before the request's start.
func instantsInOrder(q *event.Request) (what string, ok bool) {
	if !slices.IsSorted(q.ChunkUS) {
		return "chunk_us decreases", false
	}
	n := len(q.ChunkUS)
	after := func(later, earlier *int64) bool { return later == nil || earlier == nil || *later >= *earlier }
	if !after(q.EndUS, q.HeadersUS) {
		return "end_us is before headers_us", false
	}
	if n == 0 {
		return "", true
	}
	first, last := &q.ChunkUS[0], &q.ChunkUS[n-1]
	switch {
	case !after(first, q.HeadersUS):
		return "the first chunk is before headers_us", false
	case !after(q.VisibleUS, first) || !after(last, q.VisibleUS):
		return "visible_us is outside the chunks", false
	case !after(q.EndUS, last):
		return "end_us is before the last chunk", false
	}
	return "", true
}
