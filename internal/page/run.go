package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Run is the page of one run.
type Run struct {
	Frame

	ID          string
	Heading     string // with "Simulated engine: " in front where it was one
	Simulated   bool
	Interrupted bool
	Date        Date
	Engine      string // "sglang · 0.5.22 · BF16"
	Method      string // "5 contexts (8K–123K) × 8 concurrency levels (1–128) · prefill at 8K, 16K"
	MethodHref  string // the methodology of this run's version
	Places      []Link // where this run stands among others
	Warnings    []Caveat
	Facts       []FactTable
	Launch      string
	LaunchFrom  string

	Bars        []Bar
	BarsHref    string // what prefill means
	Matrix      Matrix
	MatrixHref  string
	Columns     []Column
	Rows        []Row
	ZeroNote    string
	Phases      []Choice // filters of "All measurements"
	Statuses    []Choice
	Figures     []Figure
	Instrument  Instrument
	Reproduce   []string
	Notes       HTML
	Downloads   []Download
	Cite        Cite
	Description string
	Linked      Dataset

	Card Card // the social image
}

// Date is an instant for people and for machines.
type Date struct {
	Text    string // "1 December 2026, 10:15 UTC"
	Day     string // "2026-12-01"
	Machine string // RFC 3339
}

// Caveat is a warning about the whole run.
type Caveat struct {
	Text string
	Href string // its sentence on the methodology page
}

// Choice is one filter button.
type Choice struct {
	Value, Label string
	Count        int
}

// Download is one file for machines.
type Download struct {
	Text string
	Href string // "" when the file is not published
	Note string
	Type string
}

// RunInput is what a run page is made of besides its summary.
type RunInput struct {
	Notes  string // notes.md, "" when there is none
	Places []Link // pages about several runs on which this one stands, from the site's root
	Site   Site
}

// simulatedPrefix marks every title of a run against the built-in engine.
const simulatedPrefix = "Simulated engine: "

// NewRun builds the page of a run. It fails when the run's id cannot be a folder name, or when a chart refuses its numbers.
func NewRun(s *summary.Run, in RunInput) (Run, error) {
	r := &s.Facts
	if !idPattern.MatchString(r.ID) {
		return Run{}, fmt.Errorf("run id %q: want lower-case letters, digits, dots and dashes", clip(Clean(r.ID), 80))
	}
	figures, err := newFigures(s)
	if err != nil {
		return Run{}, fmt.Errorf("run %s: %w", r.ID, err)
	}
	path := RunPath(r.ID)
	description := describe(s)
	p := Run{
		Frame: in.Site.frame("run", path, runTitle(s), description),
		ID:    r.ID, Heading: heading(s), Simulated: r.Simulated(), Interrupted: r.State == event.Interrupted,
		Date: newDate(r.Started), Engine: engineLine(r), Method: methodLine(s), Facts: factTables(r),
		Launch: Clean(r.Launch.Command), LaunchFrom: Clean(string(r.Launch.Source)),
		Bars: newBars(s.Prefill), Matrix: newMatrix(s.Decode), Rows: newRows(s), Figures: figures,
		Instrument: newInstrument(r.Calibration), Reproduce: reproduce(r), Notes: renderNotes(in.Notes),
		Description: description,
	}
	for _, l := range in.Places {
		p.Places = append(p.Places, Link{Text: l.Text, Href: p.Root + l.Href})
	}
	base := p.Root + methodologyPath(max(1, r.Tool.Method))
	p.MethodHref, p.Columns = base, columns(base)
	p.BarsHref, p.MatrixHref = base+"#"+slugOf(metric.IDPrefillTokS), base+"#"+slugOf(metric.IDTokS)
	p.Warnings = caveats(s.Warnings, base)
	p.ZeroNote = zeroNote(s, p.Rows)
	p.Phases, p.Statuses = filters(p.Rows)
	p.Downloads = downloads(r, in.Site)
	p.Cite = newCite(&p, in.Site)
	p.Linked = newDataset(&p, s, in.Site)
	p.Card = newCard(s, &p)
	p.Alternates = []Alternate{{"application/json", "run.json", "This run as JSON"}, {"text/csv", "cells.csv", "This run's cells as CSV"}}
	p.ImageAlt = runTitle(s)
	if in.Site.BaseURL != "" {
		p.Image = in.Site.absolute(path + "social.png")
	}
	return p, nil
}

// RunPath is the folder of a run's page, from the site's root.
func RunPath(id string) string { return "runs/" + id + "/" }

func slugOf(id metric.ID) string {
	m, _ := metric.Lookup(id)
	return m.Slug
}

// runTitle is the title of a run wherever it is named.
func runTitle(s *summary.Run) string {
	if s.Facts.Simulated() {
		return simulatedPrefix + heading(s)
	}
	return heading(s)
}

// heading is the title without the mark of a simulated run, which pages set apart.
func heading(s *summary.Run) string {
	title := clip(Clean(s.Title), 300)
	if s.Facts.Simulated() {
		title = strings.TrimPrefix(title, simulatedPrefix)
	}
	return title
}

func newDate(t time.Time) Date {
	u := t.UTC()
	return Date{Text: u.Format("2 January 2006, 15:04 UTC"), Day: u.Format(time.DateOnly), Machine: stamp(t)}
}

func engineLine(r *event.Run) string {
	var parts []string
	for _, k := range []string{"name", "version", "quantization"} {
		if v := r.Engine.Text(k); v != "" {
			parts = append(parts, clip(Clean(v), 80))
		}
	}
	if len(parts) > 0 && r.Engine.Text("quantization") == "" && r.Model.Text("quantization") != "" {
		parts = append(parts, clip(Clean(r.Model.Text("quantization")), 80))
	}
	return strings.Join(parts, " · ")
}

// methodLine is the seed's one line of method, from the cells themselves.
func methodLine(s *summary.Run) string {
	var contexts, prefill []string
	var levels []int
	for i := range s.Decode {
		c := &s.Decode[i]
		if l := Clean(c.Label); !slices.Contains(contexts, l) {
			contexts = append(contexts, l)
		}
		if !slices.Contains(levels, c.Concurrency) {
			levels = append(levels, c.Concurrency)
		}
	}
	for i := range s.Prefill {
		prefill = append(prefill, Clean(s.Prefill[i].Label))
	}
	slices.Sort(levels)
	var steps []string
	for _, n := range levels {
		steps = append(steps, strconv.Itoa(n))
	}
	var parts []string
	if len(contexts) > 0 {
		parts = append(parts, fmt.Sprintf("%s (%s) × %s (%s)", plural(len(contexts), "context"), span(contexts),
			plural(len(levels), "concurrency level"), span(steps)))
	}
	if len(prefill) > 0 {
		parts = append(parts, "prefill at "+strings.Join(prefill, ", "))
	}
	return strings.Join(parts, " · ")
}

// describe says in two sentences what the run found, for search engines and link previews.
func describe(s *summary.Run) string {
	var parts []string
	if c := best(s.Decode); c != nil {
		parts = append(parts, fmt.Sprintf("up to %s tok/s output at %s context with %s", unit.Rate(c.TokS), Clean(c.Label),
			plural(c.Concurrency, "simultaneous request")))
	}
	if c := lone(s.Decode); c != nil {
		parts = append(parts, fmt.Sprintf("%s tok/s for one request", unit.Rate(c.TokS)))
	}
	if c := best(s.Prefill); c != nil {
		parts = append(parts, fmt.Sprintf("%s tok/s prefill", unit.Rate(c.TokS)))
	}
	found := "No cell was measured."
	if len(parts) > 0 {
		found = sentence(strings.Join(parts, ", "))
	}
	return clip(runTitle(s), 120) + ". " + found
}

// best is the measured cell with the highest rate, nil when there is none.
func best(cells []summary.Cell) *summary.Cell {
	var out *summary.Cell
	for i := range cells {
		if c := &cells[i]; measured(c) && (out == nil || *c.TokS > *out.TokS) {
			out = c
		}
	}
	return out
}

// lone is the first measured decode cell with one request: the smallest context.
func lone(cells []summary.Cell) *summary.Cell {
	for i := range cells {
		if c := &cells[i]; measured(c) && c.Concurrency == 1 {
			return c
		}
	}
	return nil
}

func caveats(ws []summary.Warning, base string) []Caveat {
	var out []Caveat
	for _, w := range ws {
		c := Caveat{Text: sentence(Clean(w.Text))}
		for _, m := range metric.Warnings() {
			if string(m.ID) == w.ID {
				c.Href = base + "#" + m.Slug
			}
		}
		out = append(out, c)
	}
	return out
}

// filters counts the rows of each phase and status, in the order in which they first occur.
func filters(rows []Row) (phases, statuses []Choice) {
	count := func(list []Choice, value, label string) []Choice {
		for i := range list {
			if list[i].Value == value {
				list[i].Count++
				return list
			}
		}
		return append(list, Choice{value, label, 1})
	}
	for _, r := range rows {
		phases = count(phases, r.PhaseID, r.Phase)
		statuses = count(statuses, r.State.Class, r.State.Word)
	}
	return phases, statuses
}

func downloads(r *event.Run, s Site) []Download {
	raw := Download{Text: "requests.parquet", Note: "every request with the arrival of each chunk", Type: "application/vnd.apache.parquet"}
	switch {
	case s.CopyData:
		raw.Href = "requests.parquet"
	case httpURL(s.DataURL) != "":
		raw.Href = strings.TrimRight(httpURL(s.DataURL), "/") + "/" + r.ID + "/requests.parquet"
	default:
		raw.Note += "; in the results folder " + r.ID + ", not copied to this site"
	}
	return []Download{
		{"run.json", "run.json", "the numbers of this page, unrounded", "application/json"},
		{"cells.csv", "cells.csv", "one line a cell", "text/csv"},
		raw,
	}
}
