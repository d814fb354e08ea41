package plan

import (
	"fmt"
	"strings"
	"time"

	"speedmatrix/internal/event"
)

// Row is one cell of the plan as it is printed, before any load.
type Row struct {
	Cell           int // index into Plan.Cells
	Phase          event.Phase
	Label          string
	Context        int
	Concurrency    int
	Status         event.Status // empty: to run
	Reason         string
	NeededTokens   int64
	CapacityTokens *int64 // nil: not known
	CapacitySource string
	NewTokens      int64         // prompt tokens to be prefilled, all repeats together
	Expected       time.Duration // all repeats together; 0 for a cell that is not run
	PrefillUnknown bool          // Expected leaves prefill out
}

// Table lists every cell with what it needs and how long it should take at Config.PrefillTokS.
func (p Plan) Table() []Row {
	e := Estimate(p, p.Config.PrefillTokS)
	rows := make([]Row, len(p.Cells))
	for i, c := range p.Cells {
		rows[i] = Row{
			Cell: i, Phase: c.Phase, Label: c.Label, Context: c.Context, Concurrency: c.Concurrency,
			Status: c.Status, Reason: c.Reason, NeededTokens: c.NeededTokens,
			CapacityTokens: p.Limits.CapacityTokens, CapacitySource: p.Limits.CapacitySource,
			PrefillUnknown: e.PrefillUnknown,
		}
	}
	for i, step := range p.Order {
		rows[step.Cell].NewTokens += e.Steps[i].NewTokens
		rows[step.Cell].Expected += e.Steps[i].Duration
	}
	return rows
}

// Counts says how many cells there are of each kind.
type Counts struct {
	ToRun        int
	OverCapacity int
	OverLength   int
}

// Counts counts the plan's cells.
func (p Plan) Counts() Counts {
	var n Counts
	for _, c := range p.Cells {
		switch c.Status {
		case event.Ran:
			n.ToRun++
		case event.OverCapacity:
			n.OverCapacity++
		case event.OverLength:
			n.OverLength++
		}
	}
	return n
}

// Short is the plan in one line, for the moment before a run:
// "36 cells to run, 10 over capacity, 0 over length; 7,434,233 prompt tokens to prefill; about 33 min".
func (p Plan) Short(e Expectation) string {
	n := p.Counts()
	atLeast := ""
	if e.AtLeast {
		atLeast = "at least "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s to run, %d over capacity, %d over length; ", n.ToRun, plural(n.ToRun, "cell"), n.OverCapacity, n.OverLength)
	fmt.Fprintf(&b, "%s%s prompt tokens to prefill, at least %s sent; about %s", atLeast, grouped(e.NewTokens), grouped(e.SentTokens), roughly(e.Duration))
	if e.PrefillUnknown {
		b.WriteString(" and the time of prefill, which is not known yet")
	}
	return b.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// roughly prints a duration as people plan with it: seconds below two minutes, minutes below two hours.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int64(d.Round(time.Second)/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int64(d.Round(time.Minute)/time.Minute))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// Method is the plan's part of run.toml's [method]; the fields that only the run can know are left zero.
func (p Plan) Method() event.Method {
	c := p.Config
	return event.Method{
		Contexts: c.Contexts, Concurrency: c.Concurrency, Prefill: c.Prefill,
		DurationS: c.Duration.Seconds(), OutputTokens: c.OutputTokens,
		Prompts: c.Prompts, Start: c.Start, Repeats: c.Repeats,
		Temperature: c.Temperature, Endpoint: c.Endpoint,
	}
}

// Capacity is run.toml's [capacity].
func (l Limits) Capacity() event.Capacity {
	return event.Capacity{Tokens: l.CapacityTokens, Source: l.CapacitySource, Limit: l.Context, LimitSource: l.ContextSource}
}
