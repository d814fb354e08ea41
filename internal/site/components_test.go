package site

import (
	"html/template"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"speedmatrix/internal/page"
)

func TestComponents(t *testing.T) {
	v := page.Value{Text: "1,234.5", Raw: "1234.5"}
	none := page.Value{Text: "—"}
	for _, c := range []struct {
		got  template.HTML
		want string
	}{
		{value(v), `<data value="1234.5">1,234.5</data>`},
		{value(none), "—"},
		{cells(v, none), "<td class=\"n\"><data value=\"1234.5\">1,234.5</data></td>\n<td class=\"n\">—</td>\n"},
		{details([]page.Detail{{Term: "n", Value: v, Note: "of 3"}, {Term: "p90", Value: none}, {Term: "Why", Note: "too long"}}),
			`<div><dt>n</dt><dd><data value="1234.5">1,234.5</data> <small>of 3</small></dd></div><div><dt>p90</dt><dd>—</dd></div><div><dt>Why</dt><dd>too long</dd></div>`},
		{tableRows([][]page.Value{{none, v}, {v}}),
			`<tr><th scope="row">—</th><td><data value="1234.5">1,234.5</data></td></tr><tr><th scope="row"><data value="1234.5">1,234.5</data></th></tr>`},
	} {
		if string(c.got) != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// FuzzComponents: whatever a text holds, a browser reads that text and no markup of it.
func FuzzComponents(f *testing.F) {
	f.Add(`</data><script>alert(1)</script>`, `1" onclick="x`)
	f.Add("a\x00b'&amp;\"<", "<!--")
	f.Add("\xff\xfe", "\u202e")
	f.Fuzz(func(t *testing.T, txt, raw string) {
		v := page.Value{Text: txt, Raw: raw}
		all := string(details([]page.Detail{{Term: txt, Value: v, Note: raw}})) + "<table>" + string(tableRows([][]page.Value{{v, v}})) + "<tr>" + string(cells(v)) + "</table>"
		z := html.NewTokenizer(strings.NewReader(all))
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				return
			}
			tok := z.Token()
			switch {
			case kind == html.CommentToken, kind == html.DoctypeToken:
				t.Fatalf("%q became %v", txt, tok)
			case kind == html.TextToken && tok.Data != "\n" && tok.Data != " " && tok.Data != asRead(txt) && tok.Data != asRead(raw):
				t.Fatalf("text %q is neither %q nor %q", tok.Data, asRead(txt), asRead(raw))
			case kind == html.StartTagToken && !strings.Contains(" div dt dd data small table tr th td ", " "+tok.Data+" "):
				t.Fatalf("element %q of %q", tok.Data, txt)
			case kind == html.StartTagToken && tok.Data == "data" && (len(tok.Attr) != 1 || tok.Attr[0].Val != asRead(raw)):
				t.Fatalf("attributes %v, want the value %q", tok.Attr, asRead(raw))
			}
		}
	})
}

// asRead is what a browser makes of text: no NUL, line ends in one form.
func asRead(s string) string {
	return strings.NewReplacer("\x00", "\ufffd", "\r\n", "\n", "\r", "\n").Replace(s)
}
