package client

import (
	"bytes"
	"unicode/utf8"
)

// template is the form that the events of most streams share: all bytes are those of the event before except the
// generated text. An event that has it needs no scanning, only two comparisons.
type template struct {
	head, foot []byte // before the text and from its closing quote on; head is empty when there is no form yet
	visible    bool
}

// learn takes the form of an event that was scanned into c, if it says nothing but text without escapes.
func (t *template) learn(data []byte, c *chunk) {
	if c.textEnd == 0 || len(c.text) == 0 || c.finish != "" || c.prompt >= 0 || c.cached >= 0 || c.output >= 0 {
		return
	}
	t.head = append(t.head[:0], data[:c.textAt]...)
	t.foot = append(t.foot[:0], data[c.textEnd:]...)
	t.visible = c.visible
}

// match reads an event of the form into c, which was reset; false: it has another form.
func (t *template) match(data []byte, c *chunk) bool {
	if len(t.head) == 0 || !bytes.HasPrefix(data, t.head) {
		return false
	}
	text, ok := bytes.CutSuffix(data[len(t.head):], t.foot)
	if !ok || !plainText(text) {
		return false
	}
	c.text = append(c.text, text...)
	c.choice, c.visible = true, t.visible && len(text) > 0
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
