package main

import (
	"html"
	"regexp"
	"testing"
)

// TestMarkdownHasNoLink reads cells as a forge does: entities decoded, then looked through for mentions, references and addresses.
func TestMarkdownHasNoLink(t *testing.T) {
	link := regexp.MustCompile(`(?i)@\w|#\d|\bgh-\d|www\.|://`)
	for _, s := range []string{"@octocat", "me@example.org", "fixes #12", "GH-12", "a/b#3", "http://example.org", "(WWW.example.org)", "_www.a.b_", "@@a", "##1"} {
		if !link.MatchString(s) {
			t.Fatalf("%q is no link: the test looks for the wrong thing", s)
		}
		if got := html.UnescapeString(cellText(s)); link.MatchString(got) {
			t.Errorf("cellText(%q) reads as %q: a link", s, got)
		}
	}
}

func TestMarkdownHasNoMarkup(t *testing.T) {
	for in, want := range map[string]string{
		"plain 1.5 t/s":  "plain 1.5 t/s",
		"a|b":            "a&#124;b",
		"**x**":          "&#42;&#42;x&#42;&#42;",
		"<b>&amp;</b>":   "&#60;b&#62;&#38;amp;&#60;/b&#62;",
		"[t](u)":         "&#91;t&#93;&#40;u&#41;",
		"$x$ `y`":        "&#36;x&#36; &#96;y&#96;",
		"qwen:latest":    "qwen&#58;latest",
		"two\nlines":     "two lines",
		"http://a":       "http&#58;\u200b//a",
		"@a #1 high-end": "&#64;\u200ba &#35;\u200b1 high-end",
		"~/x\u202eabc":   "&#126;/x&#92;u202eabc",
	} {
		if got := cellText(in); got != want {
			t.Errorf("cellText(%q) = %q, want %q", in, got, want)
		}
	}
}
