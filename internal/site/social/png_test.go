package social

import (
	"bytes"
	"hash/adler32"
	"math/rand/v2"
	"testing"
)

func TestAdler(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 75 {
		b := make([]byte, n*n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		for _, b := range [][]byte{b[:min(len(b), 5552)], make([]byte, n*n), bytes.Repeat([]byte{0xff}, 5552)} {
			sum := adler{1, 0}
			for range 3 {
				sum.add(b)
			}
			if got, want := sum.sums<<16|sum.sum, adler32.Checksum(bytes.Repeat(b, 3)); got != want {
				t.Fatalf("checksum of three times %d bytes is %x, want %x", len(b), got, want)
			}
		}
	}
}
