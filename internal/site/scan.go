package site

import "bytes"

// eachAttribute calls found for every attribute of every start tag of a page, with the value as it is written, escapes and all. It reads well-formed HTML as
// the templates give it, ten times as fast as a parser that mends what is wrong; the tests hold it against such a parser.
func eachAttribute(content []byte, found func(name, value []byte)) {
	for {
		open := bytes.IndexByte(content, '<')
		if open < 0 || open+1 == len(content) {
			return
		}
		content = content[open+1:]
		switch {
		case bytes.HasPrefix(content, []byte("!--")):
			_, content, _ = bytes.Cut(content, []byte("-->"))
		case isLetter(content[0]):
			name, rest := word(content)
			content = attributes(rest, found)
			if holdsText(name) {
				content = afterText(content, name)
			}
		}
	}
}

// holdsText tells the elements whose content is no markup.
func holdsText(tag []byte) bool {
	return named(tag, "script") || named(tag, "style") || named(tag, "title") || named(tag, "textarea")
}

// named compares a name with a word in lower case, as HTML does.
func named(name []byte, word string) bool {
	if len(name) != len(word) {
		return false
	}
	for i, c := range name {
		if c != word[i] && (c < 'A' || c > 'Z' || c|0x20 != word[i]) {
			return false
		}
	}
	return true
}

// afterText is what follows the content of an element that holds text.
func afterText(b, tag []byte) []byte {
	for {
		_, rest, closed := bytes.Cut(b, []byte("</"))
		if !closed || len(rest) >= len(tag) && bytes.EqualFold(rest[:len(tag)], tag) {
			return rest
		}
		b = rest
	}
}

// attributes reads the attributes of a tag and returns what follows its ">".
func attributes(b []byte, found func(name, value []byte)) []byte {
	for len(b) > 0 {
		switch c := b[0]; {
		case c == '>':
			return b[1:]
		case isSpace(c) || c == '/' || c == '=':
			b = b[1:]
		default:
			var name, value []byte
			name, value, b = attribute(b)
			found(name, value)
		}
	}
	return nil
}

// attribute splits one attribute off: name, name=value, name="value" or name='value'.
func attribute(b []byte) (name, value, rest []byte) {
	name, rest = word(b)
	if len(rest) < 2 || rest[0] != '=' {
		return name, nil, rest
	}
	rest = rest[1:]
	if quote := rest[0]; quote == '"' || quote == '\'' {
		value, rest, _ = bytes.Cut(rest[1:], rest[:1])
		return name, value, rest
	}
	n := bytes.IndexAny(rest, "> \n\t\r\f")
	if n < 0 {
		n = len(rest)
	}
	return name, rest[:n], rest[n:]
}

// word cuts before what ends the name of a tag or attribute.
func word(b []byte) (name, rest []byte) {
	for i, c := range b {
		switch c {
		case ' ', '\n', '\t', '\r', '\f', '=', '>', '/':
			return b[:i], b[i:]
		}
	}
	return b, nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
