package eventlog_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

func goodFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(goldenRun(), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func rejects(t *testing.T, b []byte, want string) {
	t.Helper()
	_, err := eventlog.DecodeFile(b)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestTruncatedAtEachLength(t *testing.T) {
	b := goodFile(t, "samples.parquet")
	for n := range b {
		if _, err := eventlog.DecodeFile(b[:n]); err == nil {
			t.Fatalf("a file cut to %d of %d bytes was accepted", n, len(b))
		}
	}
	rejects(t, goodFile(t, "requests.parquet")[:1000], "truncated")
}

// A byte changed anywhere gives an error or the same number of rows; it never gets out as a panic.
func TestEachByteChanged(t *testing.T) {
	for _, name := range []string{"samples.parquet", "requests.parquet"} {
		good := goodFile(t, name)
		step := max(1, len(good)/300)
		for i := 0; i < len(good); i += step {
			for _, x := range []byte{0x01, 0x80} {
				b := bytes.Clone(good)
				b[i] ^= x
				if f, err := eventlog.DecodeFile(b); err == nil && len(f.Requests) != 39 && len(f.Samples) != 9 {
					t.Fatalf("%s: byte %d: %d requests, %d samples and no error", name, i, len(f.Requests), len(f.Samples))
				}
			}
		}
	}
}

// tableOf writes rows of any shape with parquet-go's own defaults.
func tableOf[T any](t testing.TB, rows ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForeignFiles(t *testing.T) {
	type renamed struct {
		AtUS   int64   `parquet:"at_us"`
		Cell   int32   `parquet:"cell_index"`
		Repeat int32   `parquet:"repeat"`
		Source string  `parquet:"source"`
		Metric string  `parquet:"metric"`
		Labels string  `parquet:"labels"`
		Value  float64 `parquet:"value"`
	}
	type retyped struct {
		AtUS int64 `parquet:"at_us"`
		Cell int64 `parquet:"cell"`
	}
	type nullable struct {
		AtUS *int64 `parquet:"at_us,optional"`
	}
	type swapped struct {
		AtUS   int64   `parquet:"at_us"`
		Repeat int32   `parquet:"repeat"`
		Cell   int32   `parquet:"cell"`
		Source string  `parquet:"source"`
		Metric string  `parquet:"metric"`
		Labels string  `parquet:"labels"`
		Value  float64 `parquet:"value"`
	}
	type wider struct {
		AtUS   int64   `parquet:"at_us"`
		Cell   int32   `parquet:"cell"`
		Repeat int32   `parquet:"repeat"`
		Source string  `parquet:"source"`
		Metric string  `parquet:"metric"`
		Labels string  `parquet:"labels"`
		Value  float64 `parquet:"value"`
		More   int32   `parquet:"more"`
	}
	type stamp struct {
		AtUS int64 `parquet:"at_us,timestamp(microsecond)"`
	}
	type other struct {
		Name string `parquet:"name"`
	}
	rejects(t, tableOf(t, renamed{}), `column "cell" is missing`)
	rejects(t, tableOf(t, retyped{}), `column "cell" has the type int64: schema 1 wants int32`)
	rejects(t, tableOf(t, nullable{}), `column "at_us" has the type int64?: schema 1 wants int64`)
	rejects(t, tableOf(t, swapped{}), `column 1 is "repeat": schema 1 wants "cell" there`)
	rejects(t, tableOf(t, wider{}), `column "more" is not one of schema 1`)
	rejects(t, tableOf(t, stamp{}), `column "at_us" has the type`)
	rejects(t, tableOf(t, other{}), "not those of a run's requests or samples")
	rejects(t, nil, "not a parquet file")
	rejects(t, []byte("cell,repeat,stream\n0,0,0\n"), "not a parquet file")
}

func TestImpossibleRows(t *testing.T) {
	good := synthetic(0, 0, 1, 3)[0]
	cases := []struct {
		name   string
		change func(*event.Request)
		want   string
	}{
		{"lists of different length", func(r *event.Request) { r.ChunkTokens = r.ChunkTokens[:2] }, "must be equal"},
		{"negative instant", func(r *event.Request) { r.ChunkUS = []int64{1, -2, 3} }, "out of bounds"},
		{"instant near overflow", func(r *event.Request) { r.ChunkUS = []int64{1, 2, math.MaxInt64} }, "out of bounds"},
		{"negative tokens", func(r *event.Request) { r.ChunkTokens = []int32{1, -1, 1} }, "out of bounds"},
		{"tokens near overflow", func(r *event.Request) { r.ChunkTokens = []int32{1, math.MaxInt32, 1} }, "out of bounds"},
		{"negative cell", func(r *event.Request) { r.Cell = -1 }, "negative"},
		{"start near overflow", func(r *event.Request) { r.StartUS = math.MaxInt64 }, "start_us"},
		{"end before 0", func(r *event.Request) { r.EndUS = ptr(int64(-1)) }, "end_us"},
		{"negative usage", func(r *event.Request) { r.OutputTokens = ptr(int32(-5)) }, "output_tokens"},
		{"negative asked", func(r *event.Request) { r.AskedTokens = -5 }, "asked_tokens"},
		{"stage", func(r *event.Request) { r.Stage = "coffee" }, `stage "coffee"`},
		{"clock", func(r *event.Request) { r.Clock = "" }, `clock ""`},
		{"token source", func(r *event.Request) { r.TokenSource = "guess" }, `token_source "guess"`},
		{"outcome", func(r *event.Request) { r.Outcome = "<b>" }, `outcome "<b>"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := good
			c.change(&r)
			rejects(t, eventlog.EncodeUnchecked([]event.Request{good, r}), c.want)

			w, err := eventlog.CreateOn(nil, t.TempDir(), sampleRun())
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := w.Part(eventlog.Step{}, []event.Request{good, r}, nil); err == nil {
				t.Error("the writer took it")
			}
			if got := names(t, w.Dir()); len(got) != 1 || len(w.Done()) != 0 {
				t.Errorf("the refused part left %q", got)
			}
		})
	}
}

// forge rewrites a file's footer. The change may append bytes ahead of it, and gets their offset.
func forge(t testing.TB, good []byte, change func(m *format.FileMetaData, add func([]byte) int64)) []byte {
	t.Helper()
	var proto thrift.CompactProtocol
	size := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	body := bytes.Clone(good[:len(good)-8-size])
	var meta format.FileMetaData
	if err := thrift.Unmarshal(&proto, good[len(body):len(good)-8], &meta); err != nil {
		t.Fatal(err)
	}
	change(&meta, func(b []byte) int64 {
		at := int64(len(body))
		body = append(body, b...)
		return at
	})
	foot, err := thrift.Marshal(&proto, meta)
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, foot...)
	body = binary.LittleEndian.AppendUint32(body, uint32(len(foot)))
	return append(body, "PAR1"...)
}

// pageOf builds a data page.
func pageOf(t testing.TB, h format.DataPageHeaderV2, size int32, data []byte) []byte {
	t.Helper()
	var proto thrift.CompactProtocol
	head := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: size, CompressedPageSize: int32(len(data))}
	head.DataPageHeaderV2.V, head.DataPageHeaderV2.Valid = h, true
	b, err := thrift.Marshal(&proto, head)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, data...)
}

// Files that declare far more than they hold are refused before the memory is taken.
func TestBombs(t *testing.T) {
	const huge = math.MaxInt32
	// The column at_us is replaced by a page of our making that claims n rows.
	claim := func(n int64, page []byte) func(*format.FileMetaData, func([]byte) int64) {
		return func(m *format.FileMetaData, add func([]byte) int64) {
			m.NumRows, m.RowGroups[0].NumRows = n, n
			c := &m.RowGroups[0].Columns[0].MetaData
			c.DataPageOffset, c.TotalCompressedSize = add(page), int64(len(page))
		}
	}
	delta := binary.AppendUvarint([]byte{0x80, 0x01, 0x04}, huge) // block of 128 in 4, and 2^31 values
	delta = append(delta, 0)
	flat := func(n int32) format.DataPageHeaderV2 {
		return format.DataPageHeaderV2{NumValues: n, NumRows: n, Encoding: format.DeltaBinaryPacked}
	}
	zeros := make([]byte, 4<<20)
	bomb, err := parquet.Zstd.Encode(nil, zeros)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, want string, change func(*format.FileMetaData, func([]byte) int64)) {
		t.Run(name, func(t *testing.T) {
			b := forge(t, goodFile(t, "samples.parquet"), change)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rejects(t, b, want)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d MiB were allocated for a file of %d bytes", took>>20, len(b))
			}
		})
	}
	check("rows in the footer", "decodes to more than", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.NumRows, m.RowGroups[0].NumRows = 1<<29, 1<<29
	})
	check("rows near overflow", "malformed row group", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.NumRows, m.RowGroups[0].NumRows = math.MaxInt64, math.MaxInt64
	})
	check("negative rows", "malformed metadata", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.NumRows, m.RowGroups[0].NumRows = -1, -1
	})
	check("values in a page", "a page decodes to more than", claim(9, pageOf(t, flat(huge), 20, delta)))
	check("size of a page", "a page decodes to more than", claim(9, pageOf(t, flat(9), huge, bomb)))
	check("a page larger than it says", "does not decompress", claim(9, pageOf(t, flat(9), 100, bomb)))
	plain, err := parquet.Zstd.Encode(nil, delta)
	if err != nil {
		t.Fatal(err)
	}
	check("values in a delta stream", "malformed values", claim(9, pageOf(t, flat(9), int32(len(delta)), plain)))
	check("column outside the file", "outside the file", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.RowGroups[0].Columns[3].MetaData.DataPageOffset = 1 << 40
		m.RowGroups[0].Columns[3].MetaData.DictionaryPageOffset = 0
	})
	check("column of negative size", "outside the file", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.RowGroups[0].Columns[3].MetaData.TotalCompressedSize = -1
	})
	check("column in another file", "malformed metadata", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.RowGroups[0].Columns[0].FilePath = "/etc/passwd"
	})
	check("rows that are not there", "do not hold the rows", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.NumRows, m.RowGroups[0].NumRows = 10, 10
	})
	check("codec", "codec 1", func(m *format.FileMetaData, _ func([]byte) int64) {
		m.RowGroups[0].Columns[0].MetaData.Codec = format.Snappy
	})
	check("newer", "made by a newer speedmatrix", func(m *format.FileMetaData, _ func([]byte) int64) {
		for i := range m.KeyValueMetadata {
			if m.KeyValueMetadata[i].Key == "speedmatrix.schema" {
				m.KeyValueMetadata[i].Value = "2"
			}
		}
	})
}

func TestFooterOfDeepNesting(t *testing.T) {
	foot := bytes.Repeat([]byte{0x1c}, 1<<20) // field 1: a struct, in which field 1: a struct, …
	b := append([]byte("PAR1"), foot...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(foot)))
	rejects(t, append(b, "PAR1"...), "malformed metadata")
}

func TestLinksAndDevices(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "requests.parquet")
	if err := os.WriteFile(secret, goodFile(t, "requests.parquet"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(replace func(path string)) error {
		dir, _, _ := writeRun(t, t.TempDir(), true)
		path := filepath.Join(dir, "requests.parquet")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		replace(path)
		l, err := eventlog.Open(dir)
		if err != nil {
			return err
		}
		_, err = l.Requests()
		return err
	}
	if err := open(func(p string) { must(t, os.Symlink(secret, p)) }); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("a link out of the folder: error %v", err)
	}
	if err := open(func(p string) { must(t, os.Mkdir(p, 0o755)) }); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: error %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
