package eventlog

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"speedmatrix/internal/event"
)

// Keys of the parquet files' own metadata.
const (
	keySchema = "speedmatrix.schema" // the schema version, decimal
	keyKind   = "speedmatrix.kind"   // a Kind
)

// groupTokens is how many chunks or rows a row group gathers before it is flushed: it bounds the memory of a merge.
const groupTokens = 2 << 20

// encoder writes rows to one parquet file, in row groups of bounded size. The bytes depend on the rows alone.
type encoder[T any] struct {
	w      *parquet.GenericWriter[T]
	weight func(*T) int // what a row adds to groupTokens
	held   int
}

func newEncoder[T any](w io.Writer, kind Kind, weight func(*T) int) *encoder[T] {
	return &encoder[T]{
		weight: weight,
		w: parquet.NewGenericWriter[T](w,
			parquet.Compression(&parquet.Zstd),
			parquet.CreatedBy("speedmatrix", "1.0.0", "schema"+strconv.Itoa(event.Schema)),
			parquet.KeyValueMetadata(keySchema, strconv.Itoa(event.Schema)),
			parquet.KeyValueMetadata(keyKind, string(kind)),
			parquet.PageBufferSize(1<<20),
			// A struct tag cannot ask for delta encoding of an optional integer.
			parquet.DefaultEncodingFor(parquet.Int32, &parquet.DeltaBinaryPacked),
			parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
			// Bounds of the tokens within a page help no query and cost bytes.
			parquet.SkipPageBounds("chunk_us", "list", "element"),
			parquet.SkipPageBounds("chunk_tokens", "list", "element"),
		),
	}
}

func newRequestEncoder(w io.Writer) *encoder[requestRow] {
	return newEncoder(w, KindRequests, func(r *requestRow) int { return 1 + len(r.ChunkUS) })
}

func newSampleEncoder(w io.Writer) *encoder[sampleRow] {
	return newEncoder(w, KindSamples, func(*sampleRow) int { return 1 })
}

func (e *encoder[T]) write(row T) error {
	if e.held += e.weight(&row); e.held > groupTokens {
		if err := e.w.Flush(); err != nil {
			return err
		}
		e.held = e.weight(&row)
	}
	_, err := e.w.Write([]T{row})
	return err
}

func (e *encoder[T]) close() error { return e.w.Close() }

func encodeRequests(w io.Writer, reqs []event.Request) (err error) {
	defer recovered(&err)
	e := newRequestEncoder(w)
	for i := range reqs {
		if err := addRequest(e, &reqs[i]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return e.close()
}

func addRequest(e *encoder[requestRow], r *event.Request) error {
	if err := checkRequest(r); err != nil {
		return err
	}
	return e.write(rowOfRequest(r))
}

// encodeSamples leaves out samples whose value is no number (a server's gauge may say NaN): they say nothing.
func encodeSamples(w io.Writer, samples []event.Sample) (err error) {
	defer recovered(&err)
	e := newSampleEncoder(w)
	for i := range samples {
		if math.IsNaN(samples[i].Value) || math.IsInf(samples[i].Value, 0) {
			continue
		}
		if err := addSample(e, &samples[i]); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return e.close()
}

func addSample(e *encoder[sampleRow], s *event.Sample) error {
	if err := checkSample(s); err != nil {
		return err
	}
	return e.write(rowOfSample(s))
}

// recovered turns a panic of parquet-go or of a decoder into the error of the function that defers it.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("malformed parquet: %v", p)
	}
}
