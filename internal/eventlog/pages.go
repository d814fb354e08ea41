package eventlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/bitpack"
)

// tableReader decodes one parquet file of a known kind, column by column. Its first error sticks.
type tableReader struct {
	buf    *Buffer // of the integers
	b      []byte
	footer *footer
	cols   []column
	budget int64 // bytes that may still be decoded
	err    error
}

// newTableReader checks the version, the columns and the sizes that the footer declares.
func newTableReader(buf *Buffer, b []byte, want Kind) (*tableReader, error) {
	f, err := readFooter(b)
	if err != nil {
		return nil, err
	}
	if v := f.schemaVersion(); v != 1 && f.meta[keySchema] != "" {
		return nil, &SchemaError{v}
	}
	cols := columnsV1(want)
	if err := f.checkColumns(cols); err != nil {
		return nil, err
	}
	var rows int64
	for _, g := range f.groups {
		if g.rows < 0 || g.rows > maxDecodedBytes || len(g.chunks) != len(cols) {
			return nil, errors.New("malformed row group")
		}
		rows += g.rows
	}
	if rows != f.rows {
		return nil, fmt.Errorf("the footer counts %d rows and its row groups %d", f.rows, rows)
	}
	if buf.zstd == nil {
		buf.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxMemory(maxPageBytes))
	}
	return &tableReader{buf: buf, b: b, footer: f, cols: cols, budget: maxDecodedBytes}, err
}

var errPageSize = fmt.Errorf("a page decodes to more than %d MiB: refused", maxPageBytes>>20)

// spend takes bytes off the budget before they are allocated.
func (t *tableReader) spend(n int64) error {
	if n < 0 || n > t.budget {
		return fmt.Errorf("decodes to more than %d MiB: refused", maxDecodedBytes>>20)
	}
	t.budget -= n
	return nil
}

// page is one data page, decompressed. Its slices are valid until the next page is read.
type page struct {
	rows, values int
	rep, def     []byte
	data         []byte
	encoding     int
	dict         []string // of a string column
}

// pages calls visit for each data page of a column, in order.
func (t *tableReader) pages(name string, visit func(page) error) {
	if t.err != nil {
		return
	}
	c := t.column(name)
	for {
		p, ok, err := c.next()
		if err == nil && ok {
			err = visit(p)
		}
		if err != nil {
			t.err = c.wrap(err)
		}
		if err != nil || !ok {
			return
		}
	}
}

// cursor walks over the data pages of a column.
type cursor struct {
	t     *tableReader
	name  string
	place int // of the column, among all

	group int    // the row group that is entered next
	chunk chunk  // of the row group before that
	rest  []byte // of the chunk
	dict  []string
	rows  int64 // of the row group that no page has held yet
}

func (t *tableReader) column(name string) cursor {
	return cursor{t: t, name: name, place: slices.IndexFunc(t.cols, func(c column) bool { return c.name == name })}
}

func (c *cursor) wrap(err error) error { return fmt.Errorf("column %q: %w", c.name, err) }

var errRowsMissing = errors.New("the pages do not hold the rows that the row group declares")

// next returns the next data page; false when there is none.
func (c *cursor) next() (p page, ok bool, err error) {
	for {
		for len(c.rest) == 0 {
			if c.rows != 0 {
				return page{}, false, errRowsMissing
			}
			if c.group == len(c.t.footer.groups) {
				return page{}, false, nil
			}
			if err := c.enter(&c.t.footer.groups[c.group]); err != nil {
				return page{}, false, err
			}
			c.group++
		}
		h, body, err := nextPage(&c.rest, c.t.buf.verified == nil)
		if err != nil {
			return page{}, false, err
		}
		if h.typ == pageDictionary {
			if c.dict, err = c.t.dictionary(c.chunk, h, body); err != nil {
				return page{}, false, err
			}
			continue
		}
		if p, err = c.t.dataPage(c.chunk, h, body); err != nil {
			return page{}, false, err
		}
		p.dict = c.dict
		if c.rows -= int64(p.rows); c.rows < 0 {
			return page{}, false, errRowsMissing
		}
		return p, true, nil
	}
}

// enter goes to the column's chunk of a row group.
func (c *cursor) enter(g *rowGroup) (err error) {
	c.chunk, c.dict, c.rows = g.chunks[c.place], nil, g.rows
	c.rest, err = c.t.chunkBytes(c.chunk)
	return err
}

func (t *tableReader) chunkBytes(c chunk) ([]byte, error) {
	start := c.data
	if c.dict > 0 && c.dict < start {
		start = c.dict
	}
	if start < 4 || c.size < 0 || start > int64(len(t.b)) || c.size > int64(len(t.b))-start {
		return nil, errors.New("lies outside the file")
	}
	if c.codec != codecNone && c.codec != codecZstd {
		return nil, fmt.Errorf("compression codec %d is not one that speedmatrix writes", c.codec)
	}
	return t.b[start : start+c.size], nil
}

type pageHeader struct {
	typ                int
	size, compressed   int64
	crc                uint32
	values, rows       int64
	encoding           int
	defBytes, repBytes int64
	uncompressed       bool // values are stored as they are
}

// nextPage cuts a page off the front of b and compares its checksum, which is not needed where the digest of the whole file was compared.
func nextPage(b *[]byte, compare bool) (pageHeader, []byte, error) {
	t := &thrift{b: *b}
	h := t.pageHeader()
	rest := t.b
	switch {
	case t.err != nil:
		return h, nil, t.err
	case h.typ != pageDictionary && h.typ != pageDataV2:
		return h, nil, fmt.Errorf("page type %d is not one that speedmatrix writes", h.typ)
	case h.compressed < 0 || h.compressed > int64(len(rest)) || h.size < 0 || h.values < 0 || h.rows < 0,
		h.defBytes < 0 || h.repBytes < 0 || h.defBytes > h.compressed || h.repBytes > h.compressed-h.defBytes:
		return h, nil, errors.New("malformed page header")
	}
	body := rest[:h.compressed]
	*b = rest[h.compressed:]
	if compare && h.crc != 0 && crc32.ChecksumIEEE(body) != h.crc {
		return h, nil, errors.New("a page's checksum is wrong: the file is damaged")
	}
	return h, body, nil
}

func (t *thrift) pageHeader() pageHeader {
	var h pageHeader
	t.fields(func(id int, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			h.typ = int(t.int())
		case id == 2 && typ == thriftI32:
			h.size = t.int()
		case id == 3 && typ == thriftI32:
			h.compressed = t.int()
		case id == 4 && typ == thriftI32:
			h.crc = uint32(t.int())
		case (id == 7 || id == 8) && typ == thriftStruct:
			t.fields(func(field int, typ byte) { t.pageKind(&h, id, field, typ) })
		default:
			t.skip(typ)
		}
	})
	return h
}

// pageKind reads a field of a DictionaryPageHeader (7) or of a DataPageHeaderV2 (8).
func (t *thrift) pageKind(h *pageHeader, header, field int, typ byte) {
	switch {
	case field == 7 && header == 8 && typ == thriftFalse:
		h.uncompressed = true
	case typ != thriftI32:
		t.skip(typ)
	case field == 1:
		h.values = t.int()
	case field == 2 && header == 7, field == 4 && header == 8:
		h.encoding = int(t.int())
	case field == 3 && header == 8:
		h.rows = t.int()
	case field == 5 && header == 8:
		h.defBytes = t.int()
	case field == 6 && header == 8:
		h.repBytes = t.int()
	default:
		t.skip(typ)
	}
}

func (t *tableReader) dictionary(c chunk, h pageHeader, body []byte) ([]string, error) {
	if c.physical != physBytes || (h.encoding != encPlain && h.encoding != encPlainDict) {
		return nil, errors.New("a dictionary that speedmatrix does not write")
	}
	data, err := t.decompress(c, h.size, body)
	if err != nil {
		return nil, err
	}
	if err := t.spend(int64(len(data)) + min(h.values, int64(len(data)))*sizeOf[string]()); err != nil {
		return nil, err
	}
	return decodeStrings(data, int(h.values))
}

func (t *tableReader) dataPage(c chunk, h pageHeader, body []byte) (page, error) {
	levels := h.repBytes + h.defBytes
	p := page{
		rows: int(h.rows), values: int(h.values), encoding: h.encoding,
		rep: body[:h.repBytes], def: body[h.repBytes:levels], data: body[levels:],
	}
	if h.values > maxPageBytes/c.valueBytes() {
		return p, errPageSize
	}
	if err := t.spend(h.values * c.valueBytes()); err != nil {
		return p, err
	}
	if h.rows > h.values {
		return p, errors.New("malformed page header")
	}
	if h.uncompressed || c.codec == codecNone {
		return p, nil
	}
	var err error
	p.data, err = t.decompress(c, h.size-levels, p.data)
	return p, err
}

// valueBytes is what a decoded value takes, with the flag of an optional one.
func (c chunk) valueBytes() int64 {
	switch c.physical {
	case physBytes:
		return sizeOf[string]() + 1
	case physInt64, physDouble:
		return 8 + 1
	}
	return 4 + 1
}

// decompress returns exactly size bytes, in a buffer that the next call overwrites.
func (t *tableReader) decompress(c chunk, size int64, src []byte) ([]byte, error) {
	if c.codec == codecNone {
		return src, nil
	}
	if size < 0 || size > maxPageBytes {
		return nil, errPageSize
	}
	if size == 0 && len(src) == 0 {
		return nil, nil
	}
	t.buf.page = slices.Grow(t.buf.page[:0], int(size)+bitpack.PaddingInt64)
	out, err := t.buf.zstd.DecodeAll(src, t.buf.page[:0:size])
	if err != nil || int64(len(out)) != size {
		return nil, fmt.Errorf("a page does not decompress to the %d bytes that it declares", size)
	}
	return t.buf.page[:size], nil // out, with its padding
}
