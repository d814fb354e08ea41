package eventlog_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// writeRun stores the sample run's three passes, and completes it when asked to. It returns the folder and what went in.
func writeRun(t testing.TB, results string, complete bool) (dir string, reqs []event.Request, samples []event.Sample) {
	t.Helper()
	w, err := eventlog.Create(results, sampleRun())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, s := range []eventlog.Step{{Cell: 1, Repeat: 1}, {Cell: 0}, {Cell: 1}} { // not in order
		if err := w.Part(s, passRequests(s), someSamples(s.Cell, s.Repeat, 3)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []eventlog.Step{{Cell: 0}, {Cell: 1}, {Cell: 1, Repeat: 1}} {
		reqs = append(reqs, passRequests(s)...)
		samples = append(samples, someSamples(s.Cell, s.Repeat, 3)...)
	}
	dir = w.Dir()
	if complete {
		if dir, err = w.Complete(w.Run()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, reqs, samples
}

func passRequests(s eventlog.Step) []event.Request {
	return append(synthetic(s.Cell, s.Repeat, 9, 40), oddRequests(s.Cell, s.Repeat)...)
}

func TestRoundTrip(t *testing.T) {
	for _, complete := range []bool{true, false} {
		results := t.TempDir()
		dir, reqs, samples := writeRun(t, results, complete)
		l, err := eventlog.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if l.Partial() == complete {
			t.Errorf("complete %v: Partial() = %v", complete, l.Partial())
		}
		got, err := l.Requests()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, reqs) {
			t.Errorf("complete %v: the requests read are not those written", complete)
		}
		gotSamples, err := l.Samples()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(gotSamples, samples) {
			t.Errorf("complete %v: samples read %v, want %v", complete, gotSamples, samples)
		}
		if err := l.Verify(); err != nil {
			t.Error(err)
		}
		want := sampleRun()
		if complete {
			want.State, want.Files = event.Complete, l.Run().Files
			if len(want.Files) != 2 {
				t.Errorf("files %v, want two", want.Files)
			}
		}
		if !reflect.DeepEqual(l.Run(), want) {
			t.Errorf("run read\n%+v\nwant\n%+v", l.Run(), want)
		}
	}
}

func TestCompleteFolderHoldsThreeFiles(t *testing.T) {
	results := t.TempDir()
	dir, _, _ := writeRun(t, results, true)
	if want := filepath.Join(results, sampleRun().ID); dir != want {
		t.Errorf("folder %q, want %q", dir, want)
	}
	for path, want := range map[string][]string{
		results: {sampleRun().ID},
		dir:     {"requests.parquet", "run.toml", "samples.parquet"},
	} {
		if got := names(t, path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
}

// A buffer used for a large run, then for others, gives what fresh memory gives: nothing of the run before shows.
func TestRequestsInABuffer(t *testing.T) {
	large, _ := stored(t, 6)
	small, want, _ := writeRun(t, t.TempDir(), true)
	partial, wantPartial, _ := writeRun(t, t.TempDir(), false)
	var buf eventlog.Buffer
	for range 2 {
		for _, c := range []struct {
			dir  string
			want []event.Request
		}{{large, nil}, {small, want}, {partial, wantPartial}} {
			l, err := eventlog.Open(c.dir)
			must(t, err)
			if c.want == nil {
				c.want, err = l.Requests()
				must(t, err)
			}
			if got := loadAll(t, l, &buf); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: the requests in a buffer are not those in fresh memory", c.dir)
			}
		}
	}
}

// loadAll reads the requests of a run in a buffer, cell by cell, and returns copies of them.
func loadAll(t testing.TB, l *eventlog.Log, buf *eventlog.Buffer) (out []event.Request) {
	t.Helper()
	reqs, load, err := l.RequestsIn(buf)
	must(t, err)
	for cell := range l.Run().Cells {
		must(t, load(cell))
		for _, r := range reqs {
			if int(r.Cell) == cell {
				r.ChunkUS, r.ChunkTokens = slices.Clone(r.ChunkUS), slices.Clone(r.ChunkTokens)
				out = append(out, r)
			}
		}
	}
	return out
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
