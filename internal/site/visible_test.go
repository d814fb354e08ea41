package site_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"speedmatrix/internal/page"
	"speedmatrix/internal/page/seedtest"
)

// readPage parses a page of a built site.
func readPage(t testing.TB, out, name string) *html.Node {
	t.Helper()
	f, err := os.Open(filepath.Join(out, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// find lists the elements for which keep is true, in document order.
func find(n *html.Node, keep func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && keep(d) {
			out = append(out, d)
		}
	}
	return out
}

func element(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == name }
}

func class(name, classes string) func(*html.Node) bool {
	return func(n *html.Node) bool {
		return n.Data == name && slices.Contains(strings.Fields(attr(n, "class")), classes)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// text is what a reader without styles gets: text nodes joined, white space folded. Scripts are left out.
func text(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style"):
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.Type == html.ElementNode && slices.Contains([]string{"td", "th", "p", "div", "tr", "dt", "dd", "li", "h1", "h2", "h3", "caption"}, n.Data) {
			b.WriteByte('\n')
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestSeedPage holds the visible text of a page made from the seed's figures to the seed: every row, every cell, every footnote.
func TestSeedPage(t *testing.T) {
	opt, cfg := options(t)
	s := seedtest.Run()
	if err := build(t, opt, cfg, s); err != nil {
		t.Fatal(err)
	}
	doc := readPage(t, opt.Out, page.RunPath(s.Facts.ID)+"index.html")

	rows := find(find(doc, class("table", "rows"))[0], element("tr"))
	var got [][]string
	for _, tr := range rows {
		if attr(tr, "class") == "more" {
			continue
		}
		var line []string
		for _, cell := range find(tr, func(n *html.Node) bool { return n.Parent == tr }) {
			line = append(line, strings.TrimSuffix(text(cell), "*")) // the mark of "Completed requests 0"
		}
		got = append(got, line)
	}
	want := seedtest.Rows()
	if len(got) != len(want)+1 {
		t.Fatalf("%d lines in the table, want a header and %d", len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(got[i+1], want[i]) {
			t.Errorf("row %d\n got %q\nwant %q", i, got[i+1], want[i])
		}
	}

	matrix := find(find(doc, class("table", "matrix"))[0], element("tr"))
	for i, line := range seedtest.Matrix() {
		for j, td := range find(matrix[i+1], element("td")) {
			// The seed runs value and TTFT together, "153.3127 ms TTFT"; ours reads "153.3 tok/s, TTFT 127 ms".
			value, ttft, both := strings.Cut(text(td), " tok/s, TTFT ")
			if both {
				value += ttft + " TTFT"
			}
			if value != line[j+1] {
				t.Errorf("matrix %s, %d: %q, want %q", line[0], j, text(td), line[j+1])
			}
		}
	}
	bars := find(find(doc, class("table", "bars"))[0], element("tr"))
	for i, b := range seedtest.Bars() {
		if got, want := text(bars[i+1]), b[0]+" "+b[1]+" tok/s, TTFT "+b[2]; got != want {
			t.Errorf("bar %d reads %q, want %q", i, got, want)
		}
	}

	all := text(doc)
	for line := range strings.Lines(seedtest.Text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, "context length") || strings.HasSuffix(line, " TTFT") || strings.Contains(line, "|"):
			continue // tables, compared above
		case strings.HasPrefix(line, "sglang ·"):
			line = line[:strings.Index(line, "5 contexts")] // the seed runs two lines together
		}
		line = strings.TrimPrefix(line, "- ")
		if !strings.Contains(all, line) {
			t.Errorf("the page lacks %q", line)
		}
	}
	for _, want := range []string{
		"total tok/s · rows are context length, columns are simultaneous requests", "prompt tok/s by context length",
		"5 contexts (8K–123K) × 8 concurrency levels (1–128) · prefill at 8K, 16K, 32K, 64K, 123K, 128K",
		"Latencies are medians. Total tok/s is output across all simultaneous requests.",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestRunPageIsCompleteForMachines looks at raw values, anchors, labels and types.
func TestRunPageIsCompleteForMachines(t *testing.T) {
	opt, cfg := options(t)
	cfg.BaseURL = "https://example.org/speed"
	s := seedtest.Synthetic()
	if err := build(t, opt, cfg, s); err != nil {
		t.Fatal(err)
	}
	doc := readPage(t, opt.Out, page.RunPath(s.Facts.ID)+"index.html")
	row := find(doc, func(n *html.Node) bool { return attr(n, "id") == "decode-8k-16" })
	if len(row) != 1 || row[0].Data != "tbody" {
		t.Fatal("no row has the anchor decode-8k-16")
	}
	if d := find(row[0], element("data")); attr(d[2], "value") != "2268.3" || text(d[2]) != "2,268.3" {
		t.Errorf("third number of 8K x 16 is %q with value %q", text(d[2]), attr(d[2], "value"))
	}
	if len(find(row[0], element("summary"))) != 1 {
		t.Error("the row's details cannot be opened by keyboard")
	}
	for _, n := range find(doc, func(*html.Node) bool { return true }) {
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has the attribute %s, which the policy forbids", n.Data, a.Key)
			}
			if strings.Contains(a.Val, "ZgotmplZ") {
				t.Errorf("<%s %s> was refused by the template engine", n.Data, a.Key)
			}
		}
		if n.Data == "script" && attr(n, "src") == "" && !strings.HasSuffix(attr(n, "type"), "json") {
			t.Error("the page has an inline script")
		}
		if n.Data == "style" {
			t.Error("the page has an inline style")
		}
		if s := attr(n, "class"); n.Data == "div" && strings.Contains(s, "scroll") && (attr(n, "tabindex") != "0" || attr(n, "role") != "region" || attr(n, "aria-label") == "") {
			t.Errorf("a scroll box cannot take the focus: %v", n.Attr)
		}
	}
	for _, table := range find(doc, element("table")) {
		if len(find(table, element("caption"))) != 1 {
			t.Errorf("a table has no caption: %v", table.Attr)
		}
	}
	linked := find(doc, func(n *html.Node) bool { return attr(n, "type") == "application/ld+json" })
	if len(linked) != 1 || !strings.Contains(linked[0].FirstChild.Data, `"@type":"Dataset"`) {
		t.Error("the page has no data set in JSON-LD")
	}
	for _, m := range find(doc, element("meta")) {
		if attr(m, "property") == "og:image" && attr(m, "content") != "https://example.org/speed/runs/"+s.Facts.ID+"/social.png" {
			t.Errorf("social image at %q", attr(m, "content"))
		}
	}
}
