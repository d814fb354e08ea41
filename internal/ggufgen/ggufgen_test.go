package ggufgen_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"speedmatrix/internal/ggufgen"
)

var small = ggufgen.Config{Layers: 1, Dim: 16, FeedForward: 24, Heads: 2, KVHeads: 1, Context: 256, Vocab: 512}

func write(t *testing.T, c ggufgen.Config) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ggufgen.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The layout read back by hand, field by field, and the size from the shapes.
func TestLayout(t *testing.T) {
	file := write(t, small)
	const tensors = 3 + 9 // embedding, output norm, output; nine of the one block
	const keys = 22
	if got := string(file[:4]); got != "GGUF" {
		t.Errorf("magic = %q", got)
	}
	if v := binary.LittleEndian.Uint32(file[4:]); v != 3 {
		t.Errorf("version = %d, want 3", v)
	}
	if n := binary.LittleEndian.Uint64(file[8:]); n != tensors {
		t.Errorf("tensors = %d, want %d", n, tensors)
	}
	if n := binary.LittleEndian.Uint64(file[16:]); n != keys {
		t.Errorf("metadata keys = %d, want %d", n, keys)
	}
	const firstKey = "general.architecture"
	if got := string(file[32 : 32+len(firstKey)]); got != firstKey {
		t.Errorf("first key = %q, want %q", got, firstKey)
	}
	if len(file)%32 != 0 {
		t.Errorf("file of %d bytes: not aligned to 32", len(file))
	}

	// Data section, each tensor aligned: two vocabulary matrices and six of the block at 2 bytes a weight
	// (kv width 8), three norms at 4.
	const data = 2*(16*512*2) + 3*(16*4) + 2*(16*16*2) + 2*(16*8*2) + 3*(16*24*2)
	// The embedding of token 0 opens it: channel 0 is 4.0, 0x4400 as float16.
	start := len(file) - data
	if got := binary.LittleEndian.Uint16(file[start:]); got != 0x4400 {
		t.Errorf("first weight = %#04x, want 0x4400 (4.0)", got)
	}
	// The output rows of <unk> and of the first byte token push themselves away: -100 is 0xd640.
	output := start + 16*512*2 + 16*4
	for _, row := range []int{0, 3} {
		if got := binary.LittleEndian.Uint16(file[output+row*16*2:]); got != 0xd640 {
			t.Errorf("channel 0 of output row %d = %#04x, want 0xd640 (-100)", row, got)
		}
	}
	// Row 259 is the first printable token ("▁").
	if got := binary.LittleEndian.Uint16(file[output+259*16*2:]); got != 0 {
		t.Errorf("channel 0 of output row 259 = %#04x, want 0", got)
	}
}

func TestFileIsAFunctionOfConfig(t *testing.T) {
	if !bytes.Equal(write(t, small), write(t, small)) {
		t.Error("same config, different bytes")
	}
	other := small
	other.Seed = 7
	if bytes.Equal(write(t, small), write(t, other)) {
		t.Error("another seed, same bytes")
	}
	if a, b := sha256.Sum256(write(t, ggufgen.Config{})), sha256.Sum256(write(t, ggufgen.Config{Layers: 2, Dim: 256})); a != b {
		t.Error("defaults spelled out give another file")
	}
}

func TestMistakesAreToldAtOnce(t *testing.T) {
	err := ggufgen.Write(&bytes.Buffer{}, ggufgen.Config{Dim: 30, Heads: 4, KVHeads: 3, Vocab: 10})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"dim 30", "heads 4", "vocab 10"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
	if err := ggufgen.Write(&bytes.Buffer{}, ggufgen.Config{Layers: -1}); err == nil {
		t.Error("layers -1: no error")
	}
}

func TestWriterErrorIsReturned(t *testing.T) {
	if err := ggufgen.Write(fullDisk{}, small); !errors.Is(err, errFull) {
		t.Errorf("err = %v, want %v", err, errFull)
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
