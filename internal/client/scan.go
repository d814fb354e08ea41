package client

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks one JSON value without allocating. It accepts a strict subset of JSON: each method returns false
// on anything that is wrong or merely unusual, and the caller then gives the whole event to encoding/json, which
// alone decides what is an error. What it accepts it must understand as encoding/json does (FuzzScan).
type scanner struct {
	b     []byte
	i     int
	plain bool // the latest text had no escapes
}

// maxDepth is how deep the scanner follows values that it skips.
const maxDepth = 32

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// accept takes the byte c, after white space, if it is next.
func (s *scanner) accept(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// end reports whether nothing but white space follows.
func (s *scanner) end() bool {
	s.space()
	return s.i == len(s.b)
}

// null takes a null.
func (s *scanner) null() bool {
	s.space()
	return s.literal("null")
}

func (s *scanner) literal(word string) bool {
	if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
		s.i += len(word)
		return true
	}
	return false
}

// field moves to the next member of an object, the opening brace taken: its key and true, or a nil key and true at
// the closing brace. Keys with escapes are left to encoding/json.
func (s *scanner) field(first bool) ([]byte, bool) {
	if s.accept('}') {
		return nil, true
	}
	if !first && !s.accept(',') {
		return nil, false
	}
	key, plain, ok := s.str()
	return key, ok && plain && s.accept(':')
}

// element moves to the next element of an array, the opening bracket taken: more says that there is one.
func (s *scanner) element(first bool) (more, ok bool) {
	if s.accept(']') {
		return false, true
	}
	return true, first || s.accept(',')
}

// str takes a string and returns what stands between its quotes; plain says that nothing in it is escaped.
func (s *scanner) str() (raw []byte, plain, ok bool) {
	if !s.accept('"') {
		return nil, false, false
	}
	start := s.i
	plain = true
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			raw = s.b[start:s.i]
			s.i++
			return raw, plain, true
		case c < ' ':
			return nil, false, false
		case c == '\\':
			plain = false
			if !s.escape() {
				return nil, false, false
			}
		default:
			s.i++
		}
	}
	return nil, false, false
}

// escape steps over one escape sequence.
func (s *scanner) escape() bool {
	if s.i+1 >= len(s.b) {
		return false
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
		_, ok := hex4(s.b[s.i+2:])
		s.i += 6
		return ok
	}
	return false
}

// text takes a string or null and appends the string's value to dst.
func (s *scanner) text(dst []byte) ([]byte, bool) {
	if s.null() {
		return dst, true
	}
	raw, plain, ok := s.str()
	if !ok || !utf8.Valid(raw) {
		return dst, false
	}
	if s.plain = plain; plain {
		return append(dst, raw...), true
	}
	return unescape(dst, raw)
}

// unescape appends the value of a string whose escapes are known to be well formed. Lone surrogates are left to
// encoding/json.
func unescape(dst, raw []byte) ([]byte, bool) {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		i += 2
		switch c := raw[i-1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(raw[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				if len(raw)-i < 6 || raw[i] != '\\' || raw[i+1] != 'u' {
					return dst, false
				}
				low, _ := hex4(raw[i+2:])
				r = utf16.DecodeRune(r, low)
				if r == utf8.RuneError {
					return dst, false
				}
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst, true
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// count takes a plain non-negative integer of up to nine digits, or null, which leaves dst as it is.
func (s *scanner) count(dst *int32) bool {
	if s.null() {
		return true
	}
	start, n := s.i, int32(0)
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		if s.i-start == 9 {
			return false
		}
		n = n*10 + int32(s.b[s.i]-'0')
		s.i++
	}
	if s.i == start || (s.b[start] == '0' && s.i > start+1) || s.i == len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '.', 'e', 'E':
		return false
	}
	*dst = n
	return true
}

// skip takes any value.
func (s *scanner) skip(depth int) bool {
	s.space()
	if s.i == len(s.b) || depth == maxDepth {
		return false
	}
	switch c := s.b[s.i]; {
	case c == '"':
		_, _, ok := s.str()
		return ok
	case c == '{':
		s.i++
		return s.skipObject(depth)
	case c == '[':
		s.i++
		return s.skipArray(depth)
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) skipObject(depth int) bool {
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		if !s.skip(depth + 1) {
			return false
		}
	}
}

func (s *scanner) skipArray(depth int) bool {
	for first := true; ; first = false {
		more, ok := s.element(first)
		if !ok || !more {
			return ok
		}
		if !s.skip(depth + 1) {
			return false
		}
	}
}

// number takes a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number() bool {
	s.one("-")
	if !s.one("0") && s.digits() == 0 {
		return false
	}
	if s.one(".") && s.digits() == 0 {
		return false
	}
	if s.one("eE") {
		s.one("+-")
		return s.digits() > 0
	}
	return true
}

// one takes one byte out of set.
func (s *scanner) one(set string) bool {
	for i := range len(set) {
		if s.i < len(s.b) && s.b[s.i] == set[i] {
			s.i++
			return true
		}
	}
	return false
}

func (s *scanner) digits() int {
	start := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - start
}
