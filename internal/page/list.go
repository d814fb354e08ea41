package page

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/unit"
)

// Listed is a run as pages about many runs know it: its line in the lists, and what comparisons need.
type Listed struct {
	Entry    Entry
	Compared compare.Run
}

// pageRows is how many runs a page of older ones holds. The first page of a list holds the newest, up to twice as many: the pages behind
// it are counted from the oldest run, so that a new run changes none of them.
const pageRows = 50

// List is a table of runs, newest first, over one or more pages.
type List struct {
	Runs    []HomeRow
	Columns []HomeColumn
	Total   string // "1,234 runs"
	Pages   []Link // the other pages of the list; none when all runs are here
	More    string // addresses of the pages with older runs, for the script that filters all of them
	Of      string // caption: what these runs have in common
}

// listPage is one page of a list: its folder below the list's own, "" for the first.
type listPage struct {
	folder  string
	entries []Entry
}

// split divides entries, newest first, into the first page and those of older runs.
func split(entries []Entry) []listPage {
	older := max(0, len(entries)/pageRows-1)
	first := len(entries) - older*pageRows
	out := []listPage{{"", entries[:first]}}
	for n := older; n > 0; n-- {
		at := first + (older-n)*pageRows
		out = append(out, listPage{"older/" + strconv.Itoa(n) + "/", entries[at : at+pageRows]})
	}
	return out
}

// newList builds page i of a list that stands at base; root leads from that page to the site's root.
func newList(pages []listPage, i int, base, root, of string, total int) List {
	l := List{Columns: homeColumns(), Of: of, Total: unit.Count(&total) + " run"}
	if total != 1 {
		l.Total += "s"
	}
	for _, e := range pages[i].entries {
		l.Runs = append(l.Runs, newListRow(e, root))
	}
	var more []string
	for j, p := range pages {
		href := root + base + p.folder
		if href == "" {
			href = "./"
		}
		text := "Newest"
		if j > 0 {
			text = "Older, page " + strconv.Itoa(len(pages)-j)
		}
		if len(pages) > 1 {
			l.Pages = append(l.Pages, Link{Text: text, Href: href, Current: i == j})
		}
		if i == 0 && j > 0 {
			more = append(more, href)
		}
	}
	l.More = strings.Join(more, " ")
	return l
}

func homeColumns() []HomeColumn {
	return []HomeColumn{
		{"Date", "date", true}, {"Model", "model", false}, {"GPU", "gpu", false}, {"Engine", "engine", false},
		{"Quantization", "quantization", false}, {"Peak tok/s", "peak", true}, {"One request tok/s", "one", true},
		{"TTFT, one request", "ttft", true}, {"Prefill tok/s", "prefill", true},
	}
}

func newListRow(e Entry, root string) HomeRow {
	r := newHomeRow(e)
	r.Href = root + r.Href
	return r
}

// Older is a page of older runs of the home page's list.
type Older struct {
	Frame
	List
	Heading string
	Lead    string
}

// NewOlder builds the pages behind the home page, none when all runs are on it.
func NewOlder(entries []Entry, s Site) []Older {
	var out []Older
	pages := split(entries)
	for i, p := range pages {
		if i == 0 {
			continue
		}
		path := p.folder
		heading := "Runs, page " + strconv.Itoa(len(pages)-i) + " of " + strconv.Itoa(len(pages)-1) + " of the older ones"
		o := Older{Frame: s.frame("older", path, heading, "Older runs, newest first."), Heading: heading}
		o.List = newList(pages, i, "", o.Root, "Older runs, newest first.", len(entries))
		out = append(out, o)
	}
	return out
}

// configuration is what must be equal for two runs to be of one configuration: everything but the engine's version and the day. The
// method is part of it: what must not be divided by each other must not be best, median or trend of one another.
func configuration(l *Listed, n *namer) string {
	e, m := &l.Entry, &l.Compared.Method
	return strings.Join([]string{n.model(e), n.gpu(e), strconv.Itoa(e.GPUCount), n.engine(e), n.quantization(e), fmt.Sprint(e.Simulated),
		m.Version, m.Prompts, m.Start, m.OutputTokens, string(cmp.Or(m.Counting, compare.ByServer))}, "\x00")
}

// namer gives entries their canonical names.
type namer struct{ models, gpus, engines, quantizations resolver }

func newNamer(n Names) *namer {
	return &namer{newResolver(n.Models), newResolver(n.GPUs), newResolver(n.Engines), newResolver(n.Quantizations)}
}

func (n *namer) model(e *Entry) string        { v, _ := n.models.name(e.Model); return v }
func (n *namer) gpu(e *Entry) string          { v, _ := n.gpus.name(e.Device); return v }
func (n *namer) engine(e *Entry) string       { v, _ := n.engines.name(e.Engine); return v }
func (n *namer) quantization(e *Entry) string { v, _ := n.quantizations.name(e.Quantization); return v }

// Canonical gives every run the names of names.toml, for the lists. Two GPUs stay "2 × <name>".
func Canonical(all []Listed, names Names) []Listed {
	n := newNamer(names)
	out := make([]Listed, len(all))
	for i, l := range all {
		out[i] = n.canonical(l)
	}
	return out
}

func (n *namer) canonical(l Listed) Listed {
	e := l.Entry
	e.Model, e.Engine, e.Quantization = n.model(&e), n.engine(&e), n.quantization(&e)
	device := n.gpu(&e)
	if e.GPU != e.Device && e.GPUCount > 1 {
		e.GPU = strconv.Itoa(e.GPUCount) + " × " + device
	} else {
		e.GPU = device
	}
	return Listed{e, l.Compared}
}

// Entries are the lines of the lists.
func Entries(all []Listed) []Entry {
	out := make([]Entry, len(all))
	for i := range all {
		out[i] = all[i].Entry
	}
	return out
}

// interrupted and simulated runs stand in lists, but not for the best of a group.
func counts(e *Entry) bool { return e.State == event.Complete }
