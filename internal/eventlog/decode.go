package eventlog

import (
	"errors"
	"fmt"
	"slices"

	"speedmatrix/internal/event"
)

// ints sets a required integer column: set gets the row and the value.
func ints[T integer](t *tableReader, name string, set func(row int, v T)) {
	row := 0
	t.pages(name, func(p page) error {
		if err := p.flat(false); err != nil {
			return err
		}
		vs, _, err := decodeInts[T](t.buf, p.encoding, p.data, p.rows)
		for _, v := range vs {
			set(row, v)
			row++
		}
		return err
	})
}

// optInts sets an optional integer column; set is not called where it is null.
func optInts[T integer](t *tableReader, name string, set func(row int, v *T)) {
	row := 0
	t.pages(name, func(p page) error {
		if err := p.flat(true); err != nil {
			return err
		}
		flags, n, err := present(p.def, p.rows)
		if err != nil {
			return err
		}
		vs, _, err := decodeInts[T](t.buf, p.encoding, p.data, n)
		if err != nil {
			return err
		}
		for _, ok := range flags {
			if ok {
				set(row, &vs[0])
				vs = vs[1:]
			}
			row++
		}
		return nil
	})
}

// lists sets a list column, and returns the bits of all its values or-ed together. The lists of a page share one array; each has no
// room to grow into the next.
func lists[T integer](t *tableReader, name string, set func(row int, v []T)) (seen uint64) {
	row := 0
	t.pages(name, func(p page) error {
		lengths, n, err := listLengths(p.rep, p.def, p.rows, p.values)
		if err != nil {
			return err
		}
		each, bits, err := listValues[T](t.buf, p, lengths, n)
		if err != nil {
			return err
		}
		seen |= bits
		for _, k := range lengths {
			if k > 0 {
				set(row, each(k))
			}
			row++
		}
		return nil
	})
	return seen
}

// listValues decodes the n values of a page of lists; each call of next gives the following k. In memory that is used again, lists of one
// value throughout are the same array: the counts of tokens of a server that sends one a chunk need not be written and read by the million.
func listValues[T integer](buf *Buffer, p page, lengths []int, n int) (next func(k int) []T, seen uint64, err error) {
	if !buf.once && p.encoding == encDelta && n > 0 {
		if v, same := sameValue[T](p.data, n); same {
			all := repeat(buf, v, slices.Max(lengths))
			return func(k int) []T { return all[:k:k] }, uint64(int64(v)), nil
		}
	}
	vs, seen, err := decodeInts[T](buf, p.encoding, p.data, n)
	return func(k int) []T {
		head := vs[:k:k]
		vs = vs[k:]
		return head
	}, seen, err
}

// texts sets a string column, optional or not; set is not called where it is null.
func texts(t *tableReader, name string, optional bool, set func(row int, v string)) {
	row := 0
	t.pages(name, func(p page) error {
		if err := p.flat(optional); err != nil {
			return err
		}
		n, flags := p.rows, []bool(nil)
		if optional {
			var err error
			if flags, n, err = present(p.def, p.rows); err != nil {
				return err
			}
		}
		first, end := row, row+p.rows
		err := p.strings(n, func(v string) {
			for optional && !flags[row-first] {
				row++
			}
			set(row, v)
			row++
		})
		row = end
		return err
	})
}

// strings hands out the n strings of a page, in order.
func (p page) strings(n int, add func(v string)) error {
	switch p.encoding {
	case encPlain:
		vs, err := decodeStrings(p.data, n)
		for _, v := range vs {
			add(v)
		}
		return err
	case encRLEDict, encPlainDict:
		return lookupStrings(p.dict, p.data, n, add)
	}
	return fmt.Errorf("encoding %d of strings is not one that speedmatrix writes", p.encoding)
}

// flat checks that a page of a column that is no list has the levels that its kind of column must have.
func (p page) flat(optional bool) error {
	if p.values != p.rows || len(p.rep) != 0 || (!optional && len(p.def) != 0) {
		return errLevels
	}
	return nil
}

func bools(t *tableReader, name string, set func(row int, v bool)) {
	plain(t, name, decodeBools, set)
}

func doubles(t *tableReader, name string, set func(row int, v float64)) {
	plain(t, name, decodeDoubles, set)
}

func plain[T any](t *tableReader, name string, decode func([]byte, int) ([]T, error), set func(row int, v T)) {
	row := 0
	t.pages(name, func(p page) error {
		if err := p.flat(false); err != nil {
			return err
		}
		if p.encoding != encPlain {
			return errors.New("is not encoded as speedmatrix writes it")
		}
		vs, err := decode(p.data, p.rows)
		for _, v := range vs {
			set(row, v)
			row++
		}
		return err
	})
}

// decodeRequests returns the rows of a requests.parquet, each of them checked.
func decodeRequests(b []byte) ([]event.Request, error) {
	return decodeRequestsIn(&Buffer{once: true}, b)
}

func decodeRequestsIn(buf *Buffer, b []byte) (reqs []event.Request, err error) {
	defer recovered(&err)
	buf.reset()
	t, err := newTableReader(buf, b, KindRequests)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.spend(t.footer.rows * sizeOf[event.Request]()); err != nil {
		return nil, err
	}
	reqs = zeroed(&buf.requests, t.footer.rows)
	inBounds := requestColumns(t, reqs)
	if t.err != nil {
		return nil, t.err
	}
	for i := range reqs {
		err := checkRow(&reqs[i])
		if err == nil && !inBounds {
			err = checkChunks(&reqs[i])
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return reqs, nil
}

// requestColumns fills the rows, and reports whether every instant and token count of the lists is in bounds: those are powers of
// two, so that a bit above them in any value, or a sign, shows in all of them or-ed together.
func requestColumns(t *tableReader, rows []event.Request) (inBounds bool) {
	ints(t, "cell", func(i int, v int32) { rows[i].Cell = v })
	ints(t, "repeat", func(i int, v int32) { rows[i].Repeat = v })
	ints(t, "stream", func(i int, v int32) { rows[i].Stream = v })
	ints(t, "ordinal", func(i int, v int32) { rows[i].Ordinal = v })
	texts(t, "stage", false, func(i int, v string) { rows[i].Stage = event.Stage(v) })
	optInts(t, "scheduled_us", func(i int, v *int64) { rows[i].ScheduledUS = v })
	ints(t, "start_us", func(i int, v int64) { rows[i].StartUS = v })
	optInts(t, "connect_us", func(i int, v *int64) { rows[i].ConnectUS = v })
	optInts(t, "headers_us", func(i int, v *int64) { rows[i].HeadersUS = v })
	optInts(t, "visible_us", func(i int, v *int64) { rows[i].VisibleUS = v })
	us := lists(t, "chunk_us", func(i int, v []int64) { rows[i].ChunkUS = v })
	tokens := lists(t, "chunk_tokens", func(i int, v []int32) { rows[i].ChunkTokens = v })
	optInts(t, "end_us", func(i int, v *int64) { rows[i].EndUS = v })
	texts(t, "clock", false, func(i int, v string) { rows[i].Clock = event.Clock(v) })
	ints(t, "asked_tokens", func(i int, v int32) { rows[i].AskedTokens = v })
	texts(t, "prompt_sha", false, func(i int, v string) { rows[i].PromptSHA = v })
	optInts(t, "prompt_tokens", func(i int, v *int32) { rows[i].PromptTokens = v })
	optInts(t, "cached_tokens", func(i int, v *int32) { rows[i].CachedTokens = v })
	optInts(t, "output_tokens", func(i int, v *int32) { rows[i].OutputTokens = v })
	texts(t, "token_source", false, func(i int, v string) { rows[i].TokenSource = event.TokenSource(v) })
	texts(t, "finish_reason", true, func(i int, v string) { rows[i].FinishReason = &v })
	optInts(t, "http_status", func(i int, v *int32) { rows[i].HTTPStatus = v })
	texts(t, "error", true, func(i int, v string) { rows[i].Error = &v })
	bools(t, "looped", func(i int, v bool) { rows[i].Looped = v })
	bools(t, "void", func(i int, v bool) { rows[i].Void = v })
	texts(t, "outcome", false, func(i int, v string) { rows[i].Outcome = event.Outcome(v) })
	return us < uint64(maxUS) && tokens < uint64(maxTokens)
}

// decodeSamples returns the rows of a samples.parquet, each of them checked.
func decodeSamples(b []byte) ([]event.Sample, error) {
	return decodeSamplesIn(&Buffer{once: true}, b)
}

func decodeSamplesIn(buf *Buffer, b []byte) (samples []event.Sample, err error) {
	defer recovered(&err)
	t, err := newTableReader(buf, b, KindSamples)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.spend(t.footer.rows * sizeOf[event.Sample]()); err != nil {
		return nil, err
	}
	samples = zeroed(&buf.samples, t.footer.rows)
	ints(t, "at_us", func(i int, v int64) { samples[i].AtUS = v })
	ints(t, "cell", func(i int, v int32) { samples[i].Cell = v })
	ints(t, "repeat", func(i int, v int32) { samples[i].Repeat = v })
	texts(t, "source", false, func(i int, v string) { samples[i].Source = v })
	texts(t, "metric", false, func(i int, v string) { samples[i].Metric = v })
	texts(t, "labels", false, func(i int, v string) { samples[i].Labels = v })
	doubles(t, "value", func(i int, v float64) { samples[i].Value = v })
	if t.err != nil {
		return nil, t.err
	}
	for i := range samples {
		if err := checkSample(&samples[i]); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return samples, nil
}
