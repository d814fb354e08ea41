package summary

import (
	"math"
	"slices"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

// Whatever the window, a list that goes backwards anywhere is refused, as is one that passes the range of instants and comes back by overflow.
func TestLookRefusesWhatGoesBackwards(t *testing.T) {
	gaps := newGapCounter()
	sound := func(us []int64, w metric.Window) bool {
		b := builder{gaps: gaps}
		gaps.reset()
		b.look(&event.Request{ChunkUS: us, ChunkTokens: slices.Repeat([]int32{1}, len(us))}, w)
		return b.problems.err() == nil
	}
	arrivals := []int64{5, 10, 10, 200_000, 200_001, 900_000, 900_002}
	for start := int64(0); start <= 1_000_000; start += 50_000 {
		for end := start; end <= 1_000_000; end += 50_000 {
			w := metric.Window{StartUS: start, EndUS: end}
			if !sound(arrivals, w) {
				t.Fatalf("%v is refused with the window %v", arrivals, w)
			}
			for i := range arrivals {
				bad := slices.Clone(arrivals)
				bad[i] = -1
				if sound(bad, w) {
					t.Fatalf("%v is sound with the window %v", bad, w)
				}
				if i == 0 {
					continue
				}
				if bad[i] = bad[i-1] - 1; sound(bad, w) {
					t.Fatalf("%v is sound with the window %v", bad, w)
				}
			}
		}
	}
	w := metric.Window{EndUS: math.MaxInt64}
	for _, bad := range [][]int64{
		{1, maxInstantUS + 1},
		{1, 1 << 62, -1<<62 - 5, 3},
		{math.MaxInt64 - 1000, math.MinInt64 + 500, 3},
		{math.MaxInt64 - 1000, math.MaxInt64, math.MinInt64, 3, 4},
	} {
		for shift := range 2 { // the first or the second of a pair of gaps
			if us := append(slices.Repeat([]int64{0}, shift), bad...); sound(us, w) {
				t.Errorf("%v is sound", us)
			}
		}
	}
}
