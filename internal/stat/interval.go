package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Interval is a 95 % interval, in the unit of what it was made from.
type Interval struct{ Low, High float64 }

// RepeatInterval returns the 95 % interval of the mean of independent repeats, by Student's t:
// mean ± t(0.975, n-1) s / sqrt(n), with s the sample deviation (n-1 in its denominator).
// False with fewer than 2 finite values.
func RepeatInterval(xs []float64) (Interval, bool) {
	xs = Sorted(xs)
	n := len(xs)
	mean, ok := Mean(xs)
	if n < 2 || !ok {
		return Interval{}, false
	}
	var squares float64
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	half := tQuantile(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	if !finite(half) || !finite(mean-half) || !finite(mean+half) {
		return Interval{}, false
	}
	return Interval{mean - half, mean + half}, true
}

// t975 is t(0.975, df) for df = 1 … 30, as in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
var t975 = [...]float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// tQuantile returns t(0.975, df) for df >= 1: from the table, beyond it by the first two terms of the expansion about the
// normal quantile z (Abramowitz and Stegun 26.7.5), which at df = 31 is right to 0.001.
func tQuantile(df int) float64 {
	if df <= len(t975) {
		return t975[df-1]
	}
	const z = 1.959963984540054
	v := float64(df)
	return z + (z*z*z+z)/(4*v) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*v*v)
}

// Block is a stretch of a measured window: what was counted in it and how long it lasted.
type Block struct{ Count, Seconds float64 }

const (
	resamples = 400 // enough for the third digit of an interval's end; more costs sitegen a second per 1,000 runs
	minBlocks = 5   // fewer blocks than this tell nothing about the spread between blocks
)

// BlockBootstrap returns the 95 % interval of a rate (counts a second) within one run. Neighbouring tokens are not
// independent, since streams advance in lock step; blocks long against a step nearly are. So whole blocks are drawn
// with replacement, as many as there are, 400 times, and the interval is that between the 0.025- and the 0.975-quantile of
// sum(Count) / sum(Seconds) over the draws (percentile method, non-overlapping blocks: Carlstein 1986).
// The same blocks and seed give the same interval. False with fewer than 5 blocks, or when a block is not finite, has
// a negative count or does not last.
func BlockBootstrap(blocks []Block, seed uint64) (Interval, bool) {
	n := len(blocks)
	if n < minBlocks || uint64(n) > math.MaxUint32 {
		return Interval{}, false
	}
	for _, b := range blocks {
		if !(b.Count >= 0 && b.Seconds > 0) || !finite(b.Count) || !finite(b.Seconds) {
			return Interval{}, false
		}
	}
	rates := make([]float64, resamples)
	random := rand.NewPCG(seed, uint64(n))
	for i := range rates {
		rates[i] = resample(blocks, random)
		if !finite(rates[i]) {
			return Interval{}, false
		}
	}
	low, high := tails(rates)
	return Interval{low, high}, true
}

// tails returns the 0.025- and the 0.975-quantile of xs, as QuantileSorted would; it sorts only what lies beyond them, and changes xs.
func tails(xs []float64) (low, high float64) {
	n := len(xs)
	i, part := Rank(n, 0.025)
	least := smallest(xs, i+2)
	low = Between(least[i], least[i+1], part)
	for k := range xs {
		xs[k] = -xs[k]
	}
	i, part = Rank(n, 0.975)
	most := smallest(xs, n-i)
	return low, Between(-most[n-1-i], -most[n-2-i], part)
}

// smallest returns the k smallest of xs, ascending; k is small.
func smallest(xs []float64, k int) []float64 {
	out := slices.Clone(xs[:k])
	slices.Sort(out)
	for _, x := range xs[k:] {
		if x >= out[k-1] {
			continue
		}
		at := k - 1
		for ; at > 0 && out[at-1] > x; at-- {
			out[at] = out[at-1]
		}
		out[at] = x
	}
	return out
}

// resample returns the rate of len(blocks) blocks drawn with replacement.
func resample(blocks []Block, random *rand.PCG) float64 {
	var count, seconds float64
	for range blocks {
		// The high word of a product maps 64 random bits to an index; its bias is below n / 2^64.
		i, _ := bits.Mul64(random.Uint64(), uint64(len(blocks)))
		count += blocks[i].Count
		seconds += blocks[i].Seconds
	}
	return count / seconds
}
