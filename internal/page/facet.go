package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"speedmatrix/internal/chart"
	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/stat"
	"speedmatrix/internal/unit"
)

// FacetKind is one way to divide runs.
type FacetKind struct {
	Folder string // "models/"
	One    string // "model"
	Many   string // "Models"
}

// Facet is the page of all runs that share a model, a GPU, an engine, an engine's version or a quantization.
type Facet struct {
	Frame
	List
	Kind     string // "Model"
	Heading  string
	Lead     string
	Unlisted bool // the name stands in no table of names.toml
	Parts    []Link
	PartsOf  string // "Versions"
	Groups   []Group
	Figures  []Figure
	Feed     string // address of the page's Atom feed
}

// Group is the runs of one configuration.
type Group struct {
	Model, GPU, Engine, Quantization string
	Method                           string // what of the method tells it from other groups of the page, "" when all share one
	Simulated                        bool
	Runs                             Value // how many
	Best, Median, BestOne, MedianOne Value // of the runs' peaks, and of their one request at the smallest context
	Newest                           Date
	Href                             string // the newest run
}

// FacetIndex lists the values of one facet.
type FacetIndex struct {
	Frame
	Heading string
	Lead    string
	Column  string // header of the first column
	Rows    []FacetRow
}

// FacetRow is one value.
type FacetRow struct {
	Name     string
	Href     string
	Runs     Value
	Newest   Date
	Unlisted bool
}

// FacetPage is a page to write: one of the two models, its folder, its template, and its feed where it has one.
type FacetPage struct {
	Template, Path string
	Model          any
	Feed           []byte
}

// facetKinds lists the facets in the order of the menu.
func facetKinds() []FacetKind {
	return []FacetKind{
		{"models/", "model", "Models"}, {"gpus/", "GPU", "GPUs"}, {"engines/", "engine", "Engines"},
		{"quantizations/", "quantization", "Quantizations"},
	}
}

// Browse links the indexes of all facets and the pages about several runs, relative to root.
func Browse(root string) []Link {
	var out []Link
	for _, k := range facetKinds() {
		out = append(out, Link{Text: k.Many, Href: root + k.Folder})
	}
	return out
}

// value is one value of a facet with its runs, newest first.
type facetValue struct {
	name, path string
	unlisted   bool
	runs       []*Listed
}

// faceter divides runs.
type faceter struct {
	all   []Listed
	names *namer
	site  Site
}

// NewFacets builds the index and the pages of every facet. The runs are newest first and have their canonical names.
func NewFacets(all []Listed, names Names, s Site) ([]FacetPage, error) {
	f := &faceter{all, newNamer(names), s}
	var out []FacetPage
	for _, k := range facetKinds() {
		values := f.divide(k.Folder, f.runs(), f.key(k))
		for i := range values {
			_, listed := f.table(k).name(values[i].name)
			values[i].unlisted = !listed
		}
		out = append(out, f.index(k, values))
		for _, v := range values {
			pages, err := f.value(k, v)
			if err != nil {
				return nil, err
			}
			out = append(out, pages...)
		}
	}
	return out, nil
}

func (f *faceter) runs() []*Listed {
	out := make([]*Listed, len(f.all))
	for i := range f.all {
		out[i] = &f.all[i]
	}
	return out
}

func (f *faceter) key(k FacetKind) func(*Entry) string {
	switch k.Folder {
	case "models/":
		return func(e *Entry) string { return e.Model }
	case "gpus/":
		return f.names.gpu
	case "engines/":
		return func(e *Entry) string { return e.Engine }
	}
	return func(e *Entry) string { return e.Quantization }
}

func (f *faceter) table(k FacetKind) resolver {
	switch k.Folder {
	case "models/":
		return f.names.models
	case "gpus/":
		return f.names.gpus
	case "engines/":
		return f.names.engines
	}
	return f.names.quantizations
}

// divide gathers the runs of each value; runs without one are left out. Names of one folder are one value, under the newest run's name.
func (f *faceter) divide(base string, runs []*Listed, key func(*Entry) string) []facetValue {
	by := map[string][]*Listed{}
	for _, l := range runs {
		if name := key(&l.Entry); name != "" {
			by[facetFolder(name)] = append(by[facetFolder(name)], l)
		}
	}
	var out []facetValue
	for _, folder := range slices.Sorted(maps.Keys(by)) {
		out = append(out, facetValue{name: key(&by[folder][0].Entry), path: base + folder, runs: by[folder]})
	}
	return out
}

func (f *faceter) index(k FacetKind, values []facetValue) FacetPage {
	p := FacetIndex{
		Frame: f.site.frame("facets", k.Folder, k.Many, "All measured "+strings.ToLower(k.Many)+", each with its runs."), Heading: k.Many,
		Column: strings.ToUpper(k.One[:1]) + k.One[1:], Lead: "Each " + k.One + " with the number of its runs and its newest one.",
	}
	for _, v := range values {
		p.Rows = append(p.Rows, FacetRow{
			Name: v.name, Href: strings.TrimPrefix(v.path, k.Folder), Runs: count(float64(len(v.runs))),
			Newest: newDate(v.runs[0].Entry.Started), Unlisted: v.unlisted,
		})
	}
	return FacetPage{Template: "facets.html", Path: k.Folder, Model: p}
}

// value makes the pages of one value: the first, those of older runs, and an engine's versions.
func (f *faceter) value(k FacetKind, v facetValue) ([]FacetPage, error) {
	kind := strings.ToUpper(k.One[:1]) + k.One[1:]
	var versions []facetValue
	if k.Folder == "engines/" {
		versions = f.divide(v.path, v.runs, func(e *Entry) string { return e.Version })
	}
	out, err := f.pages(kind, v, versions)
	if err != nil {
		return nil, err
	}
	for _, w := range versions {
		w.name = v.name + " " + w.name
		pages, err := f.pages("Engine version", w, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, pages...)
	}
	return out, nil
}

func (f *faceter) pages(kind string, v facetValue, parts []facetValue) ([]FacetPage, error) {
	entries := make([]Entry, len(v.runs))
	for i, l := range v.runs {
		entries[i] = l.Entry
	}
	split := split(entries)
	var out []FacetPage
	for i, part := range split {
		path := v.path + part.folder
		p := Facet{
			Frame: f.site.frame("facet", path, v.name, fmt.Sprintf("%s with %s: speed by context length and simultaneous requests.",
				plural(len(entries), "run"), v.name)),
			Kind: kind, Heading: v.name, Unlisted: v.unlisted, Feed: "feed.xml",
		}
		p.List = newList(split, i, v.path, p.Root, "Newest first.", len(entries))
		if i > 0 {
			p.Feed = ""
			out = append(out, FacetPage{Template: "facet.html", Path: path, Model: p})
			continue
		}
		p.PartsOf = "Versions"
		for _, w := range parts {
			p.Parts = append(p.Parts, Link{Text: w.name, Href: strings.TrimPrefix(w.path, v.path)})
		}
		p.Groups = groups(v.runs, f.names, p.Root)
		figure, ok, err := frontiers(v.runs, f.names)
		if err != nil {
			return nil, err
		}
		if ok {
			p.Figures = []Figure{figure}
		}
		p.Alternates = []Alternate{{"application/atom+xml", "feed.xml", v.name}}
		out = append(out, FacetPage{Template: "facet.html", Path: path, Model: p, Feed: NewFeed(v.name, path, entries, f.site)})
	}
	return out, nil
}

// groups gathers the runs of each configuration, the fastest first. Interrupted runs are counted but not rated.
func groups(runs []*Listed, n *namer, root string) []Group {
	by := map[string][]*Listed{}
	var order []string
	for _, l := range runs {
		key := configuration(l, n)
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], l)
	}
	best := map[string]float64{}
	var out []Group
	for _, key := range order {
		best[key] = -1
		for _, l := range by[key] {
			if p := l.Entry.Peak; p != nil && counts(&l.Entry) {
				best[key] = max(best[key], *p)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(best[b], best[a]), strings.Compare(a, b)) })
	method := methodNames(runs)
	for _, key := range order {
		out = append(out, newGroup(by[key], method(by[key][0]), root))
	}
	return out
}

// newGroup rates the runs of one configuration, newest first.
func newGroup(runs []*Listed, method, root string) Group {
	e := &runs[0].Entry
	g := Group{
		Model: or(e.Model, "not recorded"), GPU: or(e.GPU, "not recorded"), Engine: or(e.Engine, "not recorded"),
		Quantization: or(e.Quantization, unit.Dash), Method: method, Simulated: e.Simulated,
		Runs: count(float64(len(runs))), Newest: newDate(e.Started), Href: root + RunPath(e.ID),
	}
	var peaks, ones []float64
	for _, l := range runs {
		if !counts(&l.Entry) {
			continue
		}
		if l.Entry.Peak != nil {
			peaks = append(peaks, *l.Entry.Peak)
		}
		if l.Entry.Lone != nil {
			ones = append(ones, *l.Entry.Lone)
		}
	}
	g.Best, g.Median = bestAndMedian(peaks)
	g.BestOne, g.MedianOne = bestAndMedian(ones)
	return g
}

func bestAndMedian(xs []float64) (best, median Value) {
	if len(xs) == 0 {
		return value(nil, unit.Rate), value(nil, unit.Rate)
	}
	top := slices.Max(xs)
	m, _ := stat.Median(xs)
	return value(&top, unit.Rate), value(&m, unit.Rate)
}

// maxFrontiers bounds the lines of a chart: more cannot be told apart.
const maxFrontiers = 8

// frontiers draws the newest run of each configuration, at the smallest context that most of them have: total against per request
// speed. The configurations with the highest peak come first.
func frontiers(runs []*Listed, n *namer) (Figure, bool, error) {
	context := commonContext(runs)
	c := chart.Figure{
		ID: "frontier", Legend: true,
		X: chart.Axis{Name: "per request, tok/s (more is better)"}, Y: chart.Axis{Name: "total, tok/s (more is better)", Log: true},
	}
	t := DataTable{Caption: "Total and per request speed at " + unit.Size(context) + " context by run and requests at once",
		Head: []string{"Run", "Requests at once", "Per request tok/s", "Total tok/s"}}
	seen := map[string]bool{}
	var newest []*Listed
	for _, l := range runs {
		if key := configuration(l, n); !seen[key] && counts(&l.Entry) && l.Entry.Peak != nil {
			seen[key] = true
			newest = append(newest, l)
		}
	}
	slices.SortStableFunc(newest, func(a, b *Listed) int { return cmp.Compare(*b.Entry.Peak, *a.Entry.Peak) })
	left := max(0, len(newest)-maxFrontiers)
	newest = newest[:len(newest)-left]
	method := methodNames(newest)
	for _, l := range newest {
		line := chart.Series{Name: lineName(l, method(l)), Marks: true}
		for _, cell := range cellsAt(&l.Compared, context) {
			line.Points = append(line.Points, chart.Point{X: *cell.PerRequest, Y: *cell.TokS, Name: strconv.Itoa(cell.Concurrency)})
			n := cell.Concurrency
			t.Rows = append(t.Rows, []Value{{Text: line.Name}, wholeValue(&n), value(cell.PerRequest, unit.Rate), value(cell.TokS, unit.Rate)})
		}
		if len(line.Points) > 0 {
			c.Series = append(c.Series, line)
		}
	}
	f := Figure{
		ID: c.ID, Title: "What does each user get, and what does the server give in all?",
		Lead: fmt.Sprintf("The newest run of each configuration at %s context, one point a number of simultaneous requests (named at the point). "+
			"Up and to the right is better.", unit.Size(context)),
		Label: "Line chart of total tok/s against per request tok/s, one line for each configuration", Table: t,
	}
	if left > 0 {
		f.Lead += fmt.Sprintf(" The %d configurations with the highest peak; %d more are in the table of configurations.", maxFrontiers, left)
	}
	if c.Empty() {
		return f, false, nil
	}
	var err error
	f.Options, err = chart.Options(c)
	return f, true, err
}

// lineName tells configurations apart in a legend; what of the method differs among them is never cut off.
func lineName(l *Listed, method string) string {
	e := &l.Entry
	var parts []string
	for _, s := range []string{e.Model, e.GPU, strings.TrimSpace(e.Engine + " " + e.Version), e.Quantization} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.TrimPrefix(joined(clip(strings.Join(parts, ", "), 90), method), ", ")
}

// joined puts a comma before what follows, where something does.
func joined(name, method string) string {
	if method == "" {
		return name
	}
	return name + ", " + method
}

// commonContext is the decode context that most runs have measured, the smallest of those; 0 when none has.
func commonContext(runs []*Listed) int {
	have := map[int]int{}
	for _, l := range runs {
		in := map[int]bool{}
		for i := range l.Compared.Cells {
			if c := &l.Compared.Cells[i]; usable(c) && !in[c.Context] {
				in[c.Context] = true
				have[c.Context]++
			}
		}
	}
	best := 0
	for context, n := range have {
		if n > have[best] || n == have[best] && context < best {
			best = context
		}
	}
	return best
}

// usable reports whether a cell can be drawn: a valid decode cell with both rates.
func usable(c *compare.Cell) bool {
	return c.Phase == event.Decode && c.Status == event.Valid && c.TokS != nil && c.PerRequest != nil && *c.TokS > 0
}

func cellsAt(r *compare.Run, context int) []*compare.Cell {
	var out []*compare.Cell
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Context == context && usable(c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *compare.Cell) int { return a.Concurrency - b.Concurrency })
	return out
}
