package eventlog

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/bitpack"
)

// deltas reads parquet's DELTA_BINARY_PACKED encoding: a head, then blocks, each with its least delta and the bit widths of its
// miniblocks, then their packed deltas. It is the encoding of every token's arrival, so that it decides how fast a run is read: a decoder of our
// own is a third faster than the library's (BenchmarkDeltas), and hands back the values' bits, which saves a walk over them for the check of bounds.
type deltas struct {
	b       []byte // what follows the part that is read
	first   uint64
	left    int // values after the first that are not read yet
	perMini int
	minis   int
}

// openDeltas reads the head. The stream must declare exactly n values; n is at least 1.
func openDeltas(b []byte, n int) (deltas, error) {
	head := [3]uint64{}
	for i := range head {
		u, k := binary.Uvarint(b)
		if k <= 0 {
			return deltas{}, errValues
		}
		head[i], b = u, b[k:]
	}
	first, k := binary.Varint(b)
	block, minis, total := head[0], head[1], head[2]
	if k <= 0 || total != uint64(n) || block == 0 || block > 1<<16 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return deltas{}, errValues
	}
	return deltas{b: b[k:], first: uint64(first), left: n - 1, perMini: int(block / minis), minis: int(minis)}, nil
}

// block reads the head of the next block: the least delta, and the width in bits of each miniblock.
func (d *deltas) block() (least uint64, widths []byte, err error) {
	v, k := binary.Varint(d.b)
	if k <= 0 || len(d.b)-k < d.minis {
		return 0, nil, errValues
	}
	widths, d.b = d.b[k:k+d.minis], d.b[k+d.minis:]
	return uint64(v), widths, nil
}

// packed cuts the next miniblocks off, so many of one width as hold the next n values. What pads the last one may be missing.
func (d *deltas) packed(n int, width, maxWidth uint) ([]byte, error) {
	minis := (n + d.perMini - 1) / d.perMini
	size := min(minis*d.perMini*int(width)/8, len(d.b))
	if width > maxWidth || size < (n*int(width)+7)/8 {
		return nil, errValues
	}
	out := d.b[:size]
	d.b = d.b[size:]
	d.left -= n
	return out, nil
}

// sameWidth returns how many of the next n values lie in miniblocks of the first one's width, and the widths of the miniblocks after those.
func (d *deltas) sameWidth(n int, widths []byte) (same int, rest []byte) {
	minis := 1
	for minis < len(widths) && widths[minis] == widths[0] {
		minis++
	}
	return min(n, minis*d.perMini), widths[minis:]
}

// decodeDeltas fills out, which has at least one place, and returns the bits of all values or-ed together; a negative value sets the
// highest.
func decodeDeltas[T integer](out []T, b []byte) (seen uint64, err error) {
	d, err := openDeltas(b, len(out))
	if err != nil {
		return 0, err
	}
	value := d.first
	out[0] = T(value)
	seen = uint64(int64(out[0]))
	rest := out[1:]
	for d.left > 0 {
		least, widths, err := d.block()
		if err != nil {
			return 0, err
		}
		block := rest[:min(len(rest), d.perMini*d.minis)]
		rest = rest[len(block):]
		for part := block; len(part) > 0; {
			width := uint(widths[0])
			var n int
			n, widths = d.sameWidth(len(part), widths)
			packed, err := d.packed(n, width, uint(sizeOf[T]())*8)
			if err != nil {
				return 0, err
			}
			unpack(part[:n], packed, width)
			part = part[n:]
		}
		var bits uint64
		value, bits = addUp(block, value, least)
		seen |= bits
	}
	return seen, nil
}

// unpack takes numbers of so many bits apart. packed must have its padding behind it, within its capacity, for the library to
// take many at once; without it they are taken one by one.
func unpack[T integer](out []T, packed []byte, width uint) {
	if size := len(packed) + bitpack.PaddingInt64; size <= cap(packed) {
		bitpack.Unpack(out, packed[:size], width)
		return
	}
	for i := range out {
		out[i] = T(bitsAt(packed, uint(i)*width, width))
	}
}

// addUp turns the deltas of one block, less the least of them, into the values from value on. It returns the last value and the bits of all.
func addUp[T integer](block []T, value, least uint64) (last, seen uint64) {
	i := 0
	for ; i < len(block)-3; i += 4 { // four at a time: fewer steps a value than one by one
		a := value + least + uint64(int64(block[i]))
		b := a + least + uint64(int64(block[i+1]))
		c := b + least + uint64(int64(block[i+2]))
		value = c + least + uint64(int64(block[i+3]))
		block[i], block[i+1], block[i+2], block[i+3] = T(a), T(b), T(c), T(value)
		seen |= uint64(int64(T(a))) | uint64(int64(T(b))) | uint64(int64(T(c))) | uint64(int64(T(value)))
	}
	for ; i < len(block); i++ {
		value += least + uint64(int64(block[i]))
		block[i] = T(value)
		seen |= uint64(int64(T(value)))
	}
	return value, seen
}

// bitsAt reads up to 64 bits, the lowest first, byte by byte.
func bitsAt(b []byte, bit, width uint) (v uint64) {
	for got := uint(0); got < width; {
		take := min(8-bit%8, width-got)
		v |= uint64(b[bit/8]>>(bit%8)&(1<<take-1)) << got
		bit, got = bit+take, got+take
	}
	return v
}

// sameValue reports whether a well-formed stream of n values holds one value only, as the counts of tokens do that came one a chunk. It
// looks at the heads of blocks, and into those alone whose deltas are not packed in no bits at all.
func sameValue[T integer](b []byte, n int) (value T, same bool) {
	d, err := openDeltas(b, n)
	if err != nil {
		return 0, false
	}
	for d.left > 0 {
		least, widths, err := d.block()
		if err != nil {
			return 0, false
		}
		if least == 0 && !slices.ContainsFunc(widths, func(w byte) bool { return w != 0 }) {
			d.left -= min(d.left, d.perMini*d.minis)
			continue
		}
		for len(widths) > 0 && d.left > 0 {
			width := uint(widths[0])
			var n int
			n, widths = d.sameWidth(d.left, widths)
			packed, err := d.packed(n, width, uint(sizeOf[T]())*8)
			if err != nil || !allZero(packed, n, width, least) {
				return 0, false
			}
		}
	}
	return T(d.first), true
}

// allZero reports whether the n deltas of a miniblock are zero.
func allZero(packed []byte, n int, width uint, least uint64) bool {
	if width == 0 {
		return least == 0
	}
	for i := range n {
		if least+bitsAt(packed, uint(i)*width, width) != 0 {
			return false
		}
	}
	return true
}
