package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

var errValues = errors.New("malformed values")

// integer is the type of an integer column.
type integer interface{ int32 | int64 }

func sizeOf[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}

// decodeInts returns the n integers of a page, in the memory of buf.
func decodeInts[T integer](buf *Buffer, encoding int, data []byte, n int) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	switch encoding {
	case encDelta:
		if err := checkDelta(data, n, uint(sizeOf[T]())*8); err != nil {
			return nil, err
		}
		return decodeDelta(take[T](buf, n), data)
	case encPlain:
		if int64(len(data)) != int64(n)*sizeOf[T]() {
			return nil, errValues
		}
		out := take[T](buf, n)
		_, err := binary.Decode(data, binary.LittleEndian, out)
		return out, err
	}
	return nil, fmt.Errorf("encoding %d of integers is not one that speedmatrix writes", encoding)
}

func decodeDelta[T integer](out []T, data []byte) ([]T, error) {
	n := len(out)
	var err error
	var enc delta.BinaryPackedEncoding
	switch dst := any(&out).(type) {
	case *[]int32:
		*dst, err = enc.DecodeInt32(*dst, data)
	case *[]int64:
		*dst, err = enc.DecodeInt64(*dst, data)
	}
	if err == nil && len(out) != n {
		err = errValues
	}
	return out, err
}

// checkDelta walks a DELTA_BINARY_PACKED stream without decoding it: it must hold exactly n values, in miniblocks
// whose widths fit and whose bytes are there. The decoder allocates what the stream declares, so this comes first.
func checkDelta(b []byte, n int, maxWidth uint) error {
	head := [4]uint64{}
	for i := range head {
		u, k := binary.Uvarint(b)
		if k <= 0 {
			return errValues
		}
		head[i], b = u, b[k:]
	}
	block, minis, total := head[0], head[1], head[2]
	if total != uint64(n) || block == 0 || block > 1<<16 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return errValues
	}
	perMini := int(block / minis)
	for left := n - 1; left > 0; {
		_, k := binary.Uvarint(b)
		if k <= 0 || len(b)-k < int(minis) {
			return errValues
		}
		widths := b[k : k+int(minis)]
		b = b[k+int(minis):]
		for _, w := range widths {
			if left <= 0 {
				break
			}
			if uint(w) > maxWidth {
				return errValues
			}
			size := min(perMini*int(w)/8, len(b))
			if needed := (min(left, perMini)*int(w) + 7) / 8; size < needed {
				return errValues
			}
			b = b[size:]
			left -= perMini
		}
	}
	return nil
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

// lookupStrings returns the n strings of a page of indexes into a dictionary.
func lookupStrings(dict []string, data []byte, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	if len(data) == 0 || uint(data[0]) > uint(bits.Len(uint(len(dict)))) {
		return nil, errValues
	}
	h := hybrid{b: data[1:], width: uint(data[0])}
	out := make([]string, 0, n)
	for len(out) < n {
		i, k, err := h.run()
		if err != nil {
			return nil, err
		}
		if int(i) >= len(dict) {
			return nil, errValues
		}
		k = min(k, n-len(out))
		for range k {
			out = append(out, dict[i])
		}
		h.take(k)
	}
	return out, nil
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
