package simengine

import "math/bits"

// BlockTokens is the number of tokens in one block of the KV cache.
const BlockTokens = 16

// The tokenizer: text is split at white space (any byte up to 0x20), each word is one token per four bytes begun, white
// space is none. So counts are exact sums over words, which lets a prompt be made of any length. Its hashes are FNV-like
// over the tokens, chained from block to block, as an engine's prefix cache keys its blocks.
type tokenizer struct {
	count  int
	hash   uint64
	blocks []uint64 // hash of each full block and all before it
	keep   bool     // whether to collect blocks
}

const (
	hashSeed  = 0xcbf29ce484222325
	hashPrime = 0x9e3779b97f4a7c15
)

func newTokenizer(keepBlocks bool) *tokenizer {
	return &tokenizer{hash: hashSeed, keep: keepBlocks}
}

// add counts text, which ends a word at its end.
func (t *tokenizer) add(text []byte) {
	for i := 0; i < len(text); {
		if text[i] <= ' ' {
			i++
			continue
		}
		start := i
		for i < len(text) && text[i] > ' ' {
			i++
		}
		for word := text[start:i]; len(word) > 0; {
			n := min(len(word), 4)
			t.token(word[:n])
			word = word[n:]
		}
	}
}

func (t *tokenizer) token(piece []byte) {
	v := uint64(len(piece))
	for _, c := range piece {
		v = v<<8 | uint64(c)
	}
	t.hash = bits.RotateLeft64((t.hash^v)*hashPrime, 29)
	t.count++
	if t.keep && t.count%BlockTokens == 0 {
		t.blocks = append(t.blocks, t.hash)
	}
}

// message is one turn of a chat.
type message struct {
	role string
	text []byte
}

// The chat template. It is plain text to the tokenizer, so that an engine's rendered prompt counts the same as the chat:
// a user's message costs 10 tokens over its text.
const (
	templateStart = "<bos>\n"
	turnOpen      = "<|turn>"
	turnClose     = "\n<turn|>\n"
	templateEnd   = "<|turn>model\n"
)

// chat counts messages under the chat template.
func (t *tokenizer) chat(messages []message) {
	t.add([]byte(templateStart))
	for _, m := range messages {
		t.add([]byte(turnOpen + m.role + "\n"))
		t.add(m.text)
		t.add([]byte(turnClose))
	}
	t.add([]byte(templateEnd))
}

// render writes the chat as the text that chat counts.
func render(messages []message) []byte {
	buf := []byte(templateStart)
	for _, m := range messages {
		buf = append(buf, turnOpen+m.role+"\n"...)
		buf = append(buf, m.text...)
		buf = append(buf, turnClose...)
	}
	return append(buf, templateEnd...)
}

// CountTokens is the number of tokens that the engine's tokenizer makes of text.
func CountTokens(text string) int {
	t := newTokenizer(false)
	t.add([]byte(text))
	return t.count
}
