package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"speedmatrix/internal/event"
)

// Purpose keeps prompts of different use apart.
type Purpose string

const (
	Cold      Purpose = "cold"  // a prefill sample
	Row       Purpose = "row"   // a context that a row's cells send again and again
	Once      Purpose = "once"  // a context that is sent once (fresh prompts)
	Trial     Purpose = "trial" // a request outside the matrix: the first contact, the template's overhead
	canonical Purpose = "canonical"
)

// Key names a prompt: within a seed, equal keys and sizes give equal texts, and different keys differ from the
// very first characters.
type Key struct {
	Context int // tokens aimed at, the plan's; also chooses the correction (Writer.Correct)
	Cell    int // index of the cell, where a prompt must not outlive it
	Stream  int
	Repeat  int
	Ordinal int
	Purpose Purpose
}

// ColdKey is the key of a prefill row's sample; a void sample is taken again with the next number.
func ColdKey(context, repeat, sample int) Key {
	return Key{Context: context, Repeat: repeat, Ordinal: sample, Purpose: Cold}
}

// DecodeKey is the key of a request in a decode cell by the prompt mode (METRICS, "How a cell runs", 2): per
// stream it holds through all cells of the row, shared it is the same for all streams, fresh it is new each time.
func DecodeKey(mode event.PromptMode, context, cell, repeat, stream, ordinal int) Key {
	switch mode {
	case event.Shared:
		return Key{Context: context, Repeat: repeat, Purpose: Row}
	case event.Fresh:
		return Key{Context: context, Cell: cell, Repeat: repeat, Stream: stream, Ordinal: ordinal, Purpose: Once}
	}
	return Key{Context: context, Repeat: repeat, Stream: stream, Purpose: Row}
}

// digest is what all random choices of a prompt come from.
func (k Key) digest(seed uint64, part string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d/%d/%d/%d/%d/%s", seed, k.Purpose, k.Context, k.Cell, k.Stream, k.Repeat, k.Ordinal, part))
}

// rand returns a generator for one part of the prompt.
func (k Key) rand(seed uint64, part string) *rand.Rand {
	d := k.digest(seed, part)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(d[:8]), binary.LittleEndian.Uint64(d[8:16])))
}

// tag is the unique head of a prompt. Digits, because every tokenizer cuts 15 of them into about the same number
// of tokens, and because they differ from the first token on: a cache that works in blocks of 16 tokens finds nothing.
func (k Key) tag(seed uint64) string {
	d := k.digest(seed, "tag")
	return fmt.Sprintf("%015d:", binary.LittleEndian.Uint64(d[:8])%1e15)
}
