package summary_test

import (
	"testing"

	"speedmatrix/internal/summary"
)

// BenchmarkSummarize goes over a synthetic run of the seed's size. The budget for 1,000 such runs in 10 s on 2 cores is
// about 15 ns a token, reading the files included.
func BenchmarkSummarize(b *testing.B) {
	run, requests, samples := synthetic(seedShapes(), 30, 4096, 1)
	var tokens int64
	for i := range requests {
		tokens += requests[i].Tokens()
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := summary.Summarize(run, requests, samples); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
	b.ReportMetric(float64(tokens), "tokens")
}
