package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speedmatrix/internal/chart"
	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Figure is one chart of the run page with the same numbers as a table.
type Figure struct {
	ID      string
	Title   string // the question it answers
	Lead    string // how to read it, and which direction is better
	Label   string // for screen readers, in place of the picture
	Options json.RawMessage
	Picker  *Picker // nil for a chart of the whole run
	Table   DataTable
}

// DataTable is the table below a chart. The first cell of a row names it.
type DataTable struct {
	Caption string
	Head    []string
	Rows    [][]Value
}

// Picker chooses what a chart shows. The choice is data fetched from Source.
type Picker struct {
	Label  string
	Source string // "charts.json" or "requests.json"
	Draw   string // what the script draws: "ttft", "between", "timeline", "strip"
	Groups []PickGroup
}

// PickGroup is a headed part of the choices.
type PickGroup struct {
	Label   string
	Choices []Pick
}

// Pick is one choice: cell anchors separated by spaces.
type Pick struct {
	Value, Label string
	Selected     bool
}

// newFigures builds all charts for which the run has numbers.
func newFigures(s *summary.Run) ([]Figure, error) {
	var out []Figure
	var errs []error
	add := func(f Figure, c chart.Figure, show bool) {
		if !show || c.Empty() {
			return
		}
		var err error
		f.ID = c.ID
		if f.Options, err = chart.Options(c); err != nil {
			errs = append(errs, err)
		}
		out = append(out, f)
	}
	grid := newGrid(s.Decode)
	add(frontier(grid))
	add(throughput(grid))
	add(efficiency(grid))
	add(ttftCDF(grid))
	add(betweenCDF(grid))
	add(timeline(grid))
	add(strip(grid))
	return out, errors.Join(errs...)
}

// grid is the measured decode cells by context row.
type grid struct {
	columns []int // concurrencies that were measured, ascending
	rows    []gridRow
}

type gridRow struct {
	label string
	cells []*summary.Cell // measured ones, by concurrency
}

func newGrid(cells []summary.Cell) grid {
	var g grid
	at := map[string]int{}
	for i := range cells {
		c := &cells[i]
		if !measured(c) {
			continue
		}
		if !slices.Contains(g.columns, c.Concurrency) {
			g.columns = append(g.columns, c.Concurrency)
		}
		n, ok := at[c.Label]
		if !ok {
			n = len(g.rows)
			at[c.Label] = n
			g.rows = append(g.rows, gridRow{label: Clean(c.Label)})
		}
		g.rows[n].cells = append(g.rows[n].cells, c)
	}
	slices.Sort(g.columns)
	for _, r := range g.rows {
		slices.SortStableFunc(r.cells, func(a, b *summary.Cell) int { return a.Concurrency - b.Concurrency })
	}
	return g
}

// all lists the cells, context rows in turn.
func (g grid) all() []*summary.Cell {
	var out []*summary.Cell
	for _, r := range g.rows {
		out = append(out, r.cells...)
	}
	return out
}

func frontier(g grid) (Figure, chart.Figure, bool) {
	c := chart.Figure{
		ID: "frontier", Legend: true,
		X: chart.Axis{Name: "per request, tok/s (more is better)"}, Y: chart.Axis{Name: "total, tok/s (more is better)", Log: true},
	}
	t := DataTable{
		Caption: "Total and per request speed by context and requests at once",
		Head:    []string{"Cell", "Per request tok/s", "Total tok/s"},
	}
	for _, r := range g.rows {
		line := chart.Series{Name: r.label, Marks: true}
		for _, cell := range r.cells {
			if cell.PerRequestTokS == nil || !finite(*cell.PerRequestTokS) || *cell.TokS <= 0 {
				continue
			}
			line.Points = append(line.Points, chart.Point{X: *cell.PerRequestTokS, Y: *cell.TokS, Name: strconv.Itoa(cell.Concurrency)})
			t.Rows = append(t.Rows, []Value{{Text: cellLabel(cell)}, value(cell.PerRequestTokS, unit.Rate), value(cell.TokS, unit.Rate)})
		}
		c.Series = append(c.Series, line)
	}
	return Figure{
		Title: "What does each user get, and what does the server give in all?",
		Lead: "One line a context, one point a number of simultaneous requests (named at the point). Up and to the right is better; " +
			"a line's end shows what more load costs each user.",
		Label: "Line chart of total tok/s against per request tok/s, one line for each context", Table: t,
	}, c, true
}

// byConcurrency draws one number of each cell over the requests at once, a line for each context.
func byConcurrency(g grid, c chart.Figure, format func(*float64) string, pick func(*summary.Cell) *float64, scale float64) (chart.Figure, DataTable) {
	t := DataTable{Head: []string{"Context"}}
	for _, n := range g.columns {
		c.X.Categories = append(c.X.Categories, strconv.Itoa(n))
		t.Head = append(t.Head, strconv.Itoa(n))
	}
	for _, r := range g.rows {
		line := chart.Series{Name: r.label, Marks: true}
		row := slices.Repeat([]Value{{Text: unit.Dash}}, len(g.columns)+1)
		row[0] = Value{Text: r.label}
		for _, cell := range r.cells {
			v := num(pick(cell))
			at := slices.Index(g.columns, cell.Concurrency)
			row[at+1] = value(v, format)
			if v != nil && (!c.Y.Log || *v > 0) {
				line.Points = append(line.Points, chart.Point{X: float64(at), Y: *v * scale})
			}
		}
		c.Series = append(c.Series, line)
		t.Rows = append(t.Rows, row)
	}
	return c, t
}

func throughput(g grid) (Figure, chart.Figure, bool) {
	c := chart.Figure{ID: "throughput", Legend: true, X: chart.Axis{Name: "requests at once"}, Y: chart.Axis{Name: "total, tok/s (more is better)", Log: true}}
	c, t := byConcurrency(g, c, unit.Rate, func(c *summary.Cell) *float64 { return c.TokS }, 1)
	t.Caption = "Total tok/s by context and requests at once"
	return Figure{
		Title: "How does total speed grow with load?",
		Lead:  "The number of requests doubles from mark to mark, and both axes are logarithmic: where a line keeps its slope, nothing is lost by sharing.",
		Label: "Line chart of total tok/s by requests at once, one line for each context", Table: t,
	}, c, len(g.columns) > 1
}

func efficiency(g grid) (Figure, chart.Figure, bool) {
	zero := 0.0
	c := chart.Figure{ID: "efficiency", Legend: true, X: chart.Axis{Name: "requests at once"}, Y: chart.Axis{Name: "scaling efficiency, % (more is better)", Min: &zero}}
	c, t := byConcurrency(g, c, unit.Percent, func(c *summary.Cell) *float64 { return c.ScalingEfficiency }, 100)
	t.Caption = "Scaling efficiency by context and requests at once"
	return Figure{
		Title: "How much of a lone stream's speed is left under load?",
		Lead:  "100 % means that each of the streams is as fast as one alone at the same context.",
		Label: "Line chart of scaling efficiency by requests at once, one line for each context", Table: t,
	}, c, len(g.columns) > 1
}

func ttftCDF(g grid) (Figure, chart.Figure, bool) {
	f, c, ok := cdf(g, "ttft", "TTFT, ms (less is better)", unit.Millis, func(c *summary.Cell) summary.Distribution { return c.TTFT })
	f.Title = "How long until the first token?"
	f.Lead = "The share of requests whose first token came within the time on the axis; further left is better, steeper is steadier. " +
		"Only the kind of TTFT that the cell shows."
	f.Label = "Line chart of the cumulative distribution of TTFT for the chosen cells"
	f.Table.Caption = "TTFT by cell, in milliseconds"
	return f, c, ok
}

func betweenCDF(g grid) (Figure, chart.Figure, bool) {
	f, c, ok := cdf(g, "between", "time between tokens, ms (less is better)", unit.MillisFine, func(c *summary.Cell) summary.Distribution { return c.BetweenTokens })
	f.Title = "How evenly do tokens flow?"
	f.Lead = "The share of requests whose mean time between tokens was within the time on the axis; further left is better."
	f.Label = "Line chart of the cumulative distribution of the time between tokens for the chosen cells"
	f.Table.Caption = "Time between tokens by cell, in milliseconds"
	return f, c, ok
}

// cdf draws the distribution of the first context's cells; the picker chooses other ones.
func cdf(g grid, id, axis string, format func(*float64) string, pick func(*summary.Cell) summary.Distribution) (Figure, chart.Figure, bool) {
	zero, hundred := 0.0, 100.0
	c := chart.Figure{ID: id, Legend: true, X: chart.Axis{Name: axis, Log: true, Digits: drawnDigits}, Y: chart.Axis{Name: "share of requests, %", Min: &zero, Max: &hundred}}
	t := DataTable{Head: []string{"Cell", "n", "min", "median", "p90", "p99", "max"}}
	has := func(c *summary.Cell) bool {
		d := pick(c)
		return hasQuantiles(d) && d.Quantiles[0] > 0 // the axis is logarithmic
	}
	first := ""
	for _, cell := range g.all() {
		if !has(cell) {
			continue
		}
		d := pick(cell)
		n := d.N
		t.Rows = append(t.Rows, []Value{{Text: cellLabel(cell)}, {Text: unit.Count(&n)}, {Text: format(d.Min)}, {Text: format(d.Median)},
			{Text: format(d.P90)}, {Text: format(d.P99)}, {Text: format(d.Max)}})
		if first == "" {
			first = cell.Label
		}
		if cell.Label == first {
			line := chart.Series{Name: cellLabel(cell)}
			line.Points = cdfPoints(d.Quantiles)
			c.Series = append(c.Series, line)
		}
	}
	p := &Picker{Label: "Cells", Source: "charts.json", Draw: id, Groups: pickGroups(g, has)}
	return Figure{Picker: p, Table: t}, c, len(t.Rows) > 0
}

// cdfPoints keeps every tenth of the distribution, its last twentieth and its last hundredth: the page, whose size is bounded, holds
// what is drawn where the script cannot fetch all 101 quantiles.
func cdfPoints(quantiles []float64) []chart.Point {
	var out []chart.Point
	for i, v := range quantiles {
		if i%10 == 0 || i == 95 || i == 99 {
			out = append(out, chart.Point{X: v, Y: float64(i)})
		}
	}
	return out
}

// pickGroups offers each context, each number of requests and each single cell that has data; the first is chosen.
func pickGroups(g grid, has func(*summary.Cell) bool) []PickGroup {
	rows, columns, single := PickGroup{Label: "One context"}, PickGroup{Label: "Requests at once"}, PickGroup{Label: "One cell"}
	byColumn := map[int][]string{}
	for _, r := range g.rows {
		var ids []string
		for _, c := range r.cells {
			if !has(c) {
				continue
			}
			ids = append(ids, cellID(c))
			byColumn[c.Concurrency] = append(byColumn[c.Concurrency], cellID(c))
			single.Choices = append(single.Choices, Pick{Value: cellID(c), Label: cellLabel(c)})
		}
		if len(ids) > 0 {
			rows.Choices = append(rows.Choices, Pick{Value: strings.Join(ids, " "), Label: r.label + " context", Selected: len(rows.Choices) == 0})
		}
	}
	for _, n := range g.columns {
		if ids := byColumn[n]; len(ids) > 0 {
			columns.Choices = append(columns.Choices, Pick{Value: strings.Join(ids, " "), Label: plural(n, "request") + " at once"})
		}
	}
	return []PickGroup{rows, columns, single}
}

// cellPicker offers single cells, with one chosen.
func cellPicker(g grid, source, draw string, has func(*summary.Cell) bool, chosen *summary.Cell) *Picker {
	p := &Picker{Label: "Cell", Source: source, Draw: draw}
	for _, r := range g.rows {
		group := PickGroup{Label: r.label + " context"}
		for _, c := range r.cells {
			if has(c) {
				group.Choices = append(group.Choices, Pick{Value: cellID(c), Label: cellLabel(c), Selected: c == chosen})
			}
		}
		if len(group.Choices) > 0 {
			p.Groups = append(p.Groups, group)
		}
	}
	return p
}

func timeline(g grid) (Figure, chart.Figure, bool) {
	has := func(c *summary.Cell) bool { return hasTimeline(c.Timeline) }
	cell := busiest(g, has)
	if cell == nil {
		return Figure{}, chart.Figure{}, false
	}
	d := newTimeline(cell.Timeline)
	zero := 0.0
	c := chart.Figure{
		ID: "timeline", X: chart.Axis{Name: "seconds from the start of the window"},
		Y:      chart.Axis{Name: "output, tok/s (more is better)", Min: &zero, Digits: drawnDigits},
		Window: &chart.Window{Name: "measured window", From: 0, To: d.windowS},
	}
	line := chart.Series{Name: cellLabel(cell), Step: true, Area: true}
	t := DataTable{Caption: "Output over time of " + cellLabel(cell), Head: []string{"From, s", "To, s", "tok/s"}}
	for i, v := range d.tokS {
		from := d.fromS + float64(i)*d.binS
		line.Points = append(line.Points, chart.Point{X: from, Y: v})
		t.Rows = append(t.Rows, []Value{secondsValue(from), secondsValue(from + d.binS), {Text: unit.Rate(&v)}})
	}
	if n := len(d.tokS); n > 0 { // the last step ends where its bin does
		line.Points = append(line.Points, chart.Point{X: d.fromS + float64(n)*d.binS, Y: d.tokS[n-1]})
	}
	c.Series = []chart.Series{line}
	return Figure{
		Title:  "Was the output steady?",
		Lead:   "Tokens a second of all streams together, before, in and after the measured window. Only the window counts.",
		Label:  "Line chart of output in tok/s over time for the chosen cell, with the measured window marked",
		Picker: cellPicker(g, "charts.json", "timeline", has, cell), Table: t,
	}, c, true
}

// busiest is the cell with the most output among those that have something to draw, nil when none has.
func busiest(g grid, has func(*summary.Cell) bool) *summary.Cell {
	var best *summary.Cell
	for _, c := range g.all() {
		if has(c) && (best == nil || *c.TokS > *best.TokS) {
			best = c
		}
	}
	return best
}

func strip(g grid) (Figure, chart.Figure, bool) {
	has := func(c *summary.Cell) bool { return len(c.Strip) > 0 }
	cell := readable(g, has)
	if cell == nil {
		return Figure{}, chart.Figure{}, false
	}
	d, _ := newStrip(cell)
	c := chart.Figure{
		ID: "strip", Legend: true, X: chart.Axis{Name: "seconds from the start of the window"},
		Y: chart.Axis{Name: "stream", Inverse: true, Categories: streamNames(d.rows)},
	}
	if d.windowS > 0 {
		c.Window = &chart.Window{Name: "measured window", From: 0, To: d.windowS}
	}
	wait, receive := chart.Series{Name: "waiting for the first token", Thick: true, Ticks: true}, chart.Series{Name: "receiving tokens", Thick: true}
	t := DataTable{
		Caption: "Requests of " + cellLabel(cell) + ", in seconds",
		Head:    []string{"Stream", "Stage", "Start", "First token", "Last token", "End", "Tokens", "Outcome"},
	}
	for _, s := range d.rows {
		y := float64(slices.Index(c.Y.Categories, strconv.Itoa(s.stream)))
		if to := firstOf(s.first, s.end); to != nil {
			wait.Points = append(wait.Points, chart.Point{X: s.start, Y: y}, chart.Point{X: *to, Y: y}, chart.Break())
		}
		if s.first != nil && s.last != nil {
			receive.Points = append(receive.Points, chart.Point{X: *s.first, Y: y}, chart.Point{X: *s.last, Y: y}, chart.Break())
		}
		n := s.tokens
		t.Rows = append(t.Rows, []Value{{Text: strconv.Itoa(s.stream)}, {Text: s.stage}, secondsValue(s.start), secondsPointer(s.first),
			secondsPointer(s.last), secondsPointer(s.end), {Text: unit.Count(&n)}, {Text: s.outcome}})
	}
	c.Series = []chart.Series{wait, receive}
	return Figure{
		Title:  "When did each request start, speak and end?",
		Lead:   "One row a stream, one bar a request: first the wait for its first token, then its tokens. Starts that stand below each other came together.",
		Label:  "Strip chart of the requests of the chosen cell over time, one row for each stream",
		Picker: cellPicker(g, "requests.json", "strip", has, cell), Table: t,
	}, c, true
}

// streamNames lists the streams of a strip, ascending.
func streamNames(spans []stripSpan) []string {
	var streams []int
	for _, s := range spans {
		if !slices.Contains(streams, s.stream) {
			streams = append(streams, s.stream)
		}
	}
	slices.Sort(streams)
	out := make([]string, len(streams))
	for i, n := range streams {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// readable is the cell with the most streams up to 16, preferring valid ones of the first context: more rows than that are
// no longer told apart.
func readable(g grid, has func(*summary.Cell) bool) *summary.Cell {
	var best *summary.Cell
	better := func(a, b *summary.Cell) bool {
		if (a.Concurrency <= 16) != (b.Concurrency <= 16) {
			return a.Concurrency <= 16
		}
		if (a.Status == event.Valid) != (b.Status == event.Valid) {
			return a.Status == event.Valid
		}
		if a.Concurrency <= 16 {
			return a.Concurrency > b.Concurrency
		}
		return a.Concurrency < b.Concurrency
	}
	for _, c := range g.all() {
		if has(c) && (best == nil || better(c, best)) {
			best = c
		}
	}
	return best
}

func firstOf(vs ...*float64) *float64 {
	for _, v := range vs {
		if v != nil {
			return v
		}
	}
	return nil
}

func secondsValue(v float64) Value {
	return Value{Text: fmt.Sprintf("%.2f", v)}
}

func secondsPointer(v *float64) Value {
	if v == nil {
		return Value{Text: unit.Dash}
	}
	return secondsValue(*v)
}
