package site

import (
	"encoding/json"
	"html/template"
	"strconv"
	"strings"

	"speedmatrix/internal/page"
	"speedmatrix/internal/unit"
)

// components are the pieces of HTML that a page repeats by the thousand, as functions of the templates: written in templates they took three quarters of a
// page's time, most of it reflection. Each is given a part of a page's model. All text of a model goes through text or number, which escape
// it; tags and classes are constants.
func components() template.FuncMap {
	return template.FuncMap{
		"value": value, "facts": facts, "columns": columns, "measurements": measurements, "squares": squares, "choices": choices,
		"heads": heads, "tableRows": tableRows, "compared": compared, "options": options,
	}
}

// fragment is HTML under construction.
type fragment struct{ strings.Builder }

func (f *fragment) html() template.HTML { return template.HTML(f.String()) }

// lines adds each piece of a list on a line of its own.
func lines[T any](list []T, add func(*fragment, *T)) template.HTML {
	var f fragment
	for i := range list {
		f.raw("\n")
		add(&f, &list[i])
	}
	return f.html()
}

// raw adds markup of ours.
func (f *fragment) raw(markup ...string) {
	for _, m := range markup {
		f.WriteString(m)
	}
}

// text adds s, escaped for the inside of an element or of a quoted attribute.
func (f *fragment) text(s string) {
	for i := range len(s) {
		switch s[i] {
		case '\'', '"', '&', '<', '>', 0:
			template.HTMLEscape(f, []byte(s))
			return
		}
	}
	f.WriteString(s)
}

// number adds a number as people read it, with the exact one for machines.
func (f *fragment) number(v page.Value) {
	if v.Raw == "" {
		f.text(v.Text)
		return
	}
	f.raw(`<data value="`)
	f.text(v.Raw)
	f.raw(`">`)
	f.text(v.Text)
	f.raw("</data>")
}

// value is one number.
func value(v page.Value) template.HTML {
	var f fragment
	f.number(v)
	return f.html()
}

// facts are the lines of a table of facts: term, text, note, and where it comes from.
func facts(list []page.Fact) template.HTML {
	var f fragment
	for _, v := range list {
		f.raw("\n<div><dt>")
		f.text(v.Term)
		f.raw("</dt><dd>")
		f.fact(v)
		if v.Note != "" {
			f.raw(" <small>")
			f.text(v.Note)
			f.raw("</small>")
		}
		if v.Source != "" {
			f.raw(` <small class="src">`)
			f.text(v.Source)
			f.raw("</small>")
		}
		f.raw("</dd></div>")
	}
	return f.html()
}

// fact adds the text of a fact. Its address, if it has one, begins with http or https: package page sees to that.
func (f *fragment) fact(v page.Fact) {
	if v.Href != "" {
		f.raw(`<a href="`)
		f.text(v.Href)
		f.raw(`" rel="nofollow noopener">`)
	}
	if v.Code {
		f.raw("<code>")
	}
	f.raw("<bdi>")
	f.text(v.Text)
	f.raw("</bdi>")
	if v.Code {
		f.raw("</code>")
	}
	if v.Href != "" {
		f.raw("</a>")
	}
}

// columns are the headers of "All measurements", each with its button to sort.
func columns(list []page.Column) template.HTML {
	var f fragment
	for _, c := range list {
		f.raw("\n<th scope=\"col\" data-key=\"")
		f.text(c.Key)
		f.raw(`"`)
		if c.Numeric {
			f.raw(` class="n"`)
		}
		f.raw(`><span class="h"><a href="`)
		f.text(c.Href)
		f.raw(`">`)
		f.text(c.Name)
		f.raw(`</a><button type="button" class="sort scripted" aria-label="Sort by `)
		f.text(c.Name)
		f.raw(`"></button></span></th>`)
	}
	return f.html()
}

// heads are the headers of a chart's table.
func heads(names []string) template.HTML {
	var f fragment
	for _, name := range names {
		f.raw(`<th scope="col">`)
		f.text(name)
		f.raw("</th>")
	}
	return f.html()
}

// measurements are the rows of "All measurements" with their details, a body of the table each.
func measurements(rows []page.Row) template.HTML {
	var f fragment
	f.Grow(2 << 10 * len(rows))
	for i := range rows {
		f.measurement(&rows[i])
	}
	return f.html()
}

func (f *fragment) measurement(r *page.Row) {
	f.raw(`<tbody id="`)
	f.text(r.ID)
	f.raw(`" data-row data-phase="`)
	f.text(r.PhaseID)
	f.raw(`" data-status="`)
	f.text(r.State.Class)
	f.raw("\"><tr>\n<th scope=\"row\">")
	if len(r.Details) > 0 {
		f.raw("<details><summary>")
		f.text(r.Phase)
		f.raw("</summary></details>")
	} else {
		f.text(r.Phase)
	}
	f.raw("</th>\n<th scope=\"row\" class=\"n\"><a href=\"#")
	f.text(r.ID)
	f.raw(`">`)
	f.number(r.Context)
	f.raw("</a></th>\n<th scope=\"row\" class=\"n\">")
	f.number(r.Concurrency)
	f.raw("</th>\n")
	f.state(r)
	f.cells("", r.TokS, r.PerRequest, r.TTFT, r.Between, r.Active)
	mark := ""
	if r.ZeroWhy != "" {
		mark = `<a class="mark" href="#why-zero" aria-label="Why 0">*</a>`
	}
	f.cells(mark, r.Completed)
	f.cells("", r.Output, r.Measured)
	f.raw("</tr>")
	f.details(r.Details)
	f.raw("</tbody>\n")
}

// state adds the cell of a row that says how the measurement went, with its warnings.
func (f *fragment) state(r *page.Row) {
	f.raw(`<td class="state `)
	f.text(r.State.Class)
	f.raw(`">`)
	f.text(r.State.Word)
	if r.State.Note != "" {
		f.raw(", ")
		f.text(r.State.Note)
	}
	if len(r.Warnings) > 0 {
		f.raw(`<span class="vh">; </span><small class="word">`)
		f.text(strings.Join(r.Warnings, ", "))
		f.raw("</small>")
	}
	f.raw("</td>\n")
}

// cells adds numbers side by side, each with a mark behind it.
func (f *fragment) cells(mark string, values ...page.Value) {
	for _, v := range values {
		f.raw(`<td class="n">`)
		f.number(v)
		f.raw(mark, "</td>\n")
	}
}

// details adds the lines below a row: term, number, remark.
func (f *fragment) details(lines []page.Detail) {
	if len(lines) == 0 {
		return
	}
	f.raw(`<tr class="more"><td colspan="12"><dl>`)
	for _, d := range lines {
		f.raw("<div><dt>")
		f.text(d.Term)
		f.raw("</dt><dd>")
		switch {
		case d.Value.Text == "":
			f.text(d.Note)
		case d.Note == "":
			f.number(d.Value)
		default:
			f.number(d.Value)
			f.raw(" <small>")
			f.text(d.Note)
			f.raw("</small>")
		}
		f.raw("</dd></div>")
	}
	f.raw("</dl></td></tr>")
}

// squares are the cells of a row of the decode matrix.
func squares(cells []page.MatrixCell) template.HTML {
	return lines(cells, (*fragment).square)
}

func (f *fragment) square(c *page.MatrixCell) {
	switch {
	case !c.Planned:
		f.raw(`<td class="none">—</td>`)
	case !c.Shown:
		f.raw(`<td class="state `)
		f.text(c.State.Class)
		f.link(c.Href)
		f.text(c.State.Word)
		f.raw("</a></td>")
	default:
		f.raw(`<td class="`)
		f.text(strings.TrimLeft(c.Heat+" "+c.State.Class, " "))
		f.link(c.Href)
		f.raw("<b>")
		f.number(c.TokS)
		f.raw(`</b><span class="vh"> tok/s, </span><small>TTFT `)
		f.number(c.TTFT)
		if c.Kind != "" {
			f.raw(", ")
			f.text(c.Kind)
		}
		f.remarks(c)
		f.raw("</small>")
		f.raw("</a></td>")
	}
}

// link ends the start tag of a table cell, and opens a link to a place on the page.
func (f *fragment) link(anchor string) {
	f.raw(`"><a href="`)
	f.text(anchor)
	f.raw(`">`)
}

// remarks adds what qualifies the number of a square, each on a line of its own: its state, its warnings. The comma before a remark, for those who
// hear the page, stands on the line that it ends.
func (f *fragment) remarks(c *page.MatrixCell) {
	const open = `<span class="vh">, </span></small><small class="word">`
	if c.State.Class != "valid" {
		f.raw(open)
		f.text(c.State.Word)
		if c.State.Note != "" {
			f.raw(", ")
			f.text(c.State.Note)
		}
	}
	switch {
	case c.Marks == 1:
		f.raw(open, "1 warning")
	case c.Marks > 1:
		f.raw(open, strconv.Itoa(c.Marks), " warnings")
	}
}

// choices are the options of a chart's picker.
func choices(groups []page.PickGroup) template.HTML {
	var f fragment
	for _, g := range groups {
		f.raw(`<optgroup label="`)
		f.text(g.Label)
		f.raw(`">`)
		for _, c := range g.Choices {
			f.raw(`<option value="`)
			f.text(c.Value)
			f.raw(`"`)
			if c.Selected {
				f.raw(" selected")
			}
			f.raw(`>`)
			f.text(c.Label)
			f.raw("</option>")
		}
		f.raw("</optgroup>")
	}
	return f.html()
}

// tableRows are the rows of a chart's table; the first column heads each.
func tableRows(rows [][]page.Value) template.HTML {
	var f fragment
	f.Grow(160 * len(rows))
	for _, row := range rows {
		f.raw("<tr>")
		for i, v := range row {
			open, end := "<td>", "</td>"
			if i == 0 {
				open, end = `<th scope="row">`, "</th>"
			}
			f.raw(open)
			f.number(v)
			f.raw(end)
		}
		f.raw("</tr>")
	}
	return f.html()
}

// compared are the rows of a comparison, one cell of both runs each.
func compared(rows []page.CompareRow) template.HTML {
	return lines(rows, (*fragment).compared)
}

func (f *fragment) compared(r *page.CompareRow) {
	f.raw(`<tr><th scope="row">`)
	f.text(r.Phase)
	for _, v := range []page.Value{r.Context, r.Concurrency} {
		f.raw(`</th><th scope="row">`)
		f.number(v)
	}
	f.raw("</th>")
	interval := page.Value{Text: r.Interval}
	if r.Interval == "" {
		interval.Text = unit.Dash
	}
	for _, v := range []page.Value{r.A, r.B, r.Ratio, interval} {
		f.raw("<td>")
		f.number(v)
		f.raw("</td>")
	}
	f.raw(`<td class="verdict `)
	f.text(r.Class)
	f.raw(`">`)
	f.text(r.Verdict)
	if r.Why != "" {
		f.raw(`<span class="vh">: </span><small class="word">`)
		f.text(r.Why)
		f.raw("</small>")
	}
	f.raw("</td>")
	for _, v := range []page.Value{r.TTFT, r.Between} {
		f.raw("<td>")
		f.number(v)
		f.raw("</td>")
	}
	f.raw("</tr>")
}

// options is what a chart's script reads. Package chart has escaped what would end the script; the library for templates would decode and encode it again.
func options(o json.RawMessage) template.JS { return template.JS(o) }
