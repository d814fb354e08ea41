package eventlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// stored keeps a synthetic run of so many cells, 11 requests of 2,400 tokens each. With 46 cells it has the size of the
// standard matrix: 500 requests, 1.2 M tokens.
func stored(tb testing.TB, cells int) (dir string, tokens int) {
	tb.Helper()
	run := sampleRun()
	run.Cells = make([]event.Cell, cells)
	for i := range run.Cells {
		run.Cells[i] = event.Cell{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: i + 1}
	}
	w, err := eventlog.CreateOn(nil, tb.TempDir(), run)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	for i := range run.Cells {
		reqs := synthetic(i, 0, 11, 2400)
		tokens += 11 * 2400
		if err := w.Part(eventlog.Step{Cell: i}, reqs, someSamples(i, 0, 500)); err != nil {
			tb.Fatal(err)
		}
	}
	if dir, err = w.Complete(run); err != nil {
		tb.Fatal(err)
	}
	return dir, tokens
}

// The contract: at most 2 bytes a token, of the whole folder.
func TestBytesPerToken(t *testing.T) {
	dir, tokens := stored(t, 46)
	total := int64(0)
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, info.Size())
		total += info.Size()
	}
	perToken := float64(total) / float64(tokens)
	t.Logf("synthetic run of %d tokens: %.3f bytes a token", tokens, perToken)
	if perToken > 2 {
		t.Errorf("%.3f bytes a token, want at most 2", perToken)
	}
}

func BenchmarkRead(b *testing.B) {
	dir, tokens := stored(b, 46)
	for b.Loop() {
		l, err := eventlog.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		reqs, err := l.Requests()
		if err != nil || len(reqs) != 46*11 {
			b.Fatal(len(reqs), err)
		}
	}
	b.ReportMetric(float64(tokens)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

func BenchmarkReadIn(b *testing.B) {
	dir, tokens := stored(b, 46)
	var buf eventlog.Buffer
	for b.Loop() {
		l, err := eventlog.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		reqs, load, err := l.RequestsIn(&buf)
		if err != nil || len(reqs) != 46*11 {
			b.Fatal(len(reqs), err)
		}
		for cell := range l.Run().Cells {
			if err := load(cell); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(tokens)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

func BenchmarkWrite(b *testing.B) {
	reqs := synthetic(0, 0, 46*11, 2400)
	for b.Loop() {
		if got := eventlog.EncodeUnchecked(reqs); len(got) == 0 {
			b.Fatal("nothing written")
		}
	}
	b.ReportMetric(46*11*2400*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}
