package ggufgen

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
const (
	magic     = "GGUF"
	version   = 3
	alignment = 32 // of the data section and of every tensor in it, in bytes
)

// Types of metadata values.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// encoding is a tensor's element type (ggml_type).
type encoding uint32

const (
	float32bits encoding = 0
	float16     encoding = 1
)

// bytes is the size of one element.
func (e encoding) bytes() uint64 {
	if e == float16 {
		return 2
	}
	return 4
}

type entry struct {
	key   string
	value any // uint32, float32, bool, string, []string, []float32 or []int32
}

type tensor struct {
	name   string
	dims   []uint64 // innermost first
	as     encoding
	weight func(i uint64) float32
}

func (t tensor) elements() uint64 {
	n := uint64(1)
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// encode writes a whole GGUF file.
func encode(w io.Writer, metadata []entry, tensors []tensor) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<16)}
	e.write([]byte(magic))
	e.uint32(version)
	e.uint64(uint64(len(tensors)))
	e.uint64(uint64(len(metadata)))
	for _, m := range metadata {
		e.string(m.key)
		if err := e.value(m.value); err != nil {
			return fmt.Errorf("metadata %q: %w", m.key, err)
		}
	}
	offset := uint64(0)
	for _, t := range tensors {
		e.string(t.name)
		e.uint32(uint32(len(t.dims)))
		for _, d := range t.dims {
			e.uint64(d)
		}
		e.uint32(uint32(t.as))
		e.uint64(offset)
		offset += (t.elements()*t.as.bytes() + alignment - 1) / alignment * alignment
	}
	e.pad()
	for _, t := range tensors {
		for i := range t.elements() {
			if v := t.weight(i); t.as == float16 {
				e.uint16(half(v))
			} else {
				e.uint32(math.Float32bits(v))
			}
		}
		e.pad()
	}
	return e.w.Flush()
}

// encoder counts what it wrote, for alignment. bufio keeps the first error until Flush.
type encoder struct {
	w       *bufio.Writer
	n       uint64
	scratch [8]byte
}

func (e *encoder) write(b []byte) {
	e.w.Write(b)
	e.n += uint64(len(b))
}

func (e *encoder) uint16(v uint16) { e.write(binary.LittleEndian.AppendUint16(e.scratch[:0], v)) }
func (e *encoder) uint32(v uint32) { e.write(binary.LittleEndian.AppendUint32(e.scratch[:0], v)) }
func (e *encoder) uint64(v uint64) { e.write(binary.LittleEndian.AppendUint64(e.scratch[:0], v)) }

func (e *encoder) string(s string) {
	e.uint64(uint64(len(s)))
	e.w.WriteString(s)
	e.n += uint64(len(s))
}

func (e *encoder) pad() {
	var zeros [alignment]byte
	e.write(zeros[:(alignment-e.n%alignment)%alignment])
}

func (e *encoder) value(v any) error {
	switch v := v.(type) {
	case uint32:
		e.uint32(typeUint32)
		e.uint32(v)
	case float32:
		e.uint32(typeFloat32)
		e.uint32(math.Float32bits(v))
	case bool:
		e.uint32(typeBool)
		if v {
			e.write([]byte{1})
		} else {
			e.write([]byte{0})
		}
	case string:
		e.uint32(typeString)
		e.string(v)
	case []string:
		e.array(typeString, len(v))
		for _, s := range v {
			e.string(s)
		}
	case []float32:
		e.array(typeFloat32, len(v))
		for _, f := range v {
			e.uint32(math.Float32bits(f))
		}
	case []int32:
		e.array(typeInt32, len(v))
		for _, i := range v {
			e.uint32(uint32(i))
		}
	default:
		return fmt.Errorf("no encoding for %T", v)
	}
	return nil
}

func (e *encoder) array(element uint32, length int) {
	e.uint32(typeArray)
	e.uint32(element)
	e.uint64(uint64(length))
}

// half rounds to IEEE 754 binary16, ties to even; too large becomes infinity. v must not be NaN.
func half(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits>>16) & 0x8000
	exponent := int32(bits>>23&0xff) - 127 + 15
	mantissa := bits & 0x7fffff
	switch {
	case exponent >= 31:
		return sign | 0x7c00
	case exponent < -10:
		return sign
	case exponent <= 0: // subnormal: the implicit bit becomes part of the mantissa
		return sign | uint16(roundShift(mantissa|0x800000, uint32(14-exponent)))
	}
	// A carry out of the mantissa goes into the exponent, which is what rounding up means.
	return sign | uint16(uint32(exponent)<<10+roundShift(mantissa, 13))
}

// roundShift is m / 2^shift rounded to the nearest integer, ties to even.
func roundShift(m, shift uint32) uint32 {
	q, rest, tie := m>>shift, m&(1<<shift-1), uint32(1)<<(shift-1)
	if rest > tie || rest == tie && q&1 == 1 {
		q++
	}
	return q
}
