package eventlog

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

var errLevels = errors.New("malformed levels or indexes")

// hybrid reads parquet's RLE / bit-packed hybrid, which codes levels and dictionary indexes, as runs: the levels of
// a list of a million tokens are a handful of runs and are never expanded.
type hybrid struct {
	b      []byte
	width  uint // bits of a value, at most 32
	value  uint32
	left   int // of the current run
	packed int // values left in the current bit-packed stretch
	bit    uint
}

// run returns the current value and how often it stands there at least; the caller says with take how many it used.
func (h *hybrid) run() (value uint32, n int, err error) {
	if h.left > 0 {
		return h.value, h.left, nil
	}
	if h.packed > 0 {
		return h.unpack()
	}
	head, k := binary.Uvarint(h.b)
	if k <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return 0, 0, errLevels
	}
	h.b = h.b[k:]
	if head&1 == 1 {
		return h.startPacked(head >> 1)
	}
	size := int(h.width+7) / 8
	if len(h.b) < size {
		return 0, 0, errLevels
	}
	h.value = 0
	for i := range size {
		h.value |= uint32(h.b[i]) << (8 * i)
	}
	h.b, h.left = h.b[size:], int(head>>1)
	return h.value, h.left, nil
}

func (h *hybrid) startPacked(groups uint64) (uint32, int, error) {
	if groups*uint64(h.width) > uint64(len(h.b)) {
		return 0, 0, errLevels
	}
	h.packed, h.bit = int(groups)*8, 0
	return h.unpack()
}

func (h *hybrid) unpack() (uint32, int, error) {
	var v uint64 // up to eight bytes from the value on
	if rest := h.b[h.bit/8:]; len(rest) >= 8 {
		v = binary.LittleEndian.Uint64(rest)
	} else {
		for i, c := range rest {
			v |= uint64(c) << (8 * i)
		}
	}
	v >>= h.bit % 8
	h.value, h.left = uint32(v&(1<<h.width-1)), 1
	if h.width == 1 { // a level: how long it stays the same is seen at once
		same := bits.TrailingZeros64(v ^ -uint64(h.value))
		h.left = min(max(same, 1), 32, h.packed)
	}
	h.bit += h.width * uint(h.left)
	if h.packed -= h.left; h.packed == 0 {
		h.b = h.b[h.bit/8:]
	}
	return h.value, h.left, nil
}

func (h *hybrid) take(n int) { h.left -= n }

// listLengths turns the repetition and definition levels of a page of a list column into the length of each row's
// list, and the number of elements in all.
func listLengths(rep, def []byte, rows, values int) (lengths []int, elements int, err error) {
	r, d := hybrid{b: rep, width: 1}, hybrid{b: def, width: 1}
	for done := 0; done < values; {
		rv, rn, err1 := r.run()
		dv, dn, err2 := d.run()
		if err := errors.Join(err1, err2); err != nil {
			return nil, 0, errLevels
		}
		n := min(rn, dn, values-done)
		switch {
		case rv == 0 && len(lengths)+n > rows:
			return nil, 0, errLevels
		case rv == 0:
			for range n {
				lengths = append(lengths, int(dv&1))
			}
		case len(lengths) == 0 || lengths[len(lengths)-1] == 0 || dv == 0:
			return nil, 0, errLevels // a further element of no list, of an empty one, or one that is null
		default:
			lengths[len(lengths)-1] += n
		}
		elements += n * int(dv&1)
		r.take(n)
		d.take(n)
		done += n
	}
	if len(lengths) != rows {
		return nil, 0, errLevels
	}
	return lengths, elements, nil
}

// present turns the definition levels of an optional column into a flag a row.
func present(def []byte, rows int) (flags []bool, n int, err error) {
	d := hybrid{b: def, width: 1}
	flags = make([]bool, 0, rows)
	for len(flags) < rows {
		v, k, err := d.run()
		if err != nil {
			return nil, 0, err
		}
		k = min(k, rows-len(flags))
		for range k {
			flags = append(flags, v == 1)
		}
		n += k * int(v&1)
		d.take(k)
	}
	return flags, n, nil
}
