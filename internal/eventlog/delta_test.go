package eventlog

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

// encoded is values in the library's DELTA_BINARY_PACKED.
func encoded[T integer](tb testing.TB, values []T) []byte {
	tb.Helper()
	var e delta.BinaryPackedEncoding
	var b []byte
	var err error
	switch v := any(values).(type) {
	case []int32:
		b, err = e.EncodeInt32(nil, v)
	case []int64:
		b, err = e.EncodeInt64(nil, v)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// checkDeltas decodes what the library encoded, and compares values and bits.
func checkDeltas[T integer](tb testing.TB, values []T) {
	tb.Helper()
	if len(values) == 0 {
		return
	}
	b := encoded(tb, values)
	got := make([]T, len(values))
	for i := range got {
		got[i] = -7 // nothing of what was there may stay
	}
	seen, err := decodeDeltas(got, b)
	if err != nil || !slices.Equal(got, values) {
		tb.Fatalf("%v\ngot  %v\nwant %v", err, got, values)
	}
	var want uint64
	for _, v := range values {
		want |= uint64(int64(v))
	}
	if seen != want {
		tb.Fatalf("bits %x, want %x", seen, want)
	}
	value, same := sameValue[T](b, len(values))
	if constant := slices.Min(values) == slices.Max(values); same != constant || same && value != values[0] {
		tb.Fatalf("same value: %v %d of %v", same, value, values)
	}
	for _, n := range []int{len(values) - 1, len(values) + 1} {
		if n > 0 {
			if _, err := decodeDeltas(make([]T, n), b); err == nil {
				tb.Fatalf("%d values decoded as %d", len(values), n)
			}
		}
	}
}

func TestDeltas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 31, 32, 33, 128, 129, 130, 1000} {
		for width := range 64 {
			i64, i32 := make([]int64, n), make([]int32, n)
			for i := range i64 {
				i64[i] = int64(random.Uint64() >> (63 - width))
				i32[i] = int32(random.Uint32() >> (31 - width/2))
			}
			checkDeltas(t, i64)
			checkDeltas(t, i32)
		}
	}
	checkDeltas(t, slices.Repeat([]int32{1}, 5000))
	checkDeltas(t, []int64{math.MinInt64, math.MaxInt64, 0, -1, math.MaxInt64, math.MinInt64})
	checkDeltas(t, []int32{math.MinInt32, math.MaxInt32, 0, -1, math.MaxInt32, math.MinInt32})
}

func FuzzDeltas(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Fuzz(func(t *testing.T, b []byte) {
		var i64 []int64
		var i32 []int32
		for r := bytes.Clone(b); len(r) >= 8; r = r[8:] {
			i64 = append(i64, int64(binary.LittleEndian.Uint64(r)>>(r[0]%64)))
			i32 = append(i32, int32(binary.LittleEndian.Uint32(r)>>(r[0]%32)))
		}
		checkDeltas(t, i64)
		checkDeltas(t, i32)
		for n := 1; n < 200; n += 33 { // hostile streams end in an error or in values, nothing else
			_, _ = decodeDeltas(make([]int32, n), b)
			_, _ = decodeDeltas(make([]int64, n), b)
		}
	})
}

// BenchmarkDeltas compares this decoder with the library's over arrivals a few milliseconds apart.
func BenchmarkDeltas(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, 100_000)
	at := int64(0)
	for i := range values {
		at += 8000 + random.Int64N(900)
		values[i] = at
	}
	data := encoded(b, values)
	out := make([]int64, len(values))
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeDeltas(out, data); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(values))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	})
	b.Run("library", func(b *testing.B) {
		var e delta.BinaryPackedEncoding
		for b.Loop() {
			if _, err := e.DecodeInt64(out, data); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(values))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	})
}
