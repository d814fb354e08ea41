package client

import (
	"math/bits"
	"sync/atomic"
)

// Buckets of Lag: every microsecond below lagLinear has its own; above, each octave is cut into lagSub
// buckets, so that a quantile is off by at most one part in lagSub.
const (
	lagSubBits = 5
	lagSub     = 1 << lagSubBits
	lagLinear  = 2 * lagSub
	lagOctaves = 26 // up to 2^32 us, over an hour
	lagBuckets = lagLinear + lagOctaves*lagSub
)

// Lag is a histogram of lags in microseconds, filled by many goroutines and emptied by one, without a lock
// and without an allocation. The zero value is empty and ready.
type Lag struct {
	counts [lagBuckets]atomic.Uint32
	max    atomic.Int64
}

// LagSummary is what came since the Take before. Quantiles are the lower edge of their bucket: at most
// 1/32 too low. All are 0 when N is.
type LagSummary struct {
	N             int64
	P50, P99, Max int64 // microseconds
}

// Add counts one lag; a negative one counts as 0.
func (l *Lag) Add(us int64) {
	us = max(us, 0)
	l.counts[lagBucket(us)].Add(1)
	for {
		m := l.max.Load()
		if us <= m || l.max.CompareAndSwap(m, us) {
			return
		}
	}
}

// Take returns what came since the last Take and empties the histogram. A lag added meanwhile is counted
// now or by the next Take, never twice.
func (l *Lag) Take() LagSummary {
	var counts [lagBuckets]uint32
	s := LagSummary{Max: l.max.Swap(0)}
	for i := range l.counts {
		counts[i] = l.counts[i].Swap(0)
		s.N += int64(counts[i])
	}
	s.P50, s.P99 = lagQuantile(&counts, s.N, 50), lagQuantile(&counts, s.N, 99)
	s.Max = max(s.Max, s.P99) // a lag whose bucket came before its maximum
	return s
}

// lagQuantile returns the nearest-rank percentile.
func lagQuantile(counts *[lagBuckets]uint32, n int64, percent int64) int64 {
	rank := (n*percent + 99) / 100
	for i, c := range counts {
		rank -= int64(c)
		if rank <= 0 && c > 0 {
			return lagFloor(i)
		}
	}
	return 0
}

func lagBucket(us int64) int {
	if us < lagLinear {
		return int(us)
	}
	octave := bits.Len64(uint64(us)) - lagSubBits - 1 // 1 for 64..127
	return min(octave*lagSub+int(us>>octave), lagBuckets-1)
}

// lagFloor is the smallest lag of a bucket: the inverse of lagBucket.
func lagFloor(bucket int) int64 {
	if bucket < lagLinear {
		return int64(bucket)
	}
	octave := bucket/lagSub - 1
	return int64(bucket%lagSub+lagSub) << octave
}
