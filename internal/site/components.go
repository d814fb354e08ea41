package site

import (
	"html/template"
	"strings"

	"speedmatrix/internal/page"
)

// components are the pieces of HTML that a page repeats by the thousand, as functions of the templates. Written in templates they took three quarters of a
// page's time, most of it reflection. All text goes through text or number, which escape it; the tags are constants.
func components() template.FuncMap {
	return template.FuncMap{"value": value, "cells": cells, "details": details, "tableRows": tableRows}
}

// value is a number as people read it, with the exact one for machines.
func value(v page.Value) template.HTML {
	var b strings.Builder
	number(&b, v)
	return template.HTML(b.String())
}

// cells are numbers side by side in a row of a table.
func cells(values ...page.Value) template.HTML {
	var b strings.Builder
	for _, v := range values {
		b.WriteString("<td class=\"n\">")
		number(&b, v)
		b.WriteString("</td>\n")
	}
	return template.HTML(b.String())
}

// details are the lines below a row: term, number, remark.
func details(lines []page.Detail) template.HTML {
	var b strings.Builder
	for _, d := range lines {
		b.WriteString("<div><dt>")
		text(&b, d.Term)
		b.WriteString("</dt><dd>")
		switch {
		case d.Value.Text == "":
			text(&b, d.Note)
		case d.Note == "":
			number(&b, d.Value)
		default:
			number(&b, d.Value)
			b.WriteString(" <small>")
			text(&b, d.Note)
			b.WriteString("</small>")
		}
		b.WriteString("</dd></div>")
	}
	return template.HTML(b.String())
}

// tableRows are the rows of a chart's table; the first column heads each.
func tableRows(rows [][]page.Value) template.HTML {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("<tr>")
		for i, v := range row {
			open, end := "<td>", "</td>"
			if i == 0 {
				open, end = `<th scope="row">`, "</th>"
			}
			b.WriteString(open)
			number(&b, v)
			b.WriteString(end)
		}
		b.WriteString("</tr>")
	}
	return template.HTML(b.String())
}

func number(b *strings.Builder, v page.Value) {
	if v.Raw == "" {
		text(b, v.Text)
		return
	}
	b.WriteString(`<data value="`)
	text(b, v.Raw)
	b.WriteString(`">`)
	text(b, v.Text)
	b.WriteString("</data>")
}

// text escapes s for the inside of an element or of a quoted attribute.
func text(b *strings.Builder, s string) {
	if !strings.ContainsAny(s, "'\"&<>\x00") {
		b.WriteString(s)
		return
	}
	template.HTMLEscape(b, []byte(s))
}
