package compare

import (
	"math"
	"slices"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

const (
	// minRepeats is how many repeats a side needs before its interval covers the differences between runs.
	minRepeats = 3
	// Margin is the share beyond which two rates differ without repeats: 1.10 times as fast, or 1/1.10.
	Margin = 0.10
)

// Verdict is what a comparison says, in words.
type Verdict string

const (
	Faster      Verdict = "faster"
	Slower      Verdict = "slower"
	NoDiff      Verdict = "no difference seen"
	NotCompared Verdict = "cannot be compared"
)

// Difference is a fact that two runs do not share; "" is not recorded.
type Difference struct{ Key, A, B string }

// Result compares run B with run A, the reference.
type Result struct {
	A, B        Run
	Differences []Difference
	Refusals    []string // why the runs must not be divided by each other; then no cell has a ratio
	Cells       []Pair
}

// Pair is one cell of both runs. A or B is nil where the run does not have it.
type Pair struct {
	A, B    *Cell
	Ratio   *float64 // B's rate over A's
	Low     *float64 // 95 % interval of the ratio, where both sides have one
	High    *float64
	Repeats int // the fewer of both sides' repeats; below 3 the interval is of noise within the runs
	Verdict Verdict
	Why     string   // for NotCompared: the reason, a clause
	TTFT    *float64 // B's median TTFT over A's, of one kind
	Between *float64 // B's time between tokens over A's
}

// Runs compares b with a.
func Runs(a, b Run) Result {
	r := Result{A: a, B: b, Differences: differences(&a, &b), Refusals: refusals(&a, &b)}
	for _, p := range pairs(a.Cells, b.Cells) {
		p.compare(len(r.Refusals) > 0)
		r.Cells = append(r.Cells, p)
	}
	return r
}

// Count is how many cells have each verdict.
func (r Result) Count(v Verdict) int {
	n := 0
	for _, p := range r.Cells {
		if p.Verdict == v {
			n++
		}
	}
	return n
}

func differences(a, b *Run) []Difference {
	var out []Difference
	keys := map[string]bool{}
	for _, r := range []*Run{a, b} {
		for _, f := range r.Facts {
			keys[f.Key] = true
		}
	}
	for key := range keys {
		if x, y := a.fact(key), b.fact(key); x != y {
			out = append(out, Difference{key, x, y})
		}
	}
	slices.SortFunc(out, func(x, y Difference) int { return strings.Compare(x.Key, y.Key) })
	return out
}

// refusals are the differences of method that make a ratio meaningless.
func refusals(a, b *Run) []string {
	var out []string
	if a.Simulated != b.Simulated {
		out = append(out, "one of the runs was measured against a simulated engine")
	}
	return append(out, a.Method.against(b.Method)...)
}

type place struct {
	phase                event.Phase
	context, concurrency int
}

func placeOf(c *Cell) place { return place{c.Phase, c.Context, c.Concurrency} }

// pairs joins the cells of both runs: those of a in its order, then those that only b has.
func pairs(a, b []Cell) []Pair {
	at := map[place]*Cell{}
	for i := range b {
		at[placeOf(&b[i])] = &b[i]
	}
	var out []Pair
	seen := map[place]bool{}
	for i := range a {
		p := placeOf(&a[i])
		if !seen[p] {
			out = append(out, Pair{A: &a[i], B: at[p]})
		}
		seen[p] = true
	}
	for i := range b {
		if p := placeOf(&b[i]); !seen[p] {
			out = append(out, Pair{B: &b[i]})
			seen[p] = true
		}
	}
	return out
}

// Cell is the cell of whichever run has it.
func (p Pair) Cell() *Cell {
	if p.A != nil {
		return p.A
	}
	return p.B
}

func (p *Pair) compare(refused bool) {
	p.Verdict = NotCompared
	switch {
	case p.A == nil:
		p.Why = "only the second run has this cell"
	case p.B == nil:
		p.Why = "only the first run has this cell"
	case refused:
		p.Why = "the methods differ"
	case p.A.Status != event.Valid || p.B.Status != event.Valid:
		p.Why = statusWhy(p.A, p.B)
	case p.A.TokS == nil || p.B.TokS == nil || !(*p.A.TokS > 0) || !(*p.B.TokS > 0):
		p.Why = "a rate is missing"
	default:
		p.divide()
	}
}

// statusWhy names the run whose cell is no valid measurement.
func statusWhy(a, b *Cell) string {
	say := func(which string, s event.Status) string {
		return which + " run: " + strings.ReplaceAll(string(s), "-", " ")
	}
	switch {
	case a.Status == b.Status:
		return "both runs: " + strings.ReplaceAll(string(a.Status), "-", " ")
	case a.Status == event.Valid:
		return say("second", b.Status)
	case b.Status == event.Valid:
		return say("first", a.Status)
	}
	return say("first", a.Status) + ", " + say("second", b.Status)
}

// divide sets ratios, interval and verdict of two valid cells.
func (p *Pair) divide() {
	ratio := *p.B.TokS / *p.A.TokS
	p.Ratio = &ratio
	if p.A.TTFTKind == p.B.TTFTKind {
		p.TTFT = quotient(p.B.TTFTMS, p.A.TTFTMS)
	}
	p.Between = quotient(p.B.BetweenMS, p.A.BetweenMS)
	p.Repeats = min(repeats(p.A), repeats(p.B))
	if half, ok := halfWidth(p.A.Interval, p.B.Interval); ok {
		low, high := ratio*math.Exp(-half), ratio*math.Exp(half)
		p.Low, p.High = &low, &high
	}
	p.Verdict = verdict(ratio, p.Low, p.High, p.Repeats)
}

func repeats(c *Cell) int {
	if c.Interval == nil {
		return 0
	}
	return c.Interval.Repeats
}

func quotient(b, a *float64) *float64 {
	if a == nil || b == nil || !(*a > 0) || !(*b > 0) {
		return nil
	}
	q := *b / *a
	return &q
}

// halfWidth is half the width of the 95 % interval of ln(B/A): the two rates are independent, so the half widths of their logarithms
// add as squares. An interval that is not above 0 gives none.
func halfWidth(a, b *summary.Interval) (float64, bool) {
	if a == nil || b == nil || !(a.Low > 0) || !(b.Low > 0) {
		return 0, false
	}
	return math.Hypot(math.Log(a.High/a.Low)/2, math.Log(b.High/b.Low)/2), true
}

// verdict decides by the interval where both sides have repeats, else by the margin.
func verdict(ratio float64, low, high *float64, repeats int) Verdict {
	up, down := ratio > 1+Margin, ratio < 1/(1+Margin)
	if repeats >= minRepeats && low != nil {
		up, down = *low > 1, *high < 1
	}
	switch {
	case up:
		return Faster
	case down:
		return Slower
	}
	return NoDiff
}
