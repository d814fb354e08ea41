package page

import (
	"fmt"
	"strings"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/unit"
)

// Compare is the page of two runs side by side: the run it belongs to, against its predecessor of the same configuration.
type Compare struct {
	Frame
	Heading     string
	Run         RunRef  // the newer run, whose page this is
	Before      *RunRef // its predecessor; nil when it is the first of its configuration
	Differences []Differs
	Refusals    []string
	Counts      string // "3 faster, 40 no difference seen"
	Rows        []CompareRow
	Within      bool // no side has three repeats: intervals are of the noise within the runs
	Other       string
}

// RunRef names a run on another page.
type RunRef struct {
	ID, Title, Href string
	Date            Date
	Simulated       bool
}

// Differs is a fact that two runs do not share.
type Differs struct{ Term, A, B string }

// CompareRow is one cell of both runs.
type CompareRow struct {
	Phase                string
	Context, Concurrency Value
	A, B                 Value // rates
	Ratio                Value
	Interval             string // "0.98 to 1.04", or ""
	Verdict              string
	Class                string // "faster", "slower", "same", "none"
	Why                  string
	TTFT, Between        Value // ratios
}

// ComparePath is the page that compares a run with its predecessor.
func ComparePath(id string) string { return "compare/" + id + "/" }

// Predecessors finds for each run the one before it of the same configuration; runs are newest first. Interrupted runs are nobody's
// predecessor, since cells are missing.
func Predecessors(all []Listed, names Names) map[string]*Listed {
	n := newNamer(names)
	last := map[string]*Listed{}
	out := map[string]*Listed{}
	for i := len(all) - 1; i >= 0; i-- {
		l := &all[i]
		key := configuration(l, n)
		if before := last[key]; before != nil {
			out[l.Entry.ID] = before
		}
		if counts(&l.Entry) {
			last[key] = l
		}
	}
	return out
}

// NewCompare builds the comparison of a run with its predecessor, nil when there is none.
func NewCompare(run, before *Listed, s Site) Compare {
	path := ComparePath(run.Entry.ID)
	c := Compare{
		Frame:   s.frame("compare", path, "Compare: "+run.Entry.Title, "What changed since the run before of the same configuration: facts first, then cell by cell."),
		Heading: "Compared with the run before",
	}
	c.Run = newRunRef(run, c.Root)
	c.Other = c.Root + "compare/?b=" + run.Entry.ID
	if before == nil {
		c.NoIndex = true
		return c
	}
	ref := newRunRef(before, c.Root)
	c.Before = &ref
	r := compare.Runs(before.Compared, run.Compared)
	c.fill(r)
	return c
}

func newRunRef(l *Listed, root string) RunRef {
	return RunRef{ID: l.Entry.ID, Title: l.Entry.Title, Href: root + RunPath(l.Entry.ID), Date: newDate(l.Entry.Started), Simulated: l.Entry.Simulated}
}

func (c *Compare) fill(r compare.Result) {
	for _, d := range r.Differences {
		c.Differences = append(c.Differences, Differs{factTerm(d.Key), or(clip(Clean(d.A), 2000), "not recorded"), or(clip(Clean(d.B), 2000), "not recorded")})
	}
	for _, why := range r.Refusals {
		c.Refusals = append(c.Refusals, sentence(Clean(why)))
	}
	c.Counts = VerdictCounts(r)
	c.Within = true
	for _, p := range r.Cells {
		c.Rows = append(c.Rows, newCompareRow(p))
		if p.Repeats >= 3 {
			c.Within = false
		}
	}
}

// VerdictCounts is "3 faster, 1 slower, 40 no difference seen, 2 cannot be compared", without what does not occur.
func VerdictCounts(r compare.Result) string {
	var parts []string
	for _, v := range []compare.Verdict{compare.Faster, compare.Slower, compare.NoDiff, compare.NotCompared} {
		if n := r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

var verdictClasses = map[compare.Verdict]string{
	compare.Faster: "faster", compare.Slower: "slower", compare.NoDiff: "same", compare.NotCompared: "none",
}

func newCompareRow(p compare.Pair) CompareRow {
	c := p.Cell()
	n := c.Concurrency
	row := CompareRow{
		Phase: phaseWords[c.Phase], Context: Value{Text: Clean(c.Label), Raw: fmt.Sprint(c.Context)}, Concurrency: wholeValue(&n),
		A: rateOf(p.A), B: rateOf(p.B), Ratio: value(p.Ratio, unit.Ratio), Verdict: string(p.Verdict), Class: verdictClasses[p.Verdict],
		Why: p.Why, TTFT: value(p.TTFT, unit.Ratio), Between: value(p.Between, unit.Ratio),
	}
	if p.Low != nil && p.High != nil {
		row.Interval = RatioInterval(*p.Low, *p.High)
	}
	return row
}

// RatioInterval is "0.98 to 1.04".
func RatioInterval(low, high float64) string {
	return strings.TrimSuffix(unit.Ratio(&low), "x") + " to " + strings.TrimSuffix(unit.Ratio(&high), "x")
}

// rateOf is a cell's rate, or what became of it.
func rateOf(c *compare.Cell) Value {
	switch {
	case c == nil:
		return Value{Text: unit.Dash}
	case c.Status != event.Valid && c.TokS == nil:
		return Value{Text: strings.ReplaceAll(Clean(string(c.Status)), "-", " ")}
	}
	return value(c.TokS, unit.Rate)
}

// factTerm words a fact's key: "engine.kv_cache_dtype" is "Engine: kv cache dtype".
func factTerm(key string) string {
	table, name, ok := strings.Cut(key, ".")
	if !ok {
		return keyTerm(key)
	}
	return keyTerm(table) + ": " + strings.ToLower(keyTerm(name))
}

// CompareAny is /compare/: two runs of the reader's choice, compared by a script from their JSON twins; without it the prepared pairs.
type CompareAny struct {
	Frame
	Heading string
	Pairs   []PreparedPair
	Left    int // pairs that are not listed here; each stands on its run's page
	Source  string
}

// PreparedPair links one prepared comparison.
type PreparedPair struct {
	Href, Title string
	Date        Date
	Before      Date
	Counts      string
	Engine      string
}

// maxPairs bounds the list of prepared pairs.
const maxPairs = 100

// NewCompareAny lists the newest prepared pairs; all runs are newest first.
func NewCompareAny(all []Listed, before map[string]*Listed, s Site) CompareAny {
	c := CompareAny{
		Frame:   s.frame("compare", "compare/", "Compare two runs", "What differs between two runs, and which is faster, cell by cell, with intervals."),
		Heading: "Compare two runs",
	}
	c.Source = c.Root + "data/runs.json"
	for i := range all {
		l, old := &all[i], before[all[i].Entry.ID]
		if old == nil {
			continue
		}
		if len(c.Pairs) == maxPairs {
			c.Left++
			continue
		}
		engine := strings.TrimSpace(l.Entry.Engine + " " + l.Entry.Version)
		if old.Entry.Version != l.Entry.Version {
			engine = strings.TrimSpace(l.Entry.Engine+" "+old.Entry.Version) + " → " + l.Entry.Version
		}
		c.Pairs = append(c.Pairs, PreparedPair{
			Href: l.Entry.ID + "/", Title: l.Entry.Title, Date: newDate(l.Entry.Started), Before: newDate(old.Entry.Started),
			Counts: VerdictCounts(compare.Runs(old.Compared, l.Compared)), Engine: engine,
		})
	}
	return c
}
