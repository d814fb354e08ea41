package eventlog

import (
	"fmt"
	"slices"
	"sort"

	"speedmatrix/internal/event"
)

// chunkLoader fills the chunks of requests, some rows after the other: the lists of a run take 14 MB, those of a cell half of one, which a processor can keep
// near. What is not asked for any more is written over.
type chunkLoader struct {
	rows    []event.Request
	ordered bool // by cell
	us      listColumn[int64]
	tokens  listColumn[int32]
	seen    [2]uint64 // the bits of all instants, and of all token counts, or-ed together
	err     error     // the first one sticks
}

func newChunkLoader(t *tableReader, rows []event.Request) *chunkLoader {
	c := &chunkLoader{rows: rows, ordered: true}
	for i := 1; i < len(rows); i++ {
		c.ordered = c.ordered && rows[i-1].Cell <= rows[i].Cell
	}
	c.us = listColumn[int64]{cursor: t.column("chunk_us"), memory: &t.buf.us, set: func(i int, v []int64) { rows[i].ChunkUS = v }}
	c.tokens = listColumn[int32]{cursor: t.column("chunk_tokens"), memory: &t.buf.tokens, set: func(i int, v []int32) { rows[i].ChunkTokens = v }}
	return c
}

// loadCell fills the chunks of a cell. Where the rows do not stand in the order of their cells, as this program writes them, it fills all there are.
func (c *chunkLoader) loadCell(cell int) error {
	if !c.ordered {
		return c.load(0, len(c.rows))
	}
	before := func(cell int) int {
		return sort.Search(len(c.rows), func(i int) bool { return int(c.rows[i].Cell) >= cell })
	}
	return c.load(before(cell), before(cell+1))
}

// load fills the chunks of the rows from <= i < to, and checks them. It is called with rows that ascend; those before from lose theirs.
func (c *chunkLoader) load(from, to int) (err error) {
	if c.err != nil {
		return c.err
	}
	defer func() { c.err = err }()
	defer recovered(&err)
	if err := c.us.load(from, to, &c.seen[0]); err != nil {
		return c.us.wrap(err)
	}
	if err := c.tokens.load(from, to, &c.seen[1]); err != nil {
		return c.tokens.wrap(err)
	}
	// The bounds are powers of two, so that a bit above them in any value, or a sign, shows in all of them or-ed together.
	inBounds := c.seen[0] < uint64(maxUS) && c.seen[1] < uint64(maxTokens)
	for i := from; i < to; i++ {
		r := &c.rows[i]
		err := checkLists(r)
		if err == nil && !inBounds {
			err = checkChunks(r)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// listColumn hands out a column of lists. The lists of a page share one array; each has no room to grow into the next.
type listColumn[T integer] struct {
	cursor
	memory *pageMemory[T]
	set    func(row int, v []T)
	row    int // rows before it have been set
}

// load sets the rows up to to, and adds the bits of their values to seen. The lists of rows before from are written over.
func (c *listColumn[T]) load(from, to int, seen *uint64) error {
	c.memory.release(from)
	for c.row < to {
		p, ok, err := c.next()
		if err != nil {
			return err
		}
		if !ok {
			return errRowsMissing
		}
		if err := c.page(p, seen); err != nil {
			return err
		}
	}
	return nil
}

func (c *listColumn[T]) page(p page, seen *uint64) error {
	lengths, n, err := listLengths(p.rep, p.def, p.rows, p.values)
	if err != nil {
		return err
	}
	each, bits, err := c.values(p, lengths, n)
	if err != nil {
		return err
	}
	*seen |= bits
	for _, k := range lengths {
		if k > 0 {
			c.set(c.row, each(k))
		}
		c.row++
	}
	return nil
}

// values decodes the n values of a page; each call of next gives the following k. In memory that is used again, lists of one
// value throughout are the same array: the counts of tokens of a server that sends one a chunk need not be written and read by the million.
func (c *listColumn[T]) values(p page, lengths []int, n int) (next func(k int) []T, seen uint64, err error) {
	if !c.t.buf.once && p.encoding == encDelta && n > 0 {
		if v, same := sameValue[T](p.data, n); same {
			all := repeat(c.t.buf, v, slices.Max(lengths))
			return func(k int) []T { return all[:k:k] }, uint64(int64(v)), nil
		}
	}
	vs := c.memory.take(n, c.row+p.rows)
	seen, err = decodeInts(vs, p.encoding, p.data)
	return func(k int) []T {
		head := vs[:k:k]
		vs = vs[k:]
		return head
	}, seen, err
}

// pageMemory is memory for the values of pages, used again when the rows of a page are no longer asked for.
type pageMemory[T integer] struct {
	held []heldPage[T] // in the order of their rows
	free [][]T
}

type heldPage[T integer] struct {
	end    int // the rows of the page are before it
	values []T
}

// release frees the memory of pages whose rows are all before from.
func (m *pageMemory[T]) release(from int) {
	for len(m.held) > 0 && m.held[0].end <= from {
		m.free = append(m.free, m.held[0].values)
		m.held = slices.Delete(m.held, 0, 1)
	}
}

// reset frees all pages.
func (m *pageMemory[T]) reset() {
	for _, p := range m.held {
		m.free = append(m.free, p.values)
	}
	m.held = m.held[:0]
}

// take returns n values, of any content, for a page whose rows are before end.
func (m *pageMemory[T]) take(n, end int) []T {
	var values []T
	if last := len(m.free) - 1; last >= 0 {
		values, m.free = m.free[last], m.free[:last]
	}
	if cap(values) < n {
		values = make([]T, n)
	}
	m.held = append(m.held, heldPage[T]{end, values})
	return values[:n:n]
}
