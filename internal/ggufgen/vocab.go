package ggufgen

import (
	"fmt"
	"math/rand/v2"
)

// Token kinds of llama.cpp (LLAMA_TOKEN_TYPE_*).
const (
	kindNormal  = 1
	kindUnknown = 2
	kindControl = 3
	kindByte    = 6
)

// minVocab leaves room for control, byte and ASCII tokens and some words.
const minVocab = 512

type token struct {
	text  string
	score float32 // SentencePiece's log probability: earlier tokens are merged first
	kind  int32
}

// vocabulary returns size tokens: unknown, begin, end, every byte, printable ASCII, then words of one to
// three syllables, three in four of them with the leading space of SentencePiece.
func vocabulary(size int, random *rand.Rand) []token {
	list := []token{{"<unk>", 0, kindUnknown}, {"<s>", 0, kindControl}, {"</s>", 0, kindControl}}
	for b := range 256 {
		list = append(list, token{fmt.Sprintf("<0x%02X>", b), 0, kindByte})
	}
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			list = append(list, token{text, -float32(len(list)), kindNormal})
		}
	}
	const space = "▁"
	add(space)
	for c := byte('!'); c <= '~'; c++ {
		add(string(rune(c)))
	}
	const consonants, vowels = "bcdfghklmnprstvw", "aeiou"
	for len(list) < size {
		word := ""
		for syllables := 1 + random.IntN(3); syllables > 0; syllables-- {
			word += string(consonants[random.IntN(len(consonants))]) + string(vowels[random.IntN(len(vowels))])
		}
		if random.IntN(4) > 0 {
			word = space + word
		}
		add(word)
	}
	return list
}
