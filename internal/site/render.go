package site

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"sync"

	"speedmatrix/internal/page"
)

// pageTemplates are the kinds of page; each is base.html with the "content" of its own file.
var pageTemplates = []string{
	"home.html", "older.html", "run.html", "stone.html", "facets.html", "facet.html", "compare.html", "compare-any.html", "trends.html",
	"trend.html", "methodology.html", "prose.html", "404.html",
}

// parts holds what several pages share.
const parts = "list.html"

// renderer holds the parsed templates. It is safe for use by several goroutines.
type renderer struct {
	pages   map[string]*template.Template
	buffers sync.Pool // of *bytes.Buffer
}

func newRenderer(o Options, a assets) (*renderer, error) {
	base, err := o.layered("base.html")
	if err != nil {
		return nil, err
	}
	shared, err := o.layered(parts)
	if err != nil {
		return nil, err
	}
	funcs := components()
	maps.Copy(funcs, template.FuncMap{"asset": a.url, "markup": markup, "ramp": ramp})
	r := &renderer{pages: map[string]*template.Template{}}
	for _, name := range pageTemplates {
		b, err := o.layered(name)
		if err != nil {
			return nil, err
		}
		t, err := template.New("base.html").Funcs(funcs).Option("missingkey=error").Parse(string(base))
		if err == nil {
			_, err = t.New(parts).Parse(string(shared))
		}
		if err == nil {
			_, err = t.New(name).Parse(string(b))
		}
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", name, err)
		}
		r.pages[name] = t
	}
	return r, nil
}

// render executes a page with its model and hands it to use. The next page is rendered into the same memory.
func (r *renderer) render(name string, model any, use func(content []byte) error) error {
	b, ok := r.buffers.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	defer r.buffers.Put(b)
	b.Reset()
	if err := r.pages[name].ExecuteTemplate(b, "base.html", model); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	return use(b.Bytes())
}

// markup lets through what package page has made from Markdown, and nothing else.
func markup(h page.HTML) template.HTML { return template.HTML(h) }

// ramp is the levels of the heat scale, for its legend.
func ramp() []int {
	out := make([]int, page.HeatSteps)
	for i := range out {
		out[i] = i
	}
	return out
}
