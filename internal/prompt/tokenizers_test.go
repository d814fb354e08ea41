package prompt_test

import (
	"context"

	"speedmatrix/internal/prompt"
)

// cut splits a text as real tokenizers do before they merge: into words with their leading space, groups of up to
// three digits, line ends and single marks. The fake tokenizers differ in what a piece costs. It is written out
// because the tests cut many megabytes.
func cut(text string) []string {
	out := make([]string, 0, len(text)/5+1)
	for len(text) > 0 {
		n := piece(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func piece(text string) int {
	switch n := run(text, isLetter, len(text)); {
	case n > 0:
		return n
	case text[0] == ' ':
		return 1 + run(text[1:], isLetter, len(text))
	case text[0] == '\n':
		return run(text, func(b byte) bool { return b == '\n' }, len(text))
	case isDigit(text[0]):
		return run(text, isDigit, 3)
	}
	return 1
}

func run(text string, is func(byte) bool, most int) int {
	n := 0
	for n < len(text) && n < most && is(text[n]) {
		n++
	}
	return n
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }

// hash is FNV-1a over the strings.
func hash(parts ...string) uint32 {
	h := uint32(2166136261)
	for _, s := range parts {
		for i := range len(s) {
			h = (h ^ uint32(s[i])) * 16777619
		}
	}
	return h
}

// byWord knows every word.
func byWord(text string) int { return len(cut(text)) }

// byByte has a byte-level vocabulary and a token at the start.
func byByte(text string) int { return len(text) + 1 }

// bySubword knows short words and cuts long and capitalised ones.
func bySubword(text string) int {
	n := 0
	for _, p := range cut(text) {
		n++
		if len(p) > 5 {
			n += int(hash(p) % 3)
		}
	}
	return n
}

// byPair has no whole words at all: two characters a token, so that a piece's cost is half its length.
func byPair(text string) int {
	n := 0
	for _, p := range cut(text) {
		n += (len(p) + 1) / 2
	}
	return n
}

// merging is far from additive: about 3 % of neighbours melt into one token, others become three.
func merging(text string) int {
	all := cut(text)
	n := bySubword(text)
	for i := 1; i < len(all); i++ {
		switch hash(all[i-1], "|", all[i]) % 100 {
		case 0, 1, 2:
			n--
		case 3, 4, 5:
			n++
		}
	}
	return n
}

// wide gives two tokens a byte: odd numbers do not occur.
func wide(text string) int { return 2 * len(text) }

type tokenizer struct {
	name  string
	count func(string) int
	slack int // how near to the token the prompts come
}

func tokenizers() []tokenizer {
	return []tokenizer{
		{"words", byWord, 0}, {"bytes", byByte, 0}, {"subwords", bySubword, 0},
		{"pairs", byPair, 0}, {"merging", merging, 0}, {"two tokens a byte", wide, 1},
	}
}

// counter wraps a tokenizer and counts its calls and the bytes given to it.
type counter struct {
	calls, bytes int
	of           func(string) int
}

func (c *counter) count(_ context.Context, text string) (int, error) {
	c.calls++
	c.bytes += len(text)
	return c.of(text), nil
}

var _ prompt.Counter = (&counter{}).count
