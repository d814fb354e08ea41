package page

import (
	"strconv"
	"strings"

	"speedmatrix/internal/metric"
)

// Methodology explains how runs are measured and what each number means, for one version of the method.
type Methodology struct {
	Frame
	Heading  string
	Version  int
	Versions []Link // the pages of all versions
	Body     HTML   // written by hand, from templates/methodology.md
	Columns  []Term // columns of the tables that are no metric
	Metrics  []Metric
	Notation []metric.Symbol
	Groups   []Glossary
}

// Term is one entry of a glossary.
type Term struct {
	ID, Name, Text string
}

// Glossary is a headed list of terms.
type Glossary struct {
	ID, Title, Lead string
	Terms           []Term
}

// Metric is one number of the catalogue.
type Metric struct {
	ID, Name, Unit, Better, Of, Definition, Formula, Key string
}

// MethodologyPath is where the methodology of a version stands; version 0 is the newest, under its short address.
func MethodologyPath(version int) string {
	if version == 0 {
		return "methodology/"
	}
	return methodologyPath(version)
}

// NewMethodology builds the page at path for a version; versions lists all there are. The Markdown is the site owner's.
func NewMethodology(version int, versions []int, path, markdown string, s Site) Methodology {
	m := Methodology{
		Frame:   s.frame("methodology", path, "Methodology", "How the runs were measured, and what each number on these pages means."),
		Heading: "Methodology", Version: version, Body: renderOwn(markdown), Notation: metric.Notation(),
		Columns: []Term{
			{anchorPhase, "Phase", "Prefill: reading a prompt that is not in the cache, alone. Sustained decode: generating with a steady number of requests at once."},
			{anchorContext, "Context", "Prompt tokens of each request; 8K is 8,192. The real number, as the server counts it, is in the row's details."},
			{anchorRequests, "Requests at once", "Streams kept open together: when one ends, its next request starts at once."},
			{anchorStatus, "Status", "What became of the cell; the words are explained below."},
		},
		Groups: glossaries(),
	}
	for _, v := range versions {
		target := m.Root + methodologyPath(v)
		m.Versions = append(m.Versions, Link{Text: "Version " + strconv.Itoa(v), Href: target, Current: v == version})
	}
	for _, c := range metric.Catalogue() {
		m.Metrics = append(m.Metrics, Metric{
			ID: c.Slug, Name: c.Name, Unit: c.Unit, Better: betterWords[c.Better], Of: scopeWords[c.Scope],
			Definition: c.Definition, Formula: c.Formula, Key: string(c.ID),
		})
	}
	return m
}

var betterWords = map[metric.Better]string{
	metric.Higher: "more is better", metric.Lower: "less is better", metric.Neither: "neither more nor less is better",
}

var scopeWords = map[metric.Scope]string{
	metric.OfRequest: "of a request; a cell shows the median", metric.OfCell: "of a cell", metric.OfRun: "of a run",
}

func glossaries() []Glossary {
	group := func(id, title, lead string, ts []metric.Term) Glossary {
		g := Glossary{ID: id, Title: title, Lead: lead}
		for _, t := range ts {
			g.Terms = append(g.Terms, Term{ID: t.Slug, Name: t.Name, Text: t.Definition})
		}
		return g
	}
	out := []Glossary{
		group("statuses", "Statuses", "Each cell has one.", metric.Statuses()),
		group("ttft-kinds", "Kinds of TTFT", "They are never mixed: a cell shows the median of one kind and names it.", metric.TTFTKinds()),
		group("token-counting", "How tokens are counted", "The best way that the server allows.", metric.TokenSources()),
		group("clocks", "How arrivals are stamped", "", metric.Clocks()),
		group("outcomes", "How a request can end", "", metric.Outcomes()),
	}
	w := Glossary{ID: "warnings", Title: "Warnings", Lead: "Caveats that stand beside a number. Words in braces stand for the figures of a case."}
	for _, m := range metric.Warnings() {
		w.Terms = append(w.Terms, Term{ID: m.Slug, Name: strings.ReplaceAll(string(m.ID), "-", " "), Text: m.Sentence})
	}
	return append(out, w)
}

// NotFound is 404.html, which a server sends from any depth: its root is absolute where the site's address is known.
type NotFound struct {
	Frame
	Heading string
}

// NewNotFound builds 404.html.
func NewNotFound(s Site) NotFound {
	n := NotFound{Frame: s.frame("missing", "", "Page not found", "There is no page at this address."), Heading: "Page not found"}
	n.NoIndex, n.Canonical = true, ""
	if s.BaseURL == "" {
		return n
	}
	root := rootPath(s.BaseURL)
	n.Root = root
	for i, l := range n.Menu {
		n.Menu[i].Current = false
		if !l.External {
			n.Menu[i].Href = root + strings.TrimPrefix(l.Href, "./")
		}
	}
	return n
}
