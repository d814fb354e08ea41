package eventlog

import (
	"encoding/binary"
	"errors"
)

// Wire types of Thrift's compact protocol that parquet's metadata uses.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

const thriftDepth = 16 // parquet's own metadata nests 6 deep

var errThrift = errors.New("malformed metadata")

// thrift reads the compact protocol from bytes that may be hostile: it allocates nothing by a declared size, and after
// the first mistake it returns zeros and holds the error.
type thrift struct {
	b     []byte
	depth int
	err   error
}

func (t *thrift) fail() {
	t.err = errThrift
	t.b = nil
}

func (t *thrift) byte() byte {
	if len(t.b) == 0 {
		t.fail()
		return 0
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c
}

func (t *thrift) uvarint() uint64 {
	u, n := binary.Uvarint(t.b)
	if n <= 0 {
		t.fail()
		return 0
	}
	t.b = t.b[n:]
	return u
}

// int reads a zigzag integer of any width.
func (t *thrift) int() int64 {
	u := t.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes returns a part of the input, not a copy.
func (t *thrift) bytes() []byte {
	n := t.uvarint()
	if n > uint64(len(t.b)) {
		t.fail()
		return nil
	}
	s := t.b[:n]
	t.b = t.b[n:]
	return s
}

// fields calls f for each field of a struct; f reads the value, or skips it. A bool's value is its type.
func (t *thrift) fields(f func(id int, typ byte)) {
	if t.depth++; t.depth > thriftDepth {
		t.fail()
	}
	id := 0
	for t.err == nil {
		b := t.byte()
		if b == 0 {
			break
		}
		if delta := int(b >> 4); delta != 0 {
			id += delta
		} else {
			id = int(t.int())
		}
		f(id, b&15)
	}
	t.depth--
}

// list calls f for each element of a list.
func (t *thrift) list(f func(typ byte)) {
	b := t.byte()
	n := uint64(b >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	for ; n > 0 && t.err == nil; n-- {
		f(b & 15)
	}
}

func (t *thrift) skip(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftI8:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		for range 8 {
			t.byte()
		}
	case thriftBinary:
		t.bytes()
	case thriftList, thriftSet:
		t.list(t.skipElement)
	case thriftStruct:
		t.fields(func(_ int, typ byte) { t.skip(typ) })
	default:
		t.fail()
	}
}

// skipElement skips a list's element: there a bool is a byte, unlike in a struct.
func (t *thrift) skipElement(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		t.byte()
		return
	}
	if t.depth++; t.depth > thriftDepth {
		t.fail()
	}
	t.skip(typ)
	t.depth--
}
