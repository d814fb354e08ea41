package page

import (
	"cmp"
	"math"
	"slices"
	"time"

	"speedmatrix/internal/compare"
)

// trendRun is one run in a trend, by one cell.
type trendRun struct {
	run  *Listed
	cell *compare.Cell
}

// segment is the runs of one version between two changes, oldest first.
type segment struct {
	label string // the version; with its first day when it is not the version's first segment
	runs  []trendRun
}

func (s segment) from() time.Time { return s.runs[0].run.Entry.Started }

// segments divides runs, oldest first, by version, and each version's where its speed changed; in the order of their first runs.
func segments(runs []trendRun) []segment {
	by := map[string][]trendRun{}
	var versions []string
	for _, r := range runs {
		version := or(r.run.Entry.Version, "version not recorded")
		if by[version] == nil {
			versions = append(versions, version)
		}
		by[version] = append(by[version], r)
	}
	var out []segment
	for _, version := range versions {
		for i, part := range splitAtChanges(by[version]) {
			s := segment{version, part}
			if i > 0 {
				s.label += " (" + newDate(s.from()).Day + ")"
			}
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b segment) int { return a.from().Compare(b.from()) })
	return out
}

// splitAtChanges divides runs of one version, oldest first: a new part begins with the day whose runs differ from the part so far by the
// rule of comparisons, and by more than the version's runs scatter.
func splitAtChanges(runs []trendRun) [][]trendRun {
	scatter := scatterOf(runs)
	first := oneDay(runs)
	out := [][]trendRun{runs[:first:first]}
	part := ranked(nil).with(runs[:first])
	for at := first; at < len(runs); {
		day := runs[at : at+oneDay(runs[at:])]
		c := changeOf(part, ranked(nil).with(day))
		limit := minSigmas * scatter * math.Sqrt(1/float64(len(part))+1/float64(len(day)))
		if c.seen() && math.Abs(math.Log(*c.ratio)) > limit {
			out = append(out, nil)
			part = nil
		}
		last := &out[len(out)-1]
		*last = append(*last, day...)
		part = part.with(day)
		at += len(day)
	}
	return out
}

// minSigmas is how many standard deviations two parts must be apart, besides the rule of comparisons.
const minSigmas = 3

// oneDay is how many of the first runs are of one day, UTC.
func oneDay(runs []trendRun) int {
	day := newDate(runs[0].run.Entry.Started).Day
	n := slices.IndexFunc(runs, func(r trendRun) bool { return newDate(r.run.Entry.Started).Day != day })
	if n < 0 {
		return len(runs)
	}
	return n
}

// scatterOf is the standard deviation of the logarithm of a run's rate, by the (lower) median absolute difference of successive runs: a change, which
// is few of the differences, does not raise it (median |d| / (0.6745 √2) for the normal distribution). 0 with fewer than three differences.
func scatterOf(runs []trendRun) float64 {
	var steps []float64
	for i := 1; i < len(runs); i++ {
		steps = append(steps, math.Abs(math.Log(*runs[i].cell.TokS / *runs[i-1].cell.TokS)))
	}
	if len(steps) < 3 {
		return 0
	}
	slices.Sort(steps)
	return steps[(len(steps)-1)/2] / (0.6745 * math.Sqrt2)
}

// change is what happened between two groups of runs.
type change struct {
	verdict compare.Verdict
	ratio   *float64 // of the middle runs, now over before; not nil where a change is seen
	refusal string   // why they cannot be compared
}

func (c change) seen() bool { return c.verdict == compare.Faster || c.verdict == compare.Slower }

// changeOf applies the rule of comparisons to the run in the middle of each side. There is no difference to see where either lies among
// the runs of the other side: then the runs scatter more than they differ.
func changeOf(before, now ranked) change {
	a, b := before.middle(), now.middle()
	r := compare.Runs(withCell(a), withCell(b))
	c := change{verdict: r.Cells[0].Verdict, ratio: r.Cells[0].Ratio}
	if len(r.Refusals) > 0 {
		c.refusal = r.Refusals[0]
	}
	if c.seen() && (before.contains(b) || now.contains(a)) {
		c.verdict = compare.NoDiff
	}
	return c
}

// ranked is runs by their rate, ascending.
type ranked []trendRun

func (r ranked) with(more []trendRun) ranked {
	for _, m := range more {
		at, _ := slices.BinarySearchFunc(r, m, func(a, b trendRun) int { return cmp.Or(cmp.Compare(*a.cell.TokS, *b.cell.TokS), -1) })
		r = slices.Insert(r, at, m)
	}
	return r
}

// middle is the run whose rate is the lower median.
func (r ranked) middle() trendRun { return r[(len(r)-1)/2] }

// contains reports whether a run's rate lies between the lowest and the highest.
func (r ranked) contains(other trendRun) bool {
	return *r[0].cell.TokS <= *other.cell.TokS && *other.cell.TokS <= *r[len(r)-1].cell.TokS
}

// withCell is a run of one cell only.
func withCell(r trendRun) compare.Run {
	run := r.run.Compared
	run.Cells = []compare.Cell{*r.cell}
	return run
}
