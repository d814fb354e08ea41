package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText bounds one piece of contributed text on a page, in bytes. A launch command of 10,000 characters fits.
const maxText = 16 << 10

// Clean makes contributed text safe to show inside a line of ours: control characters and the invisible
// characters that reorder text (bidirectional embeddings, overrides, isolates and marks) become visible escapes
// such as \u202e, bytes that are no UTF-8 become U+FFFD, and what exceeds maxText is cut with "…".
func Clean(s string) string {
	if len(s) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	if !strings.ContainsFunc(s, isHidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case isHidden(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isHidden reports whether r would act on the text around it instead of being seen.
func isHidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f', r == '\ufeff':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return r == '\u2028' || r == '\u2029'
}

// clip shortens s to at most n runes, marking the cut.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}

// plural returns "1 cell" or "3 cells".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// span returns "8K–123K" for several labels, the label itself for one, "" for none.
func span(labels []string) string {
	switch len(labels) {
	case 0:
		return ""
	case 1:
		return labels[0]
	}
	return labels[0] + "–" + labels[len(labels)-1]
}

// sentence makes s end in a full stop and start with a capital.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[size:]
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}
