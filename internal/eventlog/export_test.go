package eventlog

import (
	"bytes"

	"speedmatrix/internal/event"
)

// What the external tests need of the inside: a disk that fails, and rows that the writer would refuse.

func CreateOn(before func(op, path string) error, dir string, run event.Run) (*Writer, error) {
	return create(disk{before: before, volatile: true}, dir, run)
}

func ResumeOn(before func(op, path string) error, path string) (*Writer, error) {
	return resume(disk{before: before, volatile: true}, path)
}

func DecodeFile(b []byte) (File, error) { return decodeFile(b) }

// EncodeUnchecked writes a requests file without looking at the rows.
func EncodeUnchecked(reqs []event.Request) []byte {
	var b bytes.Buffer
	e := newRequestEncoder(&b)
	for i := range reqs {
		if err := e.write(rowOfRequest(&reqs[i])); err != nil {
			panic(err)
		}
	}
	if err := e.close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Columns returns the columns of a parquet file, one "name type" each.
func Columns(b []byte) ([]string, error) {
	f, err := readFooter(b)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range f.columns() {
		out = append(out, c.String())
	}
	return out, nil
}

type RequestRow = requestRow

// DecodeValues runs each decoder of page data over b, outside of the recover that guards a whole file, and returns the
// integers that were found.
func DecodeValues(b []byte, n int) ([]int64, error) {
	_, _ = decodeInts(make([]int32, n), encDelta, b)
	_, _ = decodeInts(make([]int32, n), encPlain, b)
	_, _ = decodeStrings(b, n)
	_ = lookupStrings([]string{"a", "b", "c"}, b, n, func(string) {})
	_, _ = decodeBools(b, n)
	_, _ = decodeDoubles(b, n)
	_, _, _ = present(b, n)
	_, _, _ = listLengths(b[:len(b)/2], b[len(b)/2:], min(n, 100), n)
	vs := make([]int64, n)
	if _, err := decodeInts(vs, encDelta, b); err != nil {
		return nil, err
	}
	return vs, nil
}

// LoadCells decodes a requests.parquet cell by cell, the cells in the order given, and returns how many instants each load left in each row.
func LoadCells(b []byte, buf *Buffer, cells ...int) (lengths [][]int, err error) {
	reqs, chunks, err := decodeRequestsIn(buf, b)
	if err != nil {
		return nil, err
	}
	for _, cell := range cells {
		if err := chunks.loadCell(cell); err != nil {
			return lengths, err
		}
		var out []int
		for i := range reqs {
			if int(reqs[i].Cell) == cell {
				out = append(out, len(reqs[i].ChunkUS))
			}
		}
		lengths = append(lengths, out)
	}
	return lengths, nil
}
