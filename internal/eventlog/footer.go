package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Bounds on a parquet file. A run of the standard matrix has 2 MB and decodes to 15 MB.
const (
	maxFileBytes    = 256 << 20 // of the file as it is
	maxFooterBytes  = 4 << 20
	maxDecodedBytes = 1 << 30  // of everything that one file decodes to
	maxPageBytes    = 64 << 20 // of one page, decoded; the writer makes them of 1 MiB
	maxRowGroups    = 32767    // parquet's own
	maxColumns      = 256
)

// Physical types, repetitions, logical types, codecs, encodings and page types of the parquet format.
const (
	physBool   = 0
	physInt32  = 1
	physInt64  = 2
	physDouble = 5
	physBytes  = 6

	repRequired = 0
	repOptional = 1
	repRepeated = 2

	logicalString  = 1
	logicalList    = 3
	logicalInteger = 10

	codecNone = 0
	codecZstd = 6

	encPlain     = 0
	encPlainDict = 2
	encDelta     = 5
	encRLEDict   = 8

	pageDictionary = 2
	pageDataV2     = 3
)

// footer is what is needed of parquet's FileMetaData.
type footer struct {
	schema []element
	rows   int64
	groups []rowGroup
	meta   map[string]string
}

type element struct {
	name       string
	physical   int // -1: a group
	repetition int
	children   int
	logical    int // field number in the LogicalType union, 0: none
	bits       int // of an integer
}

type rowGroup struct {
	rows   int64
	chunks []chunk
}

// chunk is where a column of a row group lies.
type chunk struct {
	physical int
	codec    int
	values   int64
	size     int64 // compressed, with page headers
	data     int64 // offset of the first data page
	dict     int64 // offset of the dictionary page, 0: none
}

// readFooter finds and decodes the footer of a whole parquet file.
func readFooter(b []byte) (*footer, error) {
	const magic = "PAR1"
	switch {
	case len(b) < 12 || string(b[:4]) != magic:
		return nil, errors.New("not a parquet file")
	case string(b[len(b)-4:]) != magic:
		return nil, errors.New("truncated: the parquet footer is missing")
	}
	size := int64(binary.LittleEndian.Uint32(b[len(b)-8:]))
	if size > maxFooterBytes || size > int64(len(b)-12) {
		return nil, fmt.Errorf("malformed: a footer of %d bytes in a file of %d", size, len(b))
	}
	t := &thrift{b: b[int64(len(b))-8-size : len(b)-8]}
	f := t.fileMetaData()
	if t.err != nil || f.rows < 0 {
		return nil, errThrift
	}
	return f, nil
}

func (t *thrift) fileMetaData() *footer {
	f := &footer{rows: -1, meta: map[string]string{}}
	t.fields(func(id int, typ byte) {
		switch {
		case id == 2 && typ == thriftList:
			t.list(func(typ byte) {
				if len(f.schema) > 4*maxColumns {
					t.fail()
				}
				f.schema = append(f.schema, t.element(typ))
			})
		case id == 3 && typ == thriftI64:
			f.rows = t.int()
		case id == 4 && typ == thriftList:
			t.list(func(typ byte) {
				if len(f.groups) > maxRowGroups {
					t.fail()
				}
				f.groups = append(f.groups, t.rowGroup(typ))
			})
		case id == 5 && typ == thriftList:
			t.list(func(typ byte) { t.keyValue(typ, f.meta) })
		default:
			t.skip(typ)
		}
	})
	return f
}

// structs guards the element type of a list of structs.
func (t *thrift) structs(typ byte, f func(id int, typ byte)) {
	if typ != thriftStruct {
		t.fail()
		return
	}
	t.fields(f)
}

func (t *thrift) keyValue(typ byte, into map[string]string) {
	var key, value string
	t.structs(typ, func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftBinary:
			key = string(t.bytes())
		case id == 2 && typ == thriftBinary:
			value = string(t.bytes())
		default:
			t.skip(typ)
		}
	})
	into[key] = value
}

func (t *thrift) element(typ byte) element {
	e := element{physical: -1}
	t.structs(typ, func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			e.physical = int(t.int())
		case id == 3 && typ == thriftI32:
			e.repetition = int(t.int())
		case id == 4 && typ == thriftBinary:
			e.name = string(t.bytes())
		case id == 5 && typ == thriftI32:
			e.children = int(t.int())
		case id == 10 && typ == thriftStruct:
			t.fields(func(id int, typ byte) {
				e.logical = id
				if id == logicalInteger && typ == thriftStruct {
					e.bits = t.integerBits()
					return
				}
				t.skip(typ)
			})
		default:
			t.skip(typ)
		}
	})
	return e
}

// integerBits reads an IntType; an unsigned one has negative bits here.
func (t *thrift) integerBits() int {
	bits, sign := 0, 1
	t.fields(func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftI8:
			bits = int(t.byte())
		case id == 2 && typ == thriftFalse:
			sign = -1
		default:
			t.skip(typ)
		}
	})
	return bits * sign
}

func (t *thrift) rowGroup(typ byte) rowGroup {
	var g rowGroup
	t.structs(typ, func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftList:
			t.list(func(typ byte) {
				if len(g.chunks) > maxColumns {
					t.fail()
				}
				g.chunks = append(g.chunks, t.columnChunk(typ))
			})
		case id == 3 && typ == thriftI64:
			g.rows = t.int()
		default:
			t.skip(typ)
		}
	})
	return g
}

func (t *thrift) columnChunk(typ byte) chunk {
	var c chunk
	t.structs(typ, func(id int, typ byte) {
		switch {
		case id == 1: // file_path: the data would lie in another file
			t.fail()
		case id == 3 && typ == thriftStruct:
			c = t.columnMetaData()
		default:
			t.skip(typ)
		}
	})
	return c
}

func (t *thrift) columnMetaData() chunk {
	var c chunk
	t.fields(func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			c.physical = int(t.int())
		case id == 4 && typ == thriftI32:
			c.codec = int(t.int())
		case id == 5 && typ == thriftI64:
			c.values = t.int()
		case id == 7 && typ == thriftI64:
			c.size = t.int()
		case id == 9 && typ == thriftI64:
			c.data = t.int()
		case id == 11 && typ == thriftI64:
			c.dict = t.int()
		default:
			t.skip(typ)
		}
	})
	return c
}

// schemaVersion returns the version that the file says it has; 0 when it says none.
func (f *footer) schemaVersion() int {
	n, err := strconv.Atoi(f.meta[keySchema])
	if err != nil {
		return 0
	}
	return n
}
