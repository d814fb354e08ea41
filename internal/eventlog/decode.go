package eventlog

import (
	"errors"
	"fmt"

	"speedmatrix/internal/event"
)

// ints sets a required integer column: set gets the row and the value.
func ints[T integer](t *tableReader, name string, set func(row int, v T)) {
	row := 0
	t.pages(name, func(p page) error {
		if err := p.flat(false); err != nil {
			return err
		}
		vs := take[T](t.buf, p.rows)
		if _, err := decodeInts(vs, p.encoding, p.data); err != nil {
			return err
		}
		for _, v := range vs {
			set(row, v)
			row++
		}
		return nil
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
		vs := take[T](t.buf, n)
		if _, err := decodeInts(vs, p.encoding, p.data); err != nil {
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
	buf := &Buffer{once: true}
	defer buf.close()
	reqs, chunks, err := decodeRequestsIn(buf, b)
	if err == nil {
		err = chunks.load(0, len(reqs))
	}
	if err != nil {
		return nil, err
	}
	return reqs, nil
}

// decodeRequestsIn returns the rows of a requests.parquet, each of them checked, without their chunks, which are still to be loaded.
func decodeRequestsIn(buf *Buffer, b []byte) (reqs []event.Request, c *chunkLoader, err error) {
	defer recovered(&err)
	buf.reset()
	t, err := newTableReader(buf, b, KindRequests)
	if err != nil {
		return nil, nil, err
	}
	if err := t.spend(t.footer.rows * sizeOf[event.Request]()); err != nil {
		return nil, nil, err
	}
	reqs = zeroed(&buf.requests, t.footer.rows)
	if requestColumns(t, reqs); t.err != nil {
		return nil, nil, t.err
	}
	for i := range reqs {
		if err := checkRow(&reqs[i]); err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return reqs, newChunkLoader(t, reqs), nil
}

// requestColumns fills the rows, but for their chunks.
func requestColumns(t *tableReader, rows []event.Request) {
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
}

// decodeSamples returns the rows of a samples.parquet, each of them checked.
func decodeSamples(b []byte) ([]event.Sample, error) {
	buf := &Buffer{once: true}
	defer buf.close()
	return decodeSamplesIn(buf, b)
}

func decodeSamplesIn(buf *Buffer, b []byte) (samples []event.Sample, err error) {
	defer recovered(&err)
	t, err := newTableReader(buf, b, KindSamples)
	if err != nil {
		return nil, err
	}
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
