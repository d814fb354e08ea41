package client

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dialect is what differs between the APIs: where a request goes, what it says, and how its events are read.
type dialect struct {
	path   func(base string) string // URL path under the path of the base URL
	body   func(b []byte, model string, r Request, f fields) []byte
	lines  bool   // newline-delimited JSON instead of server-sent events
	accept string // media type asked for

	scan   func(data []byte, c *chunk) bool  // the usual events, without allocating
	decode func(data []byte, c *chunk) error // all events
}

func dialectOf(e Endpoint) (dialect, error) {
	switch e {
	case "", Chat:
		return chat(), nil
	case Completions:
		return completions(), nil
	case Ollama:
		return ollama(), nil
	}
	return dialect{}, fmt.Errorf("endpoint %q is not known; use chat, completions or ollama", e)
}

// fields is a set of optional request fields.
type fields uint32

const (
	ignoreEOS fields = 1 << iota
	minTokens
	continuousUsage
	streamOptions
	requestID
	tokenTimings
	allFields fields = 1<<iota - 1
)

// fieldNames are the names of the fields as servers spell them, in the order of their bits. A more specific name
// stands before the one it is part of.
func fieldNames() []string {
	return []string{"ignore_eos", "min_tokens", "continuous_usage_stats", "stream_options", "rid", "timings_per_token"}
}

// wanted are the optional fields that the request asks for.
func (r Request) wanted() fields {
	f := streamOptions
	if r.IgnoreEOS {
		f |= ignoreEOS | minTokens
	}
	if r.ContinuousUsage {
		f |= continuousUsage
	}
	if r.ID != "" {
		f |= requestID
	}
	return f
}

// names returns the names of the fields in the set.
func (f fields) names() []string {
	var out []string
	for i, name := range fieldNames() {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// namedIn returns which fields of the set a server's refusal names. When it names stream_options as well as a
// member of it, only the member is meant.
func (f fields) namedIn(text string) fields {
	var named fields
	for i, name := range fieldNames() {
		if f&(1<<i) != 0 && containsWord(text, name) {
			named |= 1 << i
		}
	}
	if named&continuousUsage != 0 {
		named &^= streamOptions
	}
	return named
}

// containsWord reports whether word stands in text and is not part of a longer name.
func containsWord(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !isName(before) && !isName(after) {
			return true
		}
		text = text[i+len(word):]
	}
}

func isName(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// appendOptions appends the members that chat and completions have in common, and the closing brace.
func appendOptions(b []byte, r Request, f fields) []byte {
	b = append(b, `,"max_tokens":`...)
	b = strconv.AppendInt(b, int64(r.MaxTokens), 10)
	b = append(b, `,"temperature":`...)
	b = strconv.AppendFloat(b, r.Temperature, 'g', -1, 64)
	b = append(b, `,"stream":true`...)
	if f&streamOptions != 0 {
		b = append(b, `,"stream_options":{"include_usage":true`...)
		if f&continuousUsage != 0 {
			b = append(b, `,"continuous_usage_stats":true`...)
		}
		b = append(b, '}')
	}
	if f&ignoreEOS != 0 {
		b = append(b, `,"ignore_eos":true`...)
	}
	if f&minTokens != 0 {
		b = append(b, `,"min_tokens":`...)
		b = strconv.AppendInt(b, int64(r.MaxTokens), 10)
	}
	if f&tokenTimings != 0 {
		b = append(b, `,"timings_per_token":true`...)
	}
	if f&requestID != 0 {
		b = append(b, `,"rid":`...)
		b = appendQuoted(b, r.ID)
	}
	return append(b, '}')
}

// appendQuoted appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
