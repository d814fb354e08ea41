package page

import (
	"fmt"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Cite is how to name the run elsewhere.
type Cite struct {
	Text   string
	BibTeX string
}

func newCite(p *Run, s Site) Cite {
	name := s.Title
	if name == "" {
		name = "Speedmatrix"
	}
	title := p.Heading
	if p.Simulated {
		title = simulatedPrefix + title
	}
	where := ""
	if p.Canonical != "" {
		where = " " + p.Canonical
	}
	c := Cite{Text: fmt.Sprintf("%s, “%s”, run %s, measured %s.%s", name, title, p.ID, p.Date.Day, where)}
	var b strings.Builder
	fmt.Fprintf(&b, "@misc{%s,\n  title = {%s},\n  howpublished = {%s, run %s},\n  year = {%s},\n  note = {measured %s}",
		strings.ReplaceAll(p.ID, ".", "-"), bibText(title), bibText(name), p.ID, p.Date.Day[:4], p.Date.Day)
	if p.Canonical != "" {
		fmt.Fprintf(&b, ",\n  url = {%s}", p.Canonical)
	}
	b.WriteString("\n}")
	c.BibTeX = b.String()
	return c
}

// bibText drops what would end or nest a BibTeX field.
func bibText(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`{}\`, r) {
			return -1
		}
		return r
	}, s)
}

// Dataset is the JSON-LD of a run page (https://schema.org/Dataset).
type Dataset struct {
	Context      string         `json:"@context"`
	Type         string         `json:"@type"`
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	Identifier   string         `json:"identifier"`
	URL          string         `json:"url,omitempty"`
	DateCreated  string         `json:"dateCreated"`
	Version      string         `json:"version,omitempty"`
	Technique    string         `json:"measurementTechnique"`
	Free         bool           `json:"isAccessibleForFree"`
	Keywords     []string       `json:"keywords"`
	Measured     []ldVariable   `json:"variableMeasured"`
	Distribution []ldDownload   `json:"distribution"`
	Creator      map[string]any `json:"creator,omitempty"`
}

type ldVariable struct {
	Type        string `json:"@type"`
	Name        string `json:"name"`
	Unit        string `json:"unitText,omitempty"`
	Description string `json:"description"`
}

type ldDownload struct {
	Type   string `json:"@type"`
	Name   string `json:"name"`
	Format string `json:"encodingFormat"`
	URL    string `json:"contentUrl"`
}

func newDataset(p *Run, s *summary.Run, site Site) Dataset {
	d := Dataset{
		Context: "https://schema.org/", Type: "Dataset", Name: runTitle(s), Description: p.Description,
		Identifier: p.ID, URL: p.Canonical, DateCreated: p.Date.Machine, Free: true,
		Technique: fmt.Sprintf("%s %s, method version %d", Clean(s.Facts.Tool.Name), Clean(s.Facts.Tool.Version), s.Facts.Tool.Method),
		Keywords:  keywords(&s.Facts),
	}
	for _, id := range []metric.ID{metric.IDTokS, metric.IDPerRequestTokS, metric.IDTTFT, metric.IDBetweenTokens, metric.IDPrefillTokS} {
		m, _ := metric.Lookup(id)
		d.Measured = append(d.Measured, ldVariable{"PropertyValue", m.Name, m.Unit, m.Definition})
	}
	for _, f := range p.Downloads {
		if f.Href == "" {
			continue
		}
		href := f.Href
		if httpURL(href) == "" && site.BaseURL != "" {
			href = site.absolute(p.Path + href)
		}
		d.Distribution = append(d.Distribution, ldDownload{"DataDownload", f.Text, f.Type, href})
	}
	return d
}

func keywords(r *event.Run) []string {
	out := []string{"LLM inference", "benchmark"}
	for _, v := range []string{modelName(r), r.Hardware.Text("gpu"), r.Engine.Text("name")} {
		if v != "" {
			out = append(out, clip(Clean(v), 100))
		}
	}
	if r.Simulated() {
		out = append(out, "simulated engine")
	}
	return out
}

// modelName is the model as people call it: its id without the owner, else the served name.
func modelName(r *event.Run) string {
	id := r.Model.Text("id")
	if i := strings.LastIndexByte(id, '/'); i >= 0 && i+1 < len(id) {
		id = id[i+1:]
	}
	if id == "" {
		id = r.Model.Text("served")
	}
	return Clean(id)
}

// Card is what the social image shows.
type Card struct {
	Site      string
	Title     string
	Subtitle  string // engine line
	Date      string
	Simulated bool
	Figures   []CardFigure // at most three
	Heat      [][]int      // rows of the decode matrix: level 0 to 8, -1 where a cell has no rate
}

// CardFigure is one large number of the social image.
type CardFigure struct{ Value, Label string }

func newCard(s *summary.Run, p *Run) Card {
	c := Card{Site: p.SiteTitle, Title: p.Heading, Subtitle: p.Engine, Date: p.Date.Day, Simulated: p.Simulated}
	if b := best(s.Decode); b != nil {
		c.Figures = append(c.Figures, CardFigure{unit.Rate(b.TokS), "tok/s at " + cellLabel(b)})
	}
	if b := lone(s.Decode); b != nil {
		c.Figures = append(c.Figures, CardFigure{unit.Rate(b.TokS), "tok/s for one request"})
	}
	if b := best(s.Prefill); b != nil {
		c.Figures = append(c.Figures, CardFigure{unit.Rate(b.TokS), "tok/s prefill"})
	}
	for _, r := range p.Matrix.Rows {
		row := make([]int, len(r.Cells))
		for i, cell := range r.Cells {
			row[i] = -1
			if cell.Heat != "" {
				row[i] = int(cell.Heat[1] - '0')
			}
		}
		c.Heat = append(c.Heat, row)
	}
	return c
}
