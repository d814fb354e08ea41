package eventlog_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

var update = flag.Bool("update", false, "rewrite testdata; a golden run of a released version is never rewritten")

const goldenV1 = "testdata/v1"

func goldenRun() string { return filepath.Join(goldenV1, sampleRun().ID) }

// The columns of schema 1, as the writer writes them, are those of the golden file.
func TestColumnsV1(t *testing.T) {
	files := reference(t)
	var b strings.Builder
	for _, name := range []string{"requests.parquet", "samples.parquet"} {
		cols, err := eventlog.Columns(files[name])
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("# " + name + "\n" + strings.Join(cols, "\n") + "\n")
	}
	path := filepath.Join(goldenV1, "columns.txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the writer's columns are\n%s\nschema 1 has\n%s", b.String(), want)
	}
}

// A run written by the first release of schema 1 reads to the values that went in, for ever.
func TestGoldenRunV1(t *testing.T) {
	if _, err := os.Stat(goldenRun()); err != nil && *update {
		writeRun(t, goldenV1, true)
	}
	l, err := eventlog.Open(goldenRun())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(); err != nil {
		t.Error(err)
	}
	_, wantReqs, wantSamples := writeRun(t, t.TempDir(), true)
	reqs, err := l.Requests()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := l.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(reqs, wantReqs) || !reflect.DeepEqual(samples, wantSamples) {
		t.Error("the golden run's rows are not those that were written")
	}
	want := sampleRun()
	want.State, want.Files = event.Complete, l.Run().Files
	if !reflect.DeepEqual(l.Run(), want) {
		t.Errorf("the golden run.toml reads\n%+v\nwant\n%+v", l.Run(), want)
	}
}

func TestBytesAreDeterministic(t *testing.T) {
	first := reference(t)
	for range 3 {
		sameContents(t, reference(t), first)
	}
}

func TestRunTomlRoundTripsToTheByte(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(goldenRun(), "run.toml"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := eventlog.DecodeRun(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := eventlog.EncodeRun(run)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, b) {
		t.Errorf("run.toml is written again as\n%s\nit was\n%s", again, b)
	}
}
