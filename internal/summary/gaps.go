package summary

import (
	"math/bits"
	"slices"
)

// countedGaps is the range of gaps, in microseconds, that are counted in bins of 1 µs. Sorting a cell's gaps would cost ten
// times what all else costs; gaps are whole microseconds, so that counting them is exact. Longer ones are few and sorted.
const countedGaps = 1 << 17 // 131 ms

// gapCounter counts the gaps between chunks of one cell. It is used for one cell after another.
type gapCounter struct {
	// counts are the gaps by their length. Gaps are much alike, and a number that was just written is slow to read: each lane takes every fourth gap.
	counts *[lanes][countedGaps]uint32
	from   int64   // the gaps counted are from <= gap < from + span
	span   uint64  // a power of two up to countedGaps; 0 as long as none is counted
	long   []int64 // gaps too long to be counted
	n      int64
}

const (
	lanes   = 4
	minSpan = 1 << 10
)

func newGapCounter() *gapCounter { return &gapCounter{counts: new([lanes][countedGaps]uint32)} }

// add counts the gaps between neighbouring arrivals, and reports whether none is negative (see addOne).
func (g *gapCounter) add(us []int64) (ascending bool) {
	if len(us) < 2 {
		return true
	}
	g.n += int64(len(us) - 1)
	for ascending = true; ; {
		us = us[g.addInRange(us):]
		few := us[1:min(len(us), 1+lanes)] // the next gaps: one of them is out of range, or no more are left
		ascending = g.addEach(us[0], few) && ascending
		if len(few) < lanes {
			return ascending
		}
		us = us[lanes:]
	}
}

// addInRange counts gaps, a number of lanes at once, up to one that is out of range, and returns how many. All of a stream's tokens pass here, so that it holds
// what is asked of each and no more: a call in this loop would send its variables to memory.
func (g *gapCounter) addInRange(us []int64) int {
	counts, from, span := g.counts, uint64(g.from), g.span
	last := us[0]
	i := 1
	for ; i < len(us)-lanes+1; i += lanes {
		at0, at1, at2, at3 := us[i], us[i+1], us[i+2], us[i+3]
		gap0, gap1, gap2, gap3 := uint64(at0-last), uint64(at1-at0), uint64(at2-at1), uint64(at3-at2)
		if (gap0-from)|(gap1-from)|(gap2-from)|(gap3-from) >= span {
			break
		}
		last = at3
		counts[0][gap0%countedGaps]++ // a gap in range is its own remainder, which the compiler knows to lie in the list
		counts[1][gap1%countedGaps]++
		counts[2][gap2%countedGaps]++
		counts[3][gap3%countedGaps]++
	}
	return i - 1
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
	if uint64(gap-g.from) >= g.span {
		g.widen(gap)
	}
	g.counts[0][gap]++
	return true
}

// widen makes the range of the gaps counted hold one more, with as much room to both sides as there is.
func (g *gapCounter) widen(gap int64) {
	low, high := gap, gap
	if g.span > 0 {
		low, high = min(low, g.from), max(high, g.from+int64(g.span)-1)
	}
	g.span = max(minSpan, uint64(1)<<bits.Len64(uint64(high-low)))
	room := int64(g.span) - (high - low + 1)
	g.from = max(0, min(low-room/2, countedGaps-int64(g.span)))
}

// take returns the distribution of the gaps in milliseconds and the share of gaps that are 0, and empties the counter.
func (g *gapCounter) take() (d Distribution, shared float64) {
	slices.Sort(g.long)
	if g.n > 0 {
		shared = float64(g.of(0)) / float64(g.n)
	}
	gap, end, upTo := g.from-1, g.from+int64(g.span), int64(0) // upTo gaps are not longer than gap
	d = describe(int(g.n), func(i int) float64 {
		for upTo <= int64(i) && gap < end {
			if gap++; gap < end {
				upTo += g.of(gap)
			}
		}
		if gap < end {
			return float64(gap) / 1000
		}
		return float64(g.long[int64(i)-upTo]) / 1000
	})
	g.reset()
	return d, shared
}

// of returns how many gaps have that length.
func (g *gapCounter) of(gap int64) int64 {
	return int64(g.counts[0][gap]) + int64(g.counts[1][gap]) + int64(g.counts[2][gap]) + int64(g.counts[3][gap])
}

// reset empties the counter.
func (g *gapCounter) reset() {
	for i := range g.counts {
		clear(g.counts[i][g.from : g.from+int64(g.span)])
	}
	g.from, g.span, g.long, g.n = 0, 0, g.long[:0], 0
}
