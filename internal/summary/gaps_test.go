package summary

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Counting gives what sorting gives, cell after cell, for gaps of every length.
func TestGapCounterIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	g := newGapCounter()
	for round := range 60 {
		var want []float64
		zero := 0
		for range 1 + round%7 {
			us := []int64{random.Int64N(1000)}
			for range random.IntN(40) {
				gap := random.Int64N(1 << (1 + random.IntN(20))) // to both sides of countedGaps
				if gap == 0 {
					zero++
				}
				us = append(us, us[len(us)-1]+gap)
				want = append(want, float64(gap)/1000)
			}
			if !g.add(us) {
				t.Fatalf("%v does not ascend", us)
			}
		}
		got, shared := g.take()
		if d := distribution(want); got.N != d.N || !slices.Equal(got.Quantiles, d.Quantiles) {
			t.Fatalf("round %d: %d gaps have the quantiles %v, want %d and %v", round, got.N, got.Quantiles, d.N, d.Quantiles)
		}
		if len(want) > 0 && shared != float64(zero)/float64(len(want)) {
			t.Fatalf("round %d: a share of %v is 0, want %d of %d", round, shared, zero, len(want))
		}
	}
}

func BenchmarkGaps(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	us := []int64{0}
	for range 1 << 20 {
		us = append(us, us[len(us)-1]+18_000+random.Int64N(200))
	}
	g := newGapCounter()
	for b.Loop() {
		for from := 0; from < len(us)-1; from += 4096 {
			g.add(us[from:min(from+4096, len(us))])
		}
		g.take()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(us)), "ns/gap")
}
