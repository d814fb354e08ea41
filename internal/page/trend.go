package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speedmatrix/internal/chart"
	"speedmatrix/internal/stat"
	"speedmatrix/internal/unit"
)

// Trend is the page of one model on one GPU over engine versions and dates.
type Trend struct {
	Frame
	Heading string
	Lead    string
	Groups  []Group
	Lines   []TrendLine
}

// TrendLine is one configuration over time, by one cell of its matrix.
type TrendLine struct {
	ID, Title string
	Lead      string
	Figure    Figure
	Points    []TrendPoint
}

// TrendPoint is the runs of one version between two changes, in the order of their first day.
type TrendPoint struct {
	Version string // with the first day, where the version was measured before and has changed since
	From    Date
	Runs    Value
	Median  Value
	Low     Value // of the band of noise
	High    Value
	Change  string // against the point before: "faster, 1.12x", "no difference seen", …
	Class   string
	Href    string // the newest run
}

// TrendIndex lists the pages of trends.
type TrendIndex struct {
	Frame
	Heading string
	Lead    string
	Rows    []TrendRow
}

// TrendRow is one model on one GPU.
type TrendRow struct {
	Model, GPU, Href     string
	Runs, Configurations Value
	Newest               Date
}

// band is the least height of a line's band of noise, as a share of the axis: what is within it is not to be read as a change.
const band = 0.05

// NewTrends builds the index and a page for each model and GPU. Runs are newest first, with canonical names.
func NewTrends(all []Listed, names Names, s Site) ([]FacetPage, error) {
	n := newNamer(names)
	f := &faceter{all, n, s}
	index := TrendIndex{
		Frame:   s.frame("trends", trendsFolder, "Trends", "Speed of the same model on the same GPU over engine versions and dates."),
		Heading: "Trends", Lead: "The same model on the same GPU over engine versions and dates. Runs of one configuration are grouped.",
	}
	var out []FacetPage
	for _, v := range f.divide(trendsFolder, f.runs(), trendName) {
		page, err := newTrend(v, n, s)
		if err != nil {
			return nil, err
		}
		out = append(out, FacetPage{Template: "trend.html", Path: v.path, Model: page})
		e := &v.runs[0].Entry
		index.Rows = append(index.Rows, TrendRow{
			Model: e.Model, GPU: e.GPU, Href: strings.TrimPrefix(v.path, trendsFolder), Runs: count(float64(len(v.runs))),
			Configurations: count(float64(len(page.Groups))), Newest: newDate(e.Started),
		})
	}
	return append([]FacetPage{{Template: "trends.html", Path: trendsFolder, Model: index}}, out...), nil
}

const trendsFolder = "trends/"

// trendName is what runs of one trend have in common, "" for a run that is part of none.
func trendName(e *Entry) string {
	if e.Model == "" || e.GPU == "" {
		return ""
	}
	return e.Model + " on " + e.GPU
}

func newTrend(v facetValue, n *namer, s Site) (Trend, error) {
	t := Trend{
		Frame: s.frame("trend", v.path, "Trend: "+v.name, v.name+" over engine versions and dates."), Heading: v.name,
		Lead: "One point a version, and a new one from the day on which its speed changed. A change is marked only beyond the noise: beyond 10 %, or, where both " +
			"sides have runs of three or more repeats, beyond their interval; and never where the middle run of one side lies among the runs of the other.",
	}
	t.Groups = groups(v.runs, n, t.Root)
	by := map[string][]*Listed{}
	var order []string
	for _, l := range v.runs {
		key := configuration(l, n)
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], l)
	}
	slices.Sort(order)
	method := methodNames(v.runs)
	for _, key := range order {
		runs := by[key]
		context := commonContext(runs)
		e := &runs[0].Entry
		name := clip(or(e.Engine, "engine not recorded"), 80) + ", " + joined(or(e.Quantization, "quantization not recorded"), method(runs[0]))
		for _, concurrency := range ends(runs, context) {
			line, ok, err := newTrendLine(runs, context, concurrency, len(t.Lines), name, t.Root)
			if err != nil {
				return t, err
			}
			if ok {
				t.Lines = append(t.Lines, line)
			}
		}
	}
	return t, nil
}

// ends are the smallest and the largest concurrency that more than half of the runs have measured at a context.
func ends(runs []*Listed, context int) []int {
	have := map[int]int{}
	for _, l := range runs {
		for _, c := range cellsAt(&l.Compared, context) {
			have[c.Concurrency]++
		}
	}
	var common []int
	for n, k := range have {
		if 2*k > len(runs) {
			common = append(common, n)
		}
	}
	slices.Sort(common)
	if len(common) < 2 {
		return common
	}
	return []int{common[0], common[len(common)-1]}
}

// newTrendLine follows one cell; it needs two runs.
func newTrendLine(runs []*Listed, context, concurrency, number int, name, root string) (TrendLine, bool, error) {
	var measured []trendRun
	for i := len(runs) - 1; i >= 0; i-- { // oldest first
		if !counts(&runs[i].Entry) {
			continue
		}
		for _, c := range cellsAt(&runs[i].Compared, context) {
			if c.Concurrency == concurrency {
				measured = append(measured, trendRun{runs[i], c})
			}
		}
	}
	if len(measured) < 2 {
		return TrendLine{}, false, nil
	}
	cell := unit.Size(context) + " × " + strconv.Itoa(concurrency)
	line := TrendLine{
		ID: "line-" + strconv.Itoa(number+1), Title: name + ": " + cell,
		Lead: "Total tok/s at " + unit.Size(context) + " context with " + plural(concurrency, "simultaneous request") + "; the median of each point's runs.",
	}
	all := segments(measured)
	for i, s := range all {
		p := newTrendPoint(s, root)
		if i > 0 {
			p.mark(all[i-1].runs, s.runs)
		}
		line.Points = append(line.Points, p)
	}
	figure, err := trendFigure(line, all)
	line.Figure = figure
	return line, true, err
}

func newTrendPoint(s segment, root string) TrendPoint {
	runs := s.runs
	newest := &runs[len(runs)-1].run.Entry
	m, low, high := noise(runs)
	return TrendPoint{
		Version: s.label, From: newDate(runs[0].run.Entry.Started), Runs: count(float64(len(runs))), Median: value(&m, unit.Rate),
		Low: value(&low, unit.Rate), High: value(&high, unit.Rate), Href: root + RunPath(newest.ID),
	}
}

// noise is the median rate of runs, and the band in which they and the newest run's interval lie.
func noise(runs []trendRun) (median, low, high float64) {
	var xs []float64
	for _, r := range runs {
		xs = append(xs, *r.cell.TokS)
	}
	median, _ = stat.Median(xs)
	low, high = slices.Min(xs), slices.Max(xs)
	for _, r := range runs {
		if i := r.cell.Interval; i != nil {
			low, high = min(low, i.Low), max(high, i.High)
		}
	}
	return median, low, high
}

// mark says whether the runs of a point differ from those of the one before.
func (p *TrendPoint) mark(before, now []trendRun) {
	c := changeOf(ranked(nil).with(before), ranked(nil).with(now))
	p.Change, p.Class = string(c.verdict), verdictClasses[c.verdict]
	switch {
	case c.refusal != "":
		p.Change += ": " + c.refusal
	case c.seen():
		p.Change += ", " + unit.Ratio(c.ratio)
	}
}

// trendFigure draws the median of each point's runs between the ends of its band. The axis starts at 0, and the band is never thinner than a
// twentieth of it, so that noise does not look like a cliff.
func trendFigure(line TrendLine, all []segment) (Figure, error) {
	zero, top := 0.0, 0.0
	var labels []string
	for _, s := range all {
		_, _, high := noise(s.runs)
		top = max(top, high)
		labels = append(labels, s.label)
	}
	top *= 1.1
	c := chart.Figure{
		ID: line.ID, Legend: true, X: chart.Axis{Name: "engine version, oldest first", Categories: labels},
		Y: chart.Axis{Name: "total, tok/s (more is better)", Min: &zero},
	}
	var medians, lows, highs []chart.Point
	t := DataTable{Caption: line.Title + ", tok/s by engine version", Head: []string{"Version", "Median", "Band from", "Band to"}}
	for i, s := range all {
		m, low, high := noise(s.runs)
		half := top * band / 2
		low, high = math.Max(0, math.Min(low, m-half)), math.Max(high, m+half)
		x := float64(i)
		medians = append(medians, chart.Point{X: x, Y: m})
		lows, highs = append(lows, chart.Point{X: x, Y: low}), append(highs, chart.Point{X: x, Y: high})
		t.Rows = append(t.Rows, []Value{{Text: s.label}, value(&m, unit.Rate), value(&low, unit.Rate), value(&high, unit.Rate)})
	}
	c.Series = []chart.Series{{Name: "median", Points: medians, Marks: true}, {Name: "band, upper end", Points: highs}, {Name: "band, lower end", Points: lows}}
	f := Figure{
		ID: c.ID, Title: "Did a version or a day change it?", Table: t,
		Lead: fmt.Sprintf("The band covers the runs of a point and their intervals, and is drawn no thinner than %d %% of the axis: what lies within it is noise.",
			int(band*100)),
		Label: "Line chart of " + line.Title + " by engine version, with a band of noise",
	}
	var err error
	f.Options, err = chart.Options(c)
	return f, err
}

// Simulated reports whether a run of the page was measured against the simulated engine.
func (t Trend) Simulated() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool { return g.Simulated })
}
