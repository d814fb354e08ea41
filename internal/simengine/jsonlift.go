package simengine

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A prompt of 128K tokens is a JSON string of 600 KB, and encoding/json reads it several times. lift takes long string
// literals out of a document first: what is left is small, and each text is unescaped once.

// liftBytes is the length of literal from which one is lifted.
const liftBytes = 4096

// liftMark starts the string that stands in a skeleton for a lifted one; the index follows.
const liftMark = "\x02lifted "

var errJSONString = errors.New("request body: a string is not valid JSON")

// lifted is a JSON document with its long strings apart.
type lifted struct {
	skeleton []byte
	texts    [][]byte
}

func lift(body []byte) (lifted, error) {
	var l lifted
	done := 0
	for at := 0; ; {
		open := bytes.IndexByte(body[at:], '"')
		if open < 0 {
			break
		}
		start := at + open + 1
		end := literalEnd(body, start)
		if end < 0 {
			return l, errJSONString
		}
		at = end + 1
		if end-start < liftBytes {
			continue
		}
		text, err := unescape(body[start:end])
		if err != nil {
			return l, err
		}
		l.skeleton = append(l.skeleton, body[done:start]...)
		l.skeleton = append(l.skeleton, `\u0002lifted `+strconv.Itoa(len(l.texts))...)
		l.texts = append(l.texts, text)
		done = end
	}
	l.skeleton = append(l.skeleton, body[done:]...)
	return l, nil
}

// text gives a decoded string of the skeleton its lifted text back.
func (l lifted) text(s string) []byte {
	if rest, ok := strings.CutPrefix(s, liftMark); ok {
		if i, err := strconv.Atoi(rest); err == nil && i >= 0 && i < len(l.texts) {
			return l.texts[i]
		}
	}
	return []byte(s)
}

// literalEnd is the index of the quote that ends the string literal whose text begins at start, or -1.
func literalEnd(body []byte, start int) int {
	for i := start; ; {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		slashes := 0
		for end-slashes > start && body[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		i = end + 1
	}
}

// unescape decodes the inside of a JSON string literal. As encoding/json does, it replaces what is not valid UTF-8 or
// not a whole surrogate pair.
func unescape(raw []byte) ([]byte, error) {
	out := make([]byte, 0, len(raw))
	for {
		n := bytes.IndexByte(raw, '\\')
		plain := raw
		if n >= 0 {
			plain = raw[:n]
		}
		for _, c := range plain {
			if c < ' ' {
				return nil, errJSONString
			}
		}
		out = append(out, plain...)
		if n < 0 {
			break
		}
		var ok bool
		if out, raw, ok = unescapeOne(out, raw[n+1:]); !ok {
			return nil, errJSONString
		}
	}
	if !utf8.Valid(out) {
		out = []byte(string([]rune(string(out)))) // each byte that is not valid becomes U+FFFD
	}
	return out, nil
}

// unescapeOne decodes one escape, whose backslash is gone, and returns what follows it.
func unescapeOne(out, raw []byte) ([]byte, []byte, bool) {
	if len(raw) == 0 {
		return nil, nil, false
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(from, raw[0]); i >= 0 {
		return append(out, to[i]), raw[1:], true
	}
	if raw[0] != 'u' {
		return nil, nil, false
	}
	r, ok := hex4(raw[1:])
	if !ok {
		return nil, nil, false
	}
	raw = raw[5:]
	if utf16.IsSurrogate(r) {
		low, ok := rune(0), false
		if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
			low, ok = hex4(raw[2:])
		}
		r = utf16.DecodeRune(r, low)
		if ok && r != utf8.RuneError {
			raw = raw[6:]
		}
	}
	return utf8.AppendRune(out, r), raw, true
}

func hex4(raw []byte) (rune, bool) {
	if len(raw) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(raw[:4]), 16, 16)
	return rune(v), err == nil && raw[0] != '+' && raw[0] != '_'
}

// contentText decodes a chat message's content: a string, or a list of parts of which the texts count.
func (l lifted) contentText(raw json.RawMessage) ([]byte, error) {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &s); err == nil {
		return l.text(s), nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, errors.New("content must be a string or a list of text parts")
	}
	var text []byte
	for _, p := range parts {
		if p.Type != "text" {
			return nil, errors.New("content parts other than text are not supported: this engine is simulated")
		}
		text = append(append(text, l.text(p.Text)...), '\n')
	}
	return text, nil
}

// promptText decodes a prompt: a string, or a list of one.
func (l lifted) promptText(raw json.RawMessage) ([]byte, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		return l.text(s), nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != 1 {
		return nil, errors.New("prompt must be one string")
	}
	return l.text(list[0]), nil
}
