package site

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// byParser is what eachAttribute should find, by a real parser's tokens: "name=value" in order.
func byParser(page []byte) []string {
	var out []string
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range z.Token().Attr {
				out = append(out, a.Key+"="+a.Val)
			}
		}
	}
}

func byScan(page []byte) []string {
	var out []string
	eachAttribute(page, func(name, value []byte) {
		v := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(value))
		out = append(out, strings.ToLower(string(name))+"="+html.UnescapeString(v))
	})
	return out
}

func TestScan(t *testing.T) {
	for _, page := range []string{
		`<!DOCTYPE html><html lang="en"><head><title><a href="no"></title><script defer src="a.js" data-charts='b.js'></script>`,
		`<p id="x" class=y hidden>a < b <a href="?a=1&amp;b=2#c">t</a><br/><img src=a.png alt=""><rect width="1"/>`,
		`<script type="application/json">{"a":"<p id='no'>"}</script><P ID="Up"><!-- <p id="no"> --><style>p{}</style><textarea><b id=no></textarea><i id=last>`,
		`<SCRIPT>"</p id=1>"</Script><a HREF="b">`, `<`, `</p id="no"><b id>`,
	} {
		if got, want := byScan([]byte(page)), byParser([]byte(page)); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", page, got, want)
		}
	}
}

// FuzzScan: for a tag as html/template writes it, with any attribute value, the scan finds what a parser finds.
func FuzzScan(f *testing.F) {
	f.Add("x", "y")
	f.Add("</script>\"'<&", "a&amp;b\x00>")
	f.Fuzz(func(t *testing.T, a, b string) {
		escape := strings.NewReplacer("\x00", "\ufffd").Replace
		page := fmt.Appendf(nil, `<p id="%s">%s</p><script type="application/json">"%s"</script><a href='%s' rel="nofollow">%[2]s</a>`,
			html.EscapeString(escape(a)), html.EscapeString(escape(b)), strings.ReplaceAll(escape(b), "<", `\u003c`), html.EscapeString(escape(b)))
		if got, want := byScan(page), byParser(page); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", page, got, want)
		}
		eachAttribute([]byte(a+b), func([]byte, []byte) {}) // ends, whatever it reads
	})
}
