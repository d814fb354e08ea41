package simengine

import (
	"encoding/binary"
	"math/bits"
)

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

// add counts text, which ends a word at its end. A prompt may be 600 KB, so it reads eight bytes at a time.
func (t *tokenizer) add(text []byte) {
	for len(text) >= 8 {
		v := binary.LittleEndian.Uint64(text)
		n := bits.TrailingZeros64(spaces(v)) / 8 // bytes of v before its first white space
		if n >= 4 {
			t.token(v&0xffffffff, 4)
			v >>= 32
		}
		if rest := n & 3; rest > 0 {
			t.token(v&(1<<(8*rest)-1), rest)
		} else if n == 8 {
			t.token(v, 4)
		}
		text = text[min(n+1, 8):]
	}
	piece, size := uint64(0), 0
	for i := 0; i <= len(text); i++ {
		inWord := i < len(text) && text[i] > ' '
		if inWord {
			piece |= uint64(text[i]) << (8 * size)
			size++
		}
		if size == 4 || size > 0 && !inWord {
			t.token(piece, size)
			piece, size = 0, 0
		}
	}
}

// spaces has the high bit of each byte of v set that is white space, up to and with the first such byte; what is set
// above it means nothing. 64 zero bits: none.
func spaces(v uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return (v - ones*(' '+1)) &^ v & highs
}

// token counts one token: its bytes, the first one lowest, and their number.
func (t *tokenizer) token(piece uint64, size int) {
	t.hash = bits.RotateLeft64((t.hash^(uint64(size)<<32|piece))*hashPrime, 29)
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
