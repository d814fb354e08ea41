package summary

import "slices"

// countedGaps is the range of gaps, in microseconds, that are counted in bins of 1 µs. Sorting a cell's gaps would cost ten
// times what all else costs; gaps are whole microseconds, so that counting them is exact. Longer ones are few and sorted.
const countedGaps = 1 << 17 // 131 ms

// gapCounter counts the gaps between chunks of one cell. It is used for one cell after another.
type gapCounter struct {
	counts    []uint32 // by gap
	others    []uint32 // the same for every second gap, added to counts in the end: gaps are much alike, and a bin that was just written is slow to read
	low, high int64    // bins in use: low <= gap <= high; none when low > high
	long      []int64  // gaps beyond the bins
	n         int64
}

func newGapCounter() *gapCounter {
	return &gapCounter{counts: make([]uint32, countedGaps), others: make([]uint32, countedGaps), low: countedGaps, high: -1}
}

// add counts the gaps between neighbouring arrivals, and reports whether none is negative (see addOne).
func (g *gapCounter) add(us []int64) (ascending bool) {
	if len(us) < 2 {
		return true
	}
	ascending = true
	g.n += int64(len(us) - 1)
	if len(us)%2 == 0 { // pairs of gaps remain
		ascending = g.addOne(us[0], us[1])
		us = us[1:]
	}
	low, high, last := g.low, g.high, us[0]
	counts, others := g.counts[:countedGaps], g.others[:countedGaps]
	for pair := us[1:]; len(pair) >= 2; pair = pair[2:] {
		one, two := pair[0]-last, pair[1]-pair[0]
		last = pair[1]
		if uint64(one) >= countedGaps || uint64(two) >= countedGaps {
			g.low, g.high = low, high
			ascending = g.addOne(pair[0]-one, pair[0]) && g.addOne(pair[0], pair[1]) && ascending
			low, high = g.low, g.high
			continue
		}
		counts[one]++
		others[two]++
		low, high = min(low, one, two), max(high, one, two)
	}
	g.low, g.high = low, high
	return ascending
}

// addOne counts one gap of any length; it answers false when it is negative. Arrivals out of range are refused as well: a difference that overflows looks
// like a gap.
func (g *gapCounter) addOne(from, to int64) bool {
	if !instant(from) || !instant(to) || from > to {
		return false
	}
	gap := to - from
	if gap >= countedGaps {
		g.long = append(g.long, gap)
		return true
	}
	g.counts[gap]++
	g.low, g.high = min(g.low, gap), max(g.high, gap)
	return true
}

// reset empties the counter.
func (g *gapCounter) reset() {
	if g.low <= g.high {
		clear(g.counts[g.low : g.high+1])
		clear(g.others[g.low : g.high+1])
	}
	g.low, g.high, g.long, g.n = countedGaps, -1, g.long[:0], 0
}

// take returns the distribution of the gaps in milliseconds and the share of gaps that are 0, and empties the counter.
func (g *gapCounter) take() (d Distribution, shared float64) {
	slices.Sort(g.long)
	for i := g.low; i <= g.high; i++ {
		g.counts[i] += g.others[i]
	}
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
	g.reset()
	return d, shared
}
