package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

var errValues = errors.New("malformed values")

// integer is the type of an integer column.
type integer interface{ int32 | int64 }

func sizeOf[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}

// decodeInts fills out with the integers of a page, and returns their bits or-ed together (see decodeDeltas).
func decodeInts[T integer](out []T, encoding int, data []byte) (seen uint64, err error) {
	if len(out) == 0 {
		return 0, nil
	}
	switch encoding {
	case encDelta:
		return decodeDeltas(out, data)
	case encPlain:
		if int64(len(data)) != int64(len(out))*sizeOf[T]() {
			return 0, errValues
		}
		_, err := binary.Decode(data, binary.LittleEndian, out)
		for _, v := range out {
			seen |= uint64(int64(v))
		}
		return seen, err
	}
	return 0, fmt.Errorf("encoding %d of integers is not one that speedmatrix writes", encoding)
}

// decodeStrings returns the n strings of a PLAIN page. They share one copy of the page.
func decodeStrings(data []byte, n int) ([]string, error) {
	all := string(data)
	out := make([]string, 0, min(n, len(data)/4))
	for range n {
		if len(data) < 4 {
			return nil, errValues
		}
		size := int(binary.LittleEndian.Uint32(data))
		if size > len(data)-4 || size > maxText {
			return nil, errValues
		}
		start := len(all) - len(data) + 4
		out = append(out, all[start:start+size])
		data = data[4+size:]
	}
	if len(data) != 0 {
		return nil, errValues
	}
	return out, nil
}

// lookupStrings hands out the n strings of a page of indexes into a dictionary, in order.
func lookupStrings(dict []string, data []byte, n int, add func(v string)) error {
	if n == 0 {
		return nil
	}
	if len(data) == 0 || uint(data[0]) > uint(bits.Len(uint(len(dict)))) {
		return errValues
	}
	h := hybrid{b: data[1:], width: uint(data[0])}
	for n > 0 {
		i, k, err := h.run()
		if err != nil {
			return err
		}
		if int(i) >= len(dict) {
			return errValues
		}
		k = min(k, n)
		for range k {
			add(dict[i])
		}
		h.take(k)
		n -= k
	}
	return nil
}

func decodeDoubles(data []byte, n int) ([]float64, error) {
	if len(data) != 8*n {
		return nil, errValues
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

func decodeBools(data []byte, n int) ([]bool, error) {
	if len(data) != (n+7)/8 {
		return nil, errValues
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = data[i/8]>>(i%8)&1 == 1
	}
	return out, nil
}
