package main

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"speedmatrix/internal/synth"
)

// manyRuns stores n synthetic runs of the seed's size below a folder of the test; four of them have events of their own.
func manyRuns(tb testing.TB, n int) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := synth.Fill(dir, n); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// BenchmarkCold builds a site of 100 runs of the seed's size without a cache; the figure to watch is the time a run.
func BenchmarkCold(b *testing.B) {
	const n = 100
	c := buildConfig{results: manyRuns(b, n), templates: "../../templates", out: filepath.Join(b.TempDir(), "site")}
	for b.Loop() {
		if _, err := build(context.Background(), c, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/n, "ms/run")
}

// BenchmarkWarm builds a site of 300 runs of which nothing has changed.
func BenchmarkWarm(b *testing.B) {
	const n = 300
	c := buildConfig{results: manyRuns(b, n), templates: "../../templates", out: filepath.Join(b.TempDir(), "site"), cache: b.TempDir()}
	if _, err := build(context.Background(), c, io.Discard); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := build(context.Background(), c, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
}
