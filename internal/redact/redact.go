// Package redact takes secrets and private names out of text before it is stored or shown.
//
// It works in two ways, both of which always run:
//
//  1. by value: the keys in use, as they are and as URL, base64 and JSON write them;
//  2. by pattern: the table in rules.go, which knows the places where secrets and private names stand
//     (flags, headers, URLs, environment prefixes, home folders, private addresses and host names).
//
// Text replaces what the rules find; Find reports it, for checking a run that somebody else made. Redacting
// twice changes nothing. When in doubt a rule takes too much rather than too little.
//
// The package is pure: it reads no environment, no file and no clock, and it never returns or prints a secret.
package redact

import (
	"cmp"
	"slices"
	"strings"
)

// What stands in the place of something taken out.
const (
	Marker  = "<redacted>" // a secret
	Host    = "<host>"     // a host name
	Address = "<address>"  // an IP address
	Home    = "$HOME"      // a home folder
)

// Options adds names to the rules. The zero value adds none.
type Options struct {
	// Hosts are names of machines to hide, e.g. the one that measures. A name with a digit, dash or dot in it is
	// hidden wherever it stands; a plain word ("ubuntu") only where a host stands: in a URL, before a port, after "@".
	Hosts []string
}

// Redactor redacts text. The zero value knows no values and works by pattern alone. It is immutable and safe for
// concurrent use.
type Redactor struct {
	values []string // all written forms of the secrets, longest first
	rules  []rule   // rules for Options; those of the table are always used
}

// New returns a redactor for the given secrets. Secrets of fewer than four bytes are ignored: taking them out by value
// would tear up ordinary words (they are still taken out by pattern).
func New(opt Options, secrets ...string) Redactor {
	var r Redactor
	for _, s := range secrets {
		r.values = append(r.values, forms(s)...)
	}
	slices.SortFunc(r.values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	r.values = slices.Compact(r.values)
	for _, h := range opt.Hosts {
		if rule, ok := hostRule(h); ok {
			r.rules = append(r.rules, rule)
		}
	}
	return r
}

// maxPasses bounds the search for a fixed point; one pass is the rule, two where one rule uncovers the next.
const maxPasses = 8

// Text returns s without secrets and private names.
func (r Redactor) Text(s string) string {
	// A replacement can complete another pattern (a flag whose value was glued to it), so go on until nothing
	// changes: this is what makes Text idempotent.
	for range maxPasses {
		next := r.pass(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

func (r Redactor) pass(s string) string {
	s = splice(s, r.valueSpans(s))
	lower := strings.ToLower(s)
	for _, set := range [][]rule{table, r.rules} {
		for _, rule := range set {
			if spans := rule.spans(s, lower); len(spans) > 0 {
				s = splice(s, spans)
				lower = strings.ToLower(s)
			}
		}
	}
	return s
}

// Match is one place where text holds what should have been taken out.
type Match struct {
	Kind    string // the rule's name, e.g. "flag", "home folder"
	Offset  int    // of the sensitive part, in bytes
	Excerpt string // the surroundings on that line, redacted: fit to be shown
}

// Find returns every place that Text would change, in the order of the text.
func (r Redactor) Find(s string) []Match {
	var found []Match
	add := func(kind string, spans []span) {
		for _, sp := range spans {
			found = append(found, Match{Kind: kind, Offset: sp.start, Excerpt: r.excerpt(s, sp)})
		}
	}
	lower := strings.ToLower(s)
	add("known secret", r.valueSpans(s))
	for _, set := range [][]rule{table, r.rules} {
		for _, rule := range set {
			add(rule.kind, rule.spans(s, lower))
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int { return cmp.Compare(a.Offset, b.Offset) })
	return slices.CompactFunc(found, func(a, b Match) bool { return a.Offset == b.Offset })
}

// excerpt is the line around a span, at most some words of it, with everything in it redacted.
func (r Redactor) excerpt(s string, sp span) string {
	const around = 40
	start, end := max(0, sp.start-around), min(len(s), sp.end+around)
	if i := strings.LastIndexAny(s[start:sp.start], "\r\n"); i >= 0 {
		start += i + 1
	}
	if i := strings.IndexAny(s[sp.end:end], "\r\n"); i >= 0 {
		end = sp.end + i
	}
	// The tail may begin a secret that is cut short here, so only what precedes the span is quoted.
	head := strings.ToValidUTF8(s[start:sp.start], "")
	tail := ""
	if end < len(s) || sp.end < end {
		tail = " …"
	}
	return r.Text(head+sp.with) + tail
}

// span is a part of a text and what is to stand there.
type span struct {
	start, end int
	with       string
}

// splice replaces the spans, which must be in order; one that overlaps its predecessor is left out.
func splice(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		if sp.start < at {
			continue
		}
		b.WriteString(s[at:sp.start])
		b.WriteString(sp.with)
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}
