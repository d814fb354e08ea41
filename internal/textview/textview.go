// Package textview prints a summarised run as plain text, for terminals and for diffs of results in git.
//
//  1. A head says what was measured, how, and what holds for the run as a whole.
//  2. Three tables follow, as on the run's page: prefill, the decode matrix, all measurements.
//  3. Notes say of each cell why it has no figures, and its warnings.
//
// All numbers are printed by package unit, as on the page. Text that comes from files loses its control characters, so
// that a contributed run cannot steer a terminal. The package computes nothing and writes nowhere.
package textview

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Text returns the run as text that ends in a line feed.
func Text(r summary.Run) string {
	var b strings.Builder
	head(&b, &r)
	prefill(&b, r.Prefill)
	matrix(&b, r.Decode)
	measurements(&b, slices.Concat(r.Prefill, r.Decode))
	notes(&b, slices.Concat(r.Prefill, r.Decode))
	return b.String()
}

func head(b *strings.Builder, r *summary.Run) {
	fmt.Fprintln(b, line(r.Title))
	engine := line(strings.TrimSpace(r.Facts.Engine.Text("name") + " " + r.Facts.Engine.Text("version")))
	if engine == "" {
		engine = "engine not recorded"
	}
	fmt.Fprintf(b, "%s, started %s, %s\n", engine, r.Facts.Started.UTC().Format("2006-01-02 15:04:05 UTC"), line(string(r.Facts.State)))
	m := &r.Facts.Method
	duration, output := m.DurationS, m.OutputTokens
	fmt.Fprintf(b, "%s a cell, %s output tokens, prompts %s, start %s\n",
		unit.Seconds(&duration), unit.Count(&output), line(string(m.Prompts)), line(string(m.Start)))
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "Warning: %s\n", line(w.Text))
	}
}

func prefill(b *strings.Builder, cells []summary.Cell) {
	if len(cells) == 0 {
		return
	}
	t := newTable(b, "Prefill", "Context", "Prompt tok/s", "TTFT", "n")
	for i := range cells {
		c := &cells[i]
		if !hasFigures(c) {
			t.row(line(c.Label), status(c), unit.Dash, unit.Dash)
			continue
		}
		t.row(line(c.Label), unit.Rate(c.TokS), unit.Millis(c.TTFTMS), unit.Count(&c.Samples))
	}
	t.end()
}

// matrix prints the decode cells with contexts as rows and concurrencies as columns.
func matrix(b *strings.Builder, cells []summary.Cell) {
	if len(cells) == 0 {
		return
	}
	type square struct{ context, concurrency int }
	squares := map[square]string{}
	var contexts, columns []int
	labels := map[int]string{}
	for i := range cells {
		c := &cells[i]
		squares[square{c.Context, c.Concurrency}] = matrixText(c)
		labels[c.Context] = line(c.Label)
		contexts = append(contexts, c.Context)
		columns = append(columns, c.Concurrency)
	}
	contexts, columns = distinct(contexts), distinct(columns)
	head := []string{"Context"}
	for _, n := range columns {
		head = append(head, unit.Count(&n))
	}
	t := newTable(b, "Sustained decode: total tok/s, TTFT", head...)
	for _, context := range contexts {
		row := []string{labels[context]}
		for _, n := range columns {
			text := squares[square{context, n}]
			if text == "" {
				text = unit.Dash
			}
			row = append(row, text)
		}
		t.row(row...)
	}
	t.end()
}

func matrixText(c *summary.Cell) string {
	switch {
	case !hasFigures(c):
		return status(c)
	case c.Status == event.Valid:
		return unit.Rate(c.TokS) + ", " + unit.Millis(c.TTFTMS)
	default:
		return unit.Rate(c.TokS) + " (" + status(c) + ")"
	}
}

func measurements(b *strings.Builder, cells []summary.Cell) {
	t := newTable(b, "All measurements", "Phase", "Context", "At once", "Status", "Total tok/s", "Per request", "TTFT", "Between tokens",
		"Active", "Completed", "Output tokens", "Measured for")
	for i := range cells {
		c := &cells[i]
		t.row(phase(c), line(c.Label), unit.Count(&c.Concurrency), status(c), unit.Rate(c.TokS), unit.Rate(c.PerRequestTokS),
			unit.Millis(c.TTFTMS), unit.MillisFine(c.BetweenTokensMS), unit.Decimal(c.ActiveRequests),
			unit.Count(c.CompletedRequests), unit.Count(c.OutputTokens), unit.Seconds(c.MeasuredS))
	}
	t.end()
}

// notes prints what the tables have no room for, in the order of the cells.
func notes(b *strings.Builder, cells []summary.Cell) {
	title := "\nNotes\n"
	for i := range cells {
		c := &cells[i]
		name := fmt.Sprintf("%s %s x %s: ", phase(c), line(c.Label), unit.Count(&c.Concurrency))
		if c.Reason != "" {
			fmt.Fprint(b, title, name, status(c), ": ", line(c.Reason), "\n")
			title = ""
		}
		for _, w := range c.Warnings {
			fmt.Fprint(b, title, name, line(w.Text), "\n")
			title = ""
		}
	}
}

// hasFigures reports whether the cell was measured.
func hasFigures(c *summary.Cell) bool { return c.TokS != nil || c.TTFTMS != nil }

func phase(c *summary.Cell) string {
	if c.Phase == event.Prefill {
		return "Prefill"
	}
	return "Decode"
}

// status returns the cell's status as pages name it.
func status(c *summary.Cell) string {
	for _, term := range metric.Statuses() {
		if term.ID == string(c.Status) {
			return term.Name
		}
	}
	return line(string(c.Status))
}

func distinct(ns []int) []int {
	slices.Sort(ns)
	return slices.Compact(ns)
}

// table is one table of aligned columns under a title.
type table struct{ w *tabwriter.Writer }

func newTable(b *strings.Builder, title string, columns ...string) table {
	fmt.Fprintf(b, "\n%s\n", title)
	t := table{tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

func (t table) end() { t.w.Flush() } // a strings.Builder never fails

// line makes text from a file fit for one line of a terminal.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, text)
}
