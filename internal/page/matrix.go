package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Bar is one line of the prefill chart.
type Bar struct {
	Context string // "8K"
	Href    string // to its row
	TokS    Value
	TTFT    Value
	Width   string // 0 to 100, an SVG attribute; "0" without a value
	State   State
	Valid   bool
}

func newBars(cells []summary.Cell) []Bar {
	var top float64
	for i := range cells {
		if measured(&cells[i]) {
			top = math.Max(top, *cells[i].TokS)
		}
	}
	out := make([]Bar, 0, len(cells))
	for i := range cells {
		c := &cells[i]
		b := Bar{
			Context: Clean(c.Label), Href: "#" + cellID(c), Width: "0", State: newState(c),
			TokS: value(c.TokS, unit.RateBar), TTFT: value(c.TTFTMS, unit.Millis), Valid: c.Status == event.Valid,
		}
		if measured(c) && top > 0 {
			b.Width = fmt.Sprintf("%.2f", 100*math.Max(0, *c.TokS)/top)
		}
		out = append(out, b)
	}
	return out
}

// Matrix is the decode table: rows are context lengths, columns are simultaneous requests.
type Matrix struct {
	Columns    []Value
	Rows       []MatrixRow
	Kind       string   // the TTFT kind of the cells that name none, in words; "" when there is none
	OtherKinds string   // the kinds that cells name, explained
	Footnotes  []string // states that occur, then what TTFT includes
	Low, High  Value    // ends of the colour scale
}

// MatrixRow is one context.
type MatrixRow struct {
	Label Value
	Cells []MatrixCell // as many as Columns
}

// MatrixCell is one square. Without a cell of that size in the plan, Planned is false and the rest is empty.
type MatrixCell struct {
	Planned bool
	Href    string // to its row in "All measurements"
	State   State
	Shown   bool // it has a rate
	TokS    Value
	TTFT    Value
	Kind    string // the TTFT kind, when not that of most cells
	Heat    string // class "h0" to "h8", "" without a rate, and for 0
	Marks   int    // warnings
}

// Size says how large the matrix is, for choosing a compact layout.
func (m Matrix) Size() int { return len(m.Columns) }

func newMatrix(cells []summary.Cell) Matrix {
	var m Matrix
	var columns []int
	var contexts []string
	low, high := math.Inf(1), 0.0
	kinds := map[summary.TTFTKind]int{}
	for i := range cells {
		c := &cells[i]
		if !slices.Contains(columns, c.Concurrency) {
			columns = append(columns, c.Concurrency)
		}
		if !slices.Contains(contexts, c.Label) {
			contexts = append(contexts, c.Label)
		}
		if measured(c) {
			if *c.TokS > 0 { // nothing at all is not the low end of a logarithmic scale
				low, high = math.Min(low, *c.TokS), math.Max(high, *c.TokS)
			}
			if c.TTFTMS != nil {
				kinds[c.TTFTKind]++
			}
		}
	}
	slices.Sort(columns)
	for _, n := range columns {
		m.Columns = append(m.Columns, wholeValue(&n))
	}
	if high > 0 {
		m.Low, m.High = value(&low, unit.Rate), value(&high, unit.Rate)
	}
	usual := commonest(kinds)
	m.Kind, m.OtherKinds = kindText(usual), otherKinds(kinds, usual)
	for _, label := range contexts {
		m.Rows = append(m.Rows, newMatrixRow(label, columns, cells, low, high, usual))
	}
	m.Footnotes = footnotes(cells, kinds)
	return m
}

func newMatrixRow(label string, columns []int, cells []summary.Cell, low, high float64, usual summary.TTFTKind) MatrixRow {
	row := MatrixRow{Label: Value{Text: Clean(label)}, Cells: make([]MatrixCell, len(columns))}
	for i := range cells {
		c := &cells[i]
		at := slices.Index(columns, c.Concurrency)
		if c.Label != label || row.Cells[at].Planned {
			continue
		}
		row.Label.Raw = fmt.Sprint(c.Context)
		cell := MatrixCell{Planned: true, Href: "#" + cellID(c), State: newState(c), Marks: len(c.Warnings)}
		if measured(c) {
			cell.Shown, cell.TokS, cell.TTFT = true, value(c.TokS, unit.Rate), value(c.TTFTMS, unit.Millis)
			if *c.TokS > 0 {
				cell.Heat = fmt.Sprintf("h%d", heatLevel(*c.TokS, low, high))
			}
			if c.TTFTMS != nil && c.TTFTKind != usual {
				cell.Kind = Clean(string(c.TTFTKind))
			}
		}
		row.Cells[at] = cell
	}
	return row
}

// warmFootnote stands only where each shown TTFT is of a request whose prompt was cached.
const warmFootnote = "TTFT is measured after the benchmark warms the server's prompt cache, so it mostly excludes prefill."

// footnotes lists the states that occur, then what TTFT includes.
func footnotes(cells []summary.Cell, kinds map[summary.TTFTKind]int) []string {
	var out []string
	for _, t := range metric.Statuses() {
		status := event.Status(t.ID)
		note := stateFootnotes[status]
		if note != "" && slices.ContainsFunc(cells, func(c summary.Cell) bool { return c.Status == status }) {
			out = append(out, note)
		}
	}
	if len(kinds) > 0 && kinds[summary.Start]+kinds[summary.Restart] == total(kinds) {
		out = append(out, warmFootnote)
	}
	return out
}

// kindOrder is the order of METRICS, in which equally common kinds are preferred.
var kindOrder = []summary.TTFTKind{summary.Restart, summary.Start, summary.Wave, summary.Uncached, summary.Cold}

// commonest is the kind that most cells show, "" when none shows any.
func commonest(kinds map[summary.TTFTKind]int) summary.TTFTKind {
	var best summary.TTFTKind
	for _, k := range kindOrder {
		if kinds[k] > kinds[best] {
			best = k
		}
	}
	return best
}

func total(kinds map[summary.TTFTKind]int) int {
	n := 0
	for _, v := range kinds {
		n += v
	}
	return n
}

// otherKinds explains the kinds that cells name.
func otherKinds(kinds map[summary.TTFTKind]int, usual summary.TTFTKind) string {
	var parts []string
	for _, k := range kindOrder {
		if k != usual && kinds[k] > 0 {
			parts = append(parts, string(k)+" ("+kindWords[k]+")")
		}
	}
	return strings.Join(parts, ", ")
}
