package eventlog

import (
	"slices"

	"github.com/klauspost/compress/zstd"

	"speedmatrix/internal/event"
)

// Buffer is memory that several calls of RequestsIn use one after the other: a site of many runs is read without asking
// for fresh memory for each. The zero value is ready. It is used by one goroutine at a time.
type Buffer struct {
	i64  slab[int64]
	i32  slab[int32]
	same []int32 // ones: see repeat
	page []byte  // decompressed

	us     pageMemory[int64] // of the requests' chunks
	tokens pageMemory[int32]

	requests []event.Request
	samples  []event.Sample

	zstd *zstd.Decoder

	files    map[string][]byte // as they were read last, by name
	verified *Log              // the run whose files these are, their digests compared: they are not read again

	once bool // for one file only: allocate what is needed, keep nothing
}

// keep notes what was read last of a file; the next file of that name is read over it.
func (b *Buffer) keep(name string, content []byte) {
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	b.files[name], b.verified = content, nil
}

func (b *Buffer) reset() {
	b.i64.reset()
	b.i32.reset()
	b.us.reset()
	b.tokens.reset()
}

// close ends what the decompressor holds; only a buffer that is not used again is closed.
func (b *Buffer) close() {
	if b.zstd != nil {
		b.zstd.Close()
	}
}

// zeroed returns n zero rows, in the memory of rows if they fit there.
func zeroed[T any](rows *[]T, n int64) []T {
	if int64(cap(*rows)) < n {
		*rows = make([]T, n)
	}
	*rows = (*rows)[:n]
	clear(*rows)
	return *rows
}

// repeat returns n times v, read only. Ones are kept, and handed out again.
func repeat[T integer](b *Buffer, v T, n int) []T {
	var out []T
	if dst, ok := any(&out).(*[]int32); ok && v == 1 {
		if len(b.same) < n {
			b.same = slices.Repeat([]int32{1}, n)
		}
		*dst = b.same[:n]
		return out
	}
	return slices.Repeat([]T{v}, n)
}

// take returns n integers, of any value.
func take[T integer](b *Buffer, n int) []T {
	if b.once {
		return make([]T, n)
	}
	var out []T
	switch dst := any(&out).(type) {
	case *[]int32:
		*dst = b.i32.take(n)
	case *[]int64:
		*dst = b.i64.take(n)
	}
	return out
}

// slab hands out parts of large blocks.
type slab[T any] struct {
	blocks [][]T
	block  int // the one in use
	used   int // of it
}

const slabBlock = 1 << 12 // values

func (s *slab[T]) reset() { s.block, s.used = 0, 0 }

func (s *slab[T]) take(n int) []T {
	for ; s.block < len(s.blocks); s.block, s.used = s.block+1, 0 {
		if b := s.blocks[s.block]; len(b)-s.used >= n {
			out := b[s.used : s.used+n : s.used+n]
			s.used += n
			return out
		}
	}
	s.blocks = append(s.blocks, make([]T, max(n, slabBlock)))
	s.used = n
	return s.blocks[s.block][:n:n]
}
