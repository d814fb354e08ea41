package page

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	check("gemma 4 – E2B", "gemma 4 – E2B")
	check("עברית", "עברית") // right-to-left letters are fine, overrides are not
	check("a\u202egnp.exe", `a\u202egnp.exe`)
	check("a\u2066b\u2069\u200f", `a\u2066b\u2069\u200f`)
	check("a\x00b\x1b[31m", `a\u0000b\u001b[31m`)
	check("one\ntwo\tthree", "one two three")
	check("bad \xff byte", "bad \ufffd byte")
	if got := Clean(strings.Repeat("ä", maxText)); len(got) > maxText+len("…") || !utf8.ValidString(got) {
		t.Errorf("a long text is %d bytes, valid %t", len(got), utf8.ValidString(got))
	}
}

func TestSlug(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := slug(in); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
	check("8K", "8k")
	check("1,000", "1-000")
	check("<script>", "script")
	check("…", "x")
}

func TestShellQuote(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
	check("--url=http://localhost:8000/v1", "--url=http://localhost:8000/v1")
	check("", "''")
	check("a b", "'a b'")
	check("$(rm -rf ~)", "'$(rm -rf ~)'")
	check("it's", `'it'\''s'`)
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "a\u202eb", "\xff\xfe", strings.Repeat("x", maxText+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, isHidden) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if again := Clean(got); len(s) < maxText/8 && again != got {
			t.Errorf("Clean is not idempotent: %q, then %q", got, again)
		}
	})
}
