package summary

import "slices"

// countedGaps is the range of gaps, in microseconds, that are counted in bins of 1 µs. Sorting a cell's gaps would cost ten
// times what all else costs; gaps are whole microseconds, so that counting them is exact. Longer ones are few and sorted.
const countedGaps = 1 << 17 // 131 ms

// gapCounter counts the gaps between chunks of one cell. It is used for one cell after another.
type gapCounter struct {
	counts    []uint32 // by gap
	low, high int64    // bins in use: low <= gap <= high; none when low > high
	long      []int64  // gaps beyond the bins
	n         int64
}

func newGapCounter() *gapCounter {
	return &gapCounter{counts: make([]uint32, countedGaps), low: countedGaps, high: -1}
}

// add counts the gaps between neighbouring arrivals; they must not decrease.
func (g *gapCounter) add(us []int64) {
	if len(us) < 2 {
		return
	}
	low, high, last := g.low, g.high, us[0]
	for _, at := range us[1:] {
		gap := at - last
		last = at
		if uint64(gap) >= uint64(len(g.counts)) {
			g.long = append(g.long, gap)
			continue
		}
		g.counts[gap]++
		low, high = min(low, gap), max(high, gap)
	}
	g.low, g.high = low, high
	g.n += int64(len(us) - 1)
}

// take returns the distribution of the gaps in milliseconds and the share of gaps that are 0, and empties the counter.
func (g *gapCounter) take() (d Distribution, shared float64) {
	slices.Sort(g.long)
	if g.n > 0 {
		shared = float64(g.counts[0]) / float64(g.n)
	}
	gap, upTo := g.low, int64(0) // all gaps below the bin "gap" are among the first upTo
	d = describe(int(g.n), func(i int) float64 {
		for gap <= g.high && upTo+int64(g.counts[gap]) <= int64(i) {
			upTo += int64(g.counts[gap])
			gap++
		}
		if gap <= g.high {
			return float64(gap) / 1000
		}
		return float64(g.long[int64(i)-upTo]) / 1000
	})
	if g.low <= g.high {
		clear(g.counts[g.low : g.high+1])
	}
	g.low, g.high, g.long, g.n = countedGaps, -1, g.long[:0], 0
	return d, shared
}
