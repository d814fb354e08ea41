package client

import (
	"bytes"
	"unicode/utf8"
)

// template is the form that the events of most streams share: all bytes are those of the event before except the
// generated text and, where the server counts in every chunk, the usage behind it. An event that has it needs two
// comparisons, and a scan of its usage only.
type template struct {
	head, foot []byte // before the text, and from its closing quote to the end or to the usage; head is empty when there is no form yet
	usage      bool   // a usage follows foot
	visible    bool
}

// learn takes the form of an event that was scanned into c, if it says nothing but text without escapes, and usage
// after it.
func (t *template) learn(data []byte, c *chunk) {
	if c.textEnd == 0 || len(c.text) == 0 || c.finish != "" {
		return
	}
	end := len(data)
	counted := c.prompt >= 0 || c.cached >= 0 || c.output >= 0
	if counted {
		if end = c.usageAt; end <= c.textEnd || c.timedOutput >= 0 || c.timedCached >= 0 {
			return
		}
	}
	t.head = append(t.head[:0], data[:c.textAt]...)
	t.foot = append(t.foot[:0], data[c.textEnd:end]...)
	t.usage, t.visible = counted, c.visible
}

// match reads an event of the form into c, which was reset; false: it has another form, and c is as it was.
func (t *template) match(data []byte, c *chunk) bool {
	if len(t.head) == 0 || !bytes.HasPrefix(data, t.head) {
		return false
	}
	rest := data[len(t.head):]
	n := bytes.IndexByte(rest, '"') // the text's end, if it has no escapes
	if n < 0 || !bytes.HasPrefix(rest[n:], t.foot) || !plainText(rest[:n]) {
		return false
	}
	if t.usage {
		s := scanner{b: rest, i: n + len(t.foot)}
		if !s.usage(c) || !s.members(c, allKeys, false) {
			c.reset()
			return false
		}
	} else if len(rest) != n+len(t.foot) {
		return false
	}
	c.text = append(c.text, rest[:n]...)
	c.choice, c.visible = true, t.visible && n > 0
	return true
}

func (t *template) reset() { *t = template{head: t.head[:0], foot: t.foot[:0]} }

// plainText reports whether b can stand in a JSON string as it is.
func plainText(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b)
}
