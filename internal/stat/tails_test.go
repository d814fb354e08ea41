package stat

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The quantiles of the tails are those of all values sorted, to the last bit.
func TestTails(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		xs := make([]float64, resamples)
		for i := range xs {
			xs[i] = float64(random.IntN(300)) / 7 // with ties
		}
		sorted := slices.Sorted(slices.Values(xs))
		wantLow, _ := QuantileSorted(sorted, 0.025)
		wantHigh, _ := QuantileSorted(sorted, 0.975)
		if low, high := tails(xs); low != wantLow || high != wantHigh {
			t.Fatalf("tails are %v and %v, want %v and %v", low, high, wantLow, wantHigh)
		}
	}
}
