package prompt_test

import (
	"context"
	"hash/fnv"
	"regexp"

	"speedmatrix/internal/prompt"
)

// The fake tokenizers cut a text as real ones do, into words with their leading space, groups of digits, marks and
// line ends, and differ in what a piece costs.
var pieces = regexp.MustCompile(` ?[A-Za-z]+|[0-9]{1,3}|[ ]?[^\sA-Za-z0-9]+|\n+| `)

func cut(text string) []string { return pieces.FindAllString(text, -1) }

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
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
		switch hash(all[i-1]+"|"+all[i]) % 100 {
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
