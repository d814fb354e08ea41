package summary

import (
	"errors"
	"fmt"
	"slices"

	"speedmatrix/internal/event"
)

const (
	// maxInstantUS bounds every instant (35 years), so that sums and differences of instants cannot overflow.
	maxInstantUS = 1 << 50
	maxProblems  = 8 // told one by one; the rest are counted
)

// problems collects what is wrong with a run's records.
type problems struct {
	list []error
	more int
}

func (p *problems) add(format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, fmt.Errorf(format, args...))
	} else {
		p.more++
	}
}

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.list, fmt.Errorf("and %d more problems", p.more))...)
	}
	return errors.Join(p.list...)
}

// check collects every reason why the events cannot be summarised but those inside the lists: see look.go.
func check(p *problems, run event.Run, requests []event.Request) {
	for i := range run.Cells {
		checkCell(p, i, &run.Cells[i])
	}
	for i := range requests {
		checkRequest(p, i, &requests[i], len(run.Cells))
	}
}

func checkCell(p *problems, index int, c *event.Cell) {
	switch c.Phase {
	case event.Prefill, event.Decode:
	default:
		p.add("cell %d: unknown phase %q: prefill or decode is wanted", index, c.Phase)
	}
	switch c.Status {
	case event.Ran, event.Valid, event.Queued, event.ClientBound, event.Failed,
		event.OverCapacity, event.OverLength, event.Unready, event.Skipped, event.NotRun:
	default:
		p.add("cell %d: unknown status %q", index, c.Status)
	}
	if c.Context < 1 || c.Concurrency < 1 {
		p.add("cell %d: context %d and concurrency %d must be at least 1", index, c.Context, c.Concurrency)
	}
	seen := map[int]bool{}
	for _, pass := range c.Passes {
		if pass.Repeat < 0 || seen[pass.Repeat] {
			p.add("cell %d: repeat %d is negative or stands twice", index, pass.Repeat)
		}
		seen[pass.Repeat] = true
		if !instant(pass.WindowStartUS) || !instant(pass.WindowEndUS) {
			p.add("cell %d: window (%d, %d] is out of range", index, pass.WindowStartUS, pass.WindowEndUS)
		}
	}
}

func checkRequest(p *problems, row int, r *event.Request, cells int) {
	if r.Cell < 0 || int(r.Cell) >= cells {
		p.add("request %d: cell %d does not exist: the run has %d", row, r.Cell, cells)
	}
	if r.Repeat < 0 || r.Stream < 0 || r.Ordinal < 0 {
		p.add("request %d: repeat %d, stream %d and ordinal %d must not be negative", row, r.Repeat, r.Stream, r.Ordinal)
	}
	if !slices.Contains(stages[:], r.Stage) || !slices.Contains(outcomes[:], r.Outcome) {
		p.add("request %d: unknown stage %q or outcome %q", row, r.Stage, r.Outcome)
	}
	if !instant(r.StartUS) || r.EndUS != nil && !instant(*r.EndUS) || r.VisibleUS != nil && !instant(*r.VisibleUS) {
		p.add("request %d: an instant is out of range", row)
	}
}

// row is the place of a request among all.
func (b *builder) row(r *event.Request) int {
	for i := range b.requests {
		if r == &b.requests[i] {
			return i
		}
	}
	return -1
}

var stages = [...]event.Stage{event.Scout, event.Warmup, event.InWindow, event.Probe}

var outcomes = [...]event.Outcome{
	event.OK, event.Stopped, event.Truncated, event.Reset, event.Stalled, event.ErrorInStream, event.NotAStream, event.BadRequest,
	event.Unauthorized, event.NotFound, event.RateLimited, event.ServerError, event.Unreachable, event.BadProtocol,
}

func instant(us int64) bool { return us >= 0 && us <= maxInstantUS }
