package page

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := strings.TrimSpace(string(renderNotes(in))); got != want {
			t.Errorf("renderNotes(%q)\n got %s\nwant %s", in, got, want)
		}
	}
	check("# Title\n\ntext *em*", "<h3>Title</h3>\n<p>text <em>em</em></p>")
	check("[x](https://example.org/a?b=1&c=2)", `<p><a href="https://example.org/a?b=1&amp;c=2" rel="nofollow noopener">x</a></p>`)
	check("<https://example.org>", `<p><a href="https://example.org" rel="nofollow noopener">https://example.org</a></p>`)
	check("https://example.org/x", `<p><a href="https://example.org/x" rel="nofollow noopener">https://example.org/x</a></p>`)
	check("[x](javascript:alert(1))", "<p>x</p>")
	check("[x](JaVaScRiPt:alert(1))", "<p>x</p>")
	check("[x](data:text/html,hi)", "<p>x</p>")
	check("[x](../../index.html)", "<p>x</p>") // addresses inside the site are ours to make
	check("[x](//evil.example/)", "<p>x</p>")
	check("![alt](https://evil.example/t.png)", `<p><a href="https://evil.example/t.png" rel="nofollow noopener">alt</a></p>`)
	check("[![alt](https://a.example/t.png)](https://b.example/)", `<p><a href="https://b.example/" rel="nofollow noopener">alt</a></p>`)
	check("a <script>alert(1)</script> b", "<p>a alert(1) b</p>")
	check("<svg onload=alert(1)>", "")
	check("a\u202eb", `<p>a\u202eb</p>`)
	check("|a|b|\n|:-|-:|\n|1|2|", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>")
}

func TestNotesAreBounded(t *testing.T) {
	got := string(renderNotes(strings.Repeat("word ", maxNotes)))
	if len(got) > 2*maxNotes || !strings.Contains(got, "longer than 64 KiB") {
		t.Errorf("long notes give %d bytes", len(got))
	}
}

func FuzzNotes(f *testing.F) {
	for _, s := range []string{"# a", "[x](javascript:1)", "<b>", "![i](x)", "[a]: javascript:1\n[a]", "<a@b.c>", "```\n</script>\n```", "[![x](y)](z)"} {
		f.Add(s)
	}
	allowed := []string{"p", "a", "h3", "h4", "h5", "h6", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "del", "table", "thead", "tbody", "tr", "th", "td"}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(renderNotes(s))
		for i, part := range strings.Split(got, "<") {
			if i == 0 {
				continue
			}
			name := strings.TrimPrefix(part, "/")
			if end := strings.IndexAny(name, " />"); end >= 0 {
				name = name[:end]
			}
			known := false
			for _, a := range allowed {
				known = known || name == a
			}
			if !known {
				t.Errorf("renderNotes(%q) has the element <%s>: %s", s, name, got)
			}
			if strings.Contains(part, `href="`) && !strings.Contains(part, `rel="nofollow noopener"`) {
				t.Errorf("renderNotes(%q) has a link without rel: <%s", s, part)
			}
			if href, ok := strings.CutPrefix(part, `a href="`); ok && !strings.HasPrefix(strings.ToLower(href), "http") && !strings.HasPrefix(strings.ToLower(href), "mailto:") {
				t.Errorf("renderNotes(%q) links to %s", s, href)
			}
		}
	})
}
