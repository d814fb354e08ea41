package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"speedmatrix/internal/event"
	"speedmatrix/internal/page"
	"speedmatrix/internal/page/seedtest"
	"speedmatrix/internal/site"
	"speedmatrix/internal/summary"
)

// hostile is text that tries to leave its place: a script element, attributes, a template, a reordering of the line.
const hostile = "</script><script>alert(1)</script><svg onload=alert(2)>\"'`{{.}} \u202e\u2066 \x00\x1b[31m __f__alert__f__ javascript:alert(3) &lt;"

// poison puts hostile text wherever a contributed run can bring text.
func poison(s summary.Run) summary.Run {
	s.Title = hostile
	for _, f := range []event.Facts{s.Facts.Hardware, s.Facts.Engine, s.Facts.Model, s.Facts.Server} {
		for k := range f {
			f[k] = hostile
		}
		f[hostile] = hostile
	}
	s.Facts.Host = event.Facts{"go": hostile}
	s.Facts.Engine["repository"] = "javascript:alert(1)"
	s.Facts.Sources["hardware.gpu"] = hostile
	s.Facts.Tool = event.Tool{Name: "speedmatrix " + hostile, Version: hostile, Method: 1, Preset: hostile, Flags: []string{hostile, "--x=" + hostile}}
	s.Facts.Method.Endpoint, s.Facts.Method.Dropped = hostile, []string{hostile}
	s.Facts.Capacity.Source = hostile
	s.Facts.Launch.Command = hostile + strings.Repeat(" --long-flag value", 600) // over 10,000 characters
	s.Facts.Files = map[string]string{hostile: hostile}
	for i := range s.Decode {
		c := &s.Decode[i]
		c.Reason, c.TTFTKind = hostile, hostile
		c.Label = hostile + c.Label
		c.Warnings = append(c.Warnings, summary.Warning{ID: hostile, Text: hostile})
		c.Failures = append(c.Failures, summary.Count{Kind: hostile, N: 2})
		for j := range c.Strip {
			c.Strip[j].Outcome, c.Strip[j].Stage = hostile, hostile
		}
	}
	s.Decode[3].Status = hostile
	s.Warnings = []summary.Warning{{ID: hostile, Text: hostile}}
	return s
}

func TestHostileTextStaysText(t *testing.T) {
	opt, cfg := options(t)
	s := poison(seedtest.Synthetic())
	b, err := site.New(opt, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	notes := "# " + hostile + "\n\n[a](javascript:alert(1)) ![b](https://evil.example/pixel.png)\n\n<svg onload=alert(1)>\n\n" + hostile
	r, e := publish(t, s, notes, cfg)
	if err := b.Run(r); err != nil {
		t.Fatal(err)
	}
	index, _ := page.NewIndex([]page.Entry{e}).JSON()
	if err := b.Home(page.NewHome([]page.Entry{e}, cfg), index); err != nil {
		t.Fatal(err)
	}
	for _, v := range []int{0, 1} {
		if err := b.Methodology(page.NewMethodology(1, []int{1}, page.MethodologyPath(v), "", cfg)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.NotFound(page.NewNotFound(cfg)); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", page.RunPath(s.Facts.ID) + "index.html"} {
		checkNoInjection(t, opt.Out, name)
	}
}

// checkNoInjection reads a page as a browser does and looks for anything that the hostile text became.
func checkNoInjection(t *testing.T, out, name string) {
	t.Helper()
	doc := readPage(t, out, name)
	for _, n := range find(doc, func(*html.Node) bool { return true }) {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("%s: <%s> has the attribute %s=%q", name, n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "src") && (strings.Contains(a.Val, "javascript:") || strings.Contains(a.Val, "evil.example") && n.Data != "a") {
				t.Errorf("%s: <%s> leads to %q", name, n.Data, a.Val)
			}
		}
		switch n.Data {
		case "img", "iframe", "object", "embed", "form", "base":
			t.Errorf("%s has an element <%s>", name, n.Data)
		case "script":
			if attr(n, "src") == "" && !strings.HasSuffix(attr(n, "type"), "json") {
				t.Errorf("%s has a script %q", name, text(n))
			}
		case "svg":
			if attr(n, "aria-hidden") != "true" {
				t.Errorf("%s has a foreign <svg>", name)
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(raw), "\u202e\u2066\x00\x1b") {
		t.Errorf("%s holds control or override characters", name)
	}
}

// TestOddRunsBuild builds pages of runs with hardly anything, and with very much.
func TestOddRunsBuild(t *testing.T) {
	check := func(name string, change func(*summary.Run)) {
		t.Helper()
		opt, cfg := options(t)
		s := seedtest.Synthetic()
		change(&s)
		if err := build(t, opt, cfg, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("only prefill", func(s *summary.Run) { s.Decode = nil })
	check("one cell", func(s *summary.Run) { s.Prefill, s.Decode = nil, s.Decode[3:4] })
	check("no cell", func(s *summary.Run) { s.Prefill, s.Decode = nil, nil })
	check("no facts", func(s *summary.Run) {
		s.Facts.Hardware, s.Facts.Engine, s.Facts.Model, s.Facts.Server, s.Facts.Launch = nil, nil, nil, nil, event.Launch{}
	})
	check("only failed cells", func(s *summary.Run) {
		for i := range s.Decode {
			c := &s.Decode[i]
			*c = summary.Cell{Phase: c.Phase, Context: c.Context, Label: c.Label, Concurrency: c.Concurrency, Status: event.Failed}
		}
	})
	check("20 x 16 cells", func(s *summary.Run) {
		one := s.Decode[4]
		s.Decode = nil
		for row := range 20 {
			for column := range 16 {
				c := one
				c.Label, c.Context, c.Concurrency = fmt.Sprintf("%dK", row+1), (row+1)*1024, column+1
				s.Decode = append(s.Decode, c)
			}
		}
	})
	check("two cells of one name", func(s *summary.Run) { s.Decode[1].Concurrency = 1 })
}
