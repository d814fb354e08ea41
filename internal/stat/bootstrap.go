package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Block is a stretch of a measured window: what was counted in it, and how long it lasted in microseconds.
type Block struct{ Count, US int64 }

const (
	resamples = 400 // enough for the third digit of an interval's end; more costs sitegen a second per 1,000 runs
	minBlocks = 5   // fewer blocks than this tell nothing about the spread between blocks
	maxBlocks = 1 << 16
)

// Bootstrap makes the intervals of one run. Random numbers are drawn once from its seed and serve all of the run's cells: drawing
// them cell by cell took two thirds of the time of an interval. Each interval is right by itself; NewBootstrap makes one.
// It is used by one goroutine at a time.
type Bootstrap struct {
	seed  uint64
	draws map[int][]uint32 // resamples rows of random numbers, by the length of a row
}

// NewBootstrap returns a Bootstrap whose intervals depend on nothing but the seed and the blocks.
func NewBootstrap(seed uint64) *Bootstrap { return &Bootstrap{seed, map[int][]uint32{}} }

// Interval returns the 95 % interval of a rate (counts a second) within one run. Neighbouring tokens are not
// independent, since streams advance in lock step; blocks long against a step nearly are. So whole blocks are drawn
// with replacement, as many as there are, 400 times, and the interval is that between the 0.025- and the 0.975-quantile of
// sum(Count) / sum(US) over the draws (percentile method, non-overlapping blocks: Carlstein 1986).
// False with fewer than 5 blocks or more than 65,536, when a block has a negative count or does not last, or when they are too large to
// be added up.
func (b *Bootstrap) Interval(blocks []Block) (Interval, bool) {
	n := len(blocks)
	if n < minBlocks || n > maxBlocks {
		return Interval{}, false
	}
	for _, block := range blocks {
		if block.Count < 0 || block.US <= 0 || max(block.Count, block.US) > math.MaxInt64/int64(n) {
			return Interval{}, false
		}
	}
	rates := make([]float64, resamples)
	draws, row := b.rows(n)
	for i := range rates {
		rates[i] = resample(blocks, draws[i*row:i*row+n])
	}
	low, high := tails(rates)
	return Interval{low, high}, true
}

// rows returns resamples rows of at least n random numbers, and the length of a row: a power of two, so that cells of nearly as many blocks share them.
func (b *Bootstrap) rows(n int) (draws []uint32, row int) {
	row = 1 << bits.Len(uint(n-1))
	if draws = b.draws[row]; draws == nil {
		random := rand.NewPCG(b.seed, uint64(row))
		draws = make([]uint32, resamples*row)
		for i := 0; i < len(draws); i += 2 {
			two := random.Uint64()
			draws[i], draws[i+1] = uint32(two), uint32(two>>32)
		}
		b.draws[row] = draws
	}
	return draws, row
}

// resample returns the rate of len(blocks) blocks drawn with replacement, by as many random numbers.
func resample(blocks []Block, draws []uint32) float64 {
	var count, us int64
	for _, random := range draws {
		// The high word of a product maps 32 random bits to an index; its bias is below n / 2^32.
		block := &blocks[uint64(random)*uint64(len(blocks))>>32]
		count += block.Count
		us += block.US
	}
	return float64(count) / (float64(us) / 1e6)
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
