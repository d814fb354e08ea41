package eventlog_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"speedmatrix/internal/eventlog"
)

// What is decoded are the bytes whose digests were compared, whatever has become of the files since; of another run, its own.
func TestVerifiedBytesAreDecoded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), filepath.Base(goldenRun()))
	must(t, os.CopyFS(dir, os.DirFS(goldenRun())))
	open := func() *eventlog.Log {
		t.Helper()
		l, err := eventlog.Open(dir)
		must(t, err)
		return l
	}
	l := open()
	want, err := l.Requests()
	must(t, err)
	wantSamples, err := l.Samples()
	must(t, err)
	var buf eventlog.Buffer
	must(t, l.VerifyIn(&buf))
	for _, name := range []string{"requests.parquet", "samples.parquet"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("PAR1 changed"), 0o644))
	}
	if got := loadAll(t, l, &buf); !reflect.DeepEqual(got, want) {
		t.Error("other requests than those that were compared")
	}
	samples, err := l.SamplesIn(&buf)
	if err != nil || !reflect.DeepEqual(samples, wantSamples) {
		t.Errorf("other samples than those that were compared, error %v", err)
	}
	again := open()
	if _, _, err := again.RequestsIn(&buf); err == nil {
		t.Error("the files of a run that was not compared are taken from a buffer")
	}
	if err := again.VerifyIn(&buf); err == nil {
		t.Error("changed files have the old digests")
	}
}
