package summary

import (
	"speedmatrix/internal/event"
	"speedmatrix/internal/stat"
)

// builder holds what the cells of one run share while they are computed.
type builder struct {
	run      *event.Run
	requests []event.Request
	problems problems
	gaps     *gapCounter // of the cell that is being computed
	draw     *stat.Bootstrap

	onesAt *int32 // where a list of ones was seen last, and how many
	ones   int
}

// Buffer is memory that several calls of SummarizeIn use one after the other. The zero value is ready. It is used by one goroutine at a time.
type Buffer struct{ gaps *gapCounter }

// Summarize computes every number of a run's pages from its raw events (see the package comment for the steps). Requests and
// samples may stand in any order and are not changed. The error joins all reasons why the events cannot be a run's.
func Summarize(run event.Run, requests []event.Request, samples []event.Sample) (Run, error) {
	return SummarizeIn(&Buffer{}, run, requests, func(int) error { return nil }, samples)
}

// SummarizeIn is Summarize in memory that is used again; the result does not lie in it. It calls load with each cell in turn, and from then on until the next call it
// looks at the chunks of that cell's requests, which may be empty before and after.
func SummarizeIn(memory *Buffer, run event.Run, requests []event.Request, load func(cell int) error, samples []event.Sample) (Run, error) {
	if memory.gaps == nil {
		memory.gaps = newGapCounter()
	}
	b := &builder{run: &run, requests: requests, gaps: memory.gaps, draw: stat.NewBootstrap(run.Seed)}
	if check(&b.problems, run, requests); b.problems.err() != nil {
		return Run{}, b.problems.err()
	}
	cells, others := group(run, requests)
	observe(cells, samples)
	out := Run{Facts: run, Title: title(&run), Warnings: runWarnings(&run)}
	for i := range run.Cells {
		if err := load(i); err != nil {
			return Run{}, err
		}
		if !b.lookAt(cells[i], others[i]) {
			continue
		}
		cell := b.cell(i, cells[i])
		if cell.Phase == event.Prefill {
			out.Prefill = append(out.Prefill, cell)
		} else {
			out.Decode = append(out.Decode, cell)
		}
	}
	if err := b.problems.err(); err != nil {
		return Run{}, err
	}
	setScaling(out.Decode)
	return out, nil
}

// cell computes one cell. A cell that was not run has its facts and its status only.
func (b *builder) cell(index int, attempts []attempt) Cell {
	stored := &b.run.Cells[index]
	c := Cell{
		Index: index, Phase: stored.Phase, Context: stored.Context, Label: stored.Label, Concurrency: stored.Concurrency,
		NeededTokens: stored.NeededTokens, CapacityTokens: b.run.Capacity.Tokens,
	}
	switch {
	case storedStatus(stored.Status):
		c.Status, c.Reason = stored.Status, stored.Reason
	case len(attempts) == 0:
		c.Status, c.Reason = event.NotRun, "the run stopped before this cell"
	case stored.Phase == event.Prefill:
		b.prefill(&c, attempts)
	default:
		b.decode(&c, attempts)
	}
	return c
}

// setScaling compares each valid cell with one request alone at the same context.
func setScaling(decode []Cell) {
	alone := map[int]float64{} // by context
	for i := range decode {
		if c := &decode[i]; c.Concurrency == 1 && c.Status == event.Valid && *c.TokS > 0 {
			alone[c.Context] = *c.TokS
		}
	}
	for i := range decode {
		c := &decode[i]
		if one, ok := alone[c.Context]; ok && c.Status == event.Valid {
			c.ScalingEfficiency = ptr(*c.TokS / (float64(c.Concurrency) * one))
		}
	}
}
