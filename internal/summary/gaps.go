package summary

import "slices"

// countedGaps is the range of gaps, in microseconds, that are counted in bins of 1 µs. Sorting a cell's gaps would cost ten
// times what all else costs; gaps are whole microseconds, so that counting them is exact. Longer ones are few and sorted.
const countedGaps = 1 << 17 // 131 ms

// gapCounter counts the gaps between chunks of one cell. It is used for one cell after another.
type gapCounter struct {
	// counts are the gaps by their length. Gaps are much alike, and a number that was just written is slow to read: each lane takes every fourth gap.
	counts    *[lanes][countedGaps]uint32
	low, high int64   // of the gaps counted: low <= gap <= high; none when low > high
	long      []int64 // gaps too long to be counted
	n         int64
}

const lanes = 4

func newGapCounter() *gapCounter {
	return &gapCounter{counts: new([lanes][countedGaps]uint32), low: countedGaps, high: -1}
}

// add counts the gaps between neighbouring arrivals, and reports whether none is negative (see addOne).
func (g *gapCounter) add(us []int64) (ascending bool) {
	if len(us) < 2 {
		return true
	}
	g.n += int64(len(us) - 1)
	ascending = true
	i, last, low, high := 1, us[0], g.low, g.high
	c0, c1, c2, c3 := &g.counts[0], &g.counts[1], &g.counts[2], &g.counts[3]
	for ; i+lanes <= len(us); i += lanes {
		at0, at1, at2, at3 := us[i], us[i+1], us[i+2], us[i+3]
		gap0, gap1, gap2, gap3 := at0-last, at1-at0, at2-at1, at3-at2
		if uint64(gap0|gap1|gap2|gap3) >= countedGaps {
			g.low, g.high = low, high
			ascending = g.addEach(last, us[i:i+lanes]) && ascending
			last, low, high = at3, g.low, g.high
			continue
		}
		c0[gap0]++
		c1[gap1]++
		c2[gap2]++
		c3[gap3]++
		low, high = min(low, gap0, gap1, gap2, gap3), max(high, gap0, gap1, gap2, gap3)
		last = at3
	}
	g.low, g.high = low, high
	return g.addEach(last, us[i:]) && ascending
}

// addEach counts the gap before each of some arrivals, the first of which follows one at last.
func (g *gapCounter) addEach(last int64, us []int64) (ascending bool) {
	ascending = true
	for _, at := range us {
		ascending = g.addOne(last, at) && ascending
		last = at
	}
	return ascending
}

// addOne counts one gap of any length; it answers false when it is negative. Arrivals out of range are refused as well: a difference that
// overflows looks like a gap.
func (g *gapCounter) addOne(from, to int64) bool {
	if !instant(from) || !instant(to) || from > to {
		return false
	}
	gap := to - from
	if gap >= countedGaps {
		g.long = append(g.long, gap)
		return true
	}
	g.counts[0][gap]++
	g.low, g.high = min(g.low, gap), max(g.high, gap)
	return true
}

// take returns the distribution of the gaps in milliseconds and the share of gaps that are 0, and empties the counter.
func (g *gapCounter) take() (d Distribution, shared float64) {
	slices.Sort(g.long)
	if g.n > 0 {
		shared = float64(g.of(0)) / float64(g.n)
	}
	gap, upTo := g.low-1, int64(0) // upTo gaps are not longer than gap
	d = describe(int(g.n), func(i int) float64 {
		for upTo <= int64(i) && gap <= g.high {
			gap++
			upTo += g.of(gap)
		}
		if gap <= g.high {
			return float64(gap) / 1000
		}
		return float64(g.long[int64(i)-upTo]) / 1000
	})
	g.reset()
	return d, shared
}

// of returns how many gaps have that length.
func (g *gapCounter) of(gap int64) int64 {
	if gap >= countedGaps {
		return 0
	}
	return int64(g.counts[0][gap]) + int64(g.counts[1][gap]) + int64(g.counts[2][gap]) + int64(g.counts[3][gap])
}

// reset empties the counter.
func (g *gapCounter) reset() {
	if g.low <= g.high {
		for i := range g.counts {
			clear(g.counts[i][g.low : g.high+1])
		}
	}
	g.low, g.high, g.long, g.n = countedGaps, -1, g.long[:0], 0
}
