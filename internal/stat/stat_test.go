package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speedmatrix/internal/stat"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestQuantile(t *testing.T) {
	check := func(xs []float64, q, want float64) {
		t.Helper()
		got, ok := stat.Quantile(xs, q)
		if !ok || !near(got, want) {
			t.Errorf("Quantile(%v, %v) = %v, %v, want %v", xs, q, got, ok, want)
		}
	}
	none := func(xs []float64, q float64) {
		t.Helper()
		if got, ok := stat.Quantile(xs, q); ok || got != 0 {
			t.Errorf("Quantile(%v, %v) = %v, %v, want none", xs, q, got, ok)
		}
	}
	var twenty []float64 // 10, 20, … 200: the series that tells the definitions of p95 apart
	for i := 1; i <= 20; i++ {
		twenty = append(twenty, float64(10*i))
	}
	check(twenty, 0.95, 190.5) // h = 19 x 0.95 = 18.05: 190 + 0.05 x 10
	check(twenty, 0.5, 105)
	check([]float64{7}, 0, 7)
	check([]float64{7}, 0.3, 7)
	check([]float64{7}, 1, 7)
	check([]float64{4, 1, 3, 2}, 0.25, 1.75) // h = 0.75: 1 + 0.75
	check([]float64{4, 1, 3, 2}, 1, 4)
	check([]float64{1, math.NaN(), 3, math.Inf(1), math.Inf(-1)}, 0.5, 2)
	check([]float64{-math.MaxFloat64, math.MaxFloat64}, 0.5, 0)
	none(nil, 0.5)
	none([]float64{math.NaN()}, 0.5)
	none([]float64{1}, -0.1)
	none([]float64{1}, 1.1)
	none([]float64{1}, math.NaN())
}

func TestQuantileLeavesItsInputAlone(t *testing.T) {
	xs := []float64{3, 1, 2}
	stat.Quantile(xs, 0.5)
	if !slices.Equal(xs, []float64{3, 1, 2}) {
		t.Errorf("input was changed to %v", xs)
	}
}

func TestMean(t *testing.T) {
	if got, ok := stat.Mean([]float64{1, 2, math.NaN(), 6}); !ok || got != 3 {
		t.Errorf("Mean = %v, %v, want 3", got, ok)
	}
	if _, ok := stat.Mean(nil); ok {
		t.Error("the mean of nothing exists")
	}
	if got, ok := stat.Mean([]float64{math.MaxFloat64, math.MaxFloat64}); ok {
		t.Errorf("an overflowing mean is %v", got)
	}
}

// TestMetamorphic: relations that hold for any sample, whatever the right answer is.
func TestMetamorphic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		xs := make([]float64, 1+random.IntN(40))
		for i := range xs {
			xs[i] = math.Round(random.NormFloat64() * 1000)
		}
		lowest, _ := stat.Quantile(xs, 0)
		median, _ := stat.Median(xs)
		highest, _ := stat.Quantile(xs, 1)
		mean, _ := stat.Mean(xs)
		if lowest != slices.Min(xs) || highest != slices.Max(xs) {
			t.Fatalf("quantiles 0 and 1 of %v are %v and %v", xs, lowest, highest)
		}
		if lowest > median || median > highest || lowest > mean || mean > highest {
			t.Fatalf("min %v, median %v, mean %v, max %v of %v are out of order", lowest, median, mean, highest, xs)
		}
		shuffled := slices.Clone(xs)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got, _ := stat.Median(shuffled); got != median {
			t.Fatalf("shuffling %v moved the median from %v to %v", xs, median, got)
		}
		// A sample in which each value stands n times has the same mean and extremes; of an odd sample also the median.
		var weighted []float64
		for _, x := range xs {
			weighted = append(weighted, x, x, x)
		}
		if got, _ := stat.Mean(weighted); !near(got, mean) {
			t.Fatalf("weighting moved the mean of %v from %v to %v", xs, mean, got)
		}
		if got, _ := stat.Median(weighted); got != median {
			t.Fatalf("weighting moved the median of %v from %v to %v", xs, median, got)
		}
		last := math.Inf(-1)
		for q := 0.0; q <= 1; q += 1.0 / 64 {
			v, ok := stat.Quantile(xs, q)
			if !ok || v < last {
				t.Fatalf("quantile %v of %v is %v after %v", q, xs, v, last)
			}
			last = v
		}
	}
}

func TestRepeatInterval(t *testing.T) {
	// Mean 100, deviation sqrt((4+0+4)/2) = 2, t(0.975, 2) = 4.303: half = 4.303 x 2 / sqrt(3) = 4.96868.
	got, ok := stat.RepeatInterval([]float64{102, 98, 100})
	if !ok || math.Abs(got.Low-95.03132) > 1e-5 || math.Abs(got.High-104.96868) > 1e-5 {
		t.Errorf("interval of 98, 100, 102 is %v, %v", got, ok)
	}
	if got, ok := stat.RepeatInterval([]float64{5, 5, 5}); !ok || got != (stat.Interval{Low: 5, High: 5}) {
		t.Errorf("interval of equal repeats is %v, %v", got, ok)
	}
	if _, ok := stat.RepeatInterval([]float64{5, math.NaN()}); ok {
		t.Error("one repeat has an interval")
	}
	if _, ok := stat.RepeatInterval([]float64{math.MaxFloat64, -math.MaxFloat64}); ok {
		t.Error("an infinite interval came out")
	}
	// 41 repeats: df = 40, t = 2.021 in the tables. Values ±1 and one 0: s = 1, mean 0, half = 2.021 / sqrt(41).
	xs := make([]float64, 41)
	for i := range 20 {
		xs[2*i], xs[2*i+1] = 1, -1
	}
	if got, _ := stat.RepeatInterval(xs); math.Abs(got.High-2.021/math.Sqrt(41)) > 1e-4 {
		t.Errorf("interval of 41 repeats ends at %v", got.High)
	}
}

func TestBootstrap(t *testing.T) {
	draw := stat.NewBootstrap(7)
	steady := slices.Repeat([]stat.Block{{Count: 100, US: 2e6}}, 15)
	if got, ok := draw.Interval(steady); !ok || got != (stat.Interval{Low: 50, High: 50}) {
		t.Errorf("interval of equal blocks is %v, %v, want 50 to 50", got, ok)
	}
	// 30 blocks of one second, 90 or 110 each: the rate is 100, its standard error 10 / sqrt(30) = 1.826, so the
	// interval is close to 100 ± 1.96 x 1.826 = 96.4 to 103.6. The same in a longer table of random numbers, of 40 blocks: 96.9 to 103.1.
	noisy := func(n int) (out []stat.Block) {
		for i := range n {
			out = append(out, stat.Block{Count: 90 + 20*int64(i%2), US: 1e6})
		}
		return out
	}
	for n, want := range map[int]stat.Interval{30: {Low: 96.4, High: 103.6}, 40: {Low: 96.9, High: 103.1}} {
		got, ok := draw.Interval(noisy(n))
		if !ok || math.Abs(got.Low-want.Low) > 0.7 || math.Abs(got.High-want.High) > 0.7 {
			t.Errorf("interval of %d noisy blocks is %v, %v, want about %v", n, got, ok, want)
		}
		if again, _ := stat.NewBootstrap(7).Interval(noisy(n)); again != got {
			t.Errorf("the same seed gives %v, then %v", got, again)
		}
	}
	long := slices.Repeat([]stat.Block{{Count: 1, US: 1e6}}, 1000)
	if got, ok := draw.Interval(long); !ok || got != (stat.Interval{Low: 1, High: 1}) {
		t.Errorf("interval of 1,000 equal blocks is %v, %v, want 1 to 1", got, ok)
	}
	for _, bad := range [][]stat.Block{
		nil,
		noisy(4),
		append(slices.Clone(steady), stat.Block{Count: 1}),
		append(slices.Clone(steady), stat.Block{Count: 1, US: -1}),
		append(slices.Clone(steady), stat.Block{Count: -1, US: 1}),
		slices.Repeat([]stat.Block{{Count: math.MaxInt64 / 8, US: 1}}, 9),
		slices.Repeat(steady, 5000),
	} {
		if got, ok := draw.Interval(bad); ok {
			t.Errorf("%d blocks that start with %v have the interval %v", len(bad), bad[:min(len(bad), 3)], got)
		}
	}
}

// Every block is drawn as often as any other, wherever it stands.
func TestBootstrapDrawsAllBlocks(t *testing.T) {
	const n = 20
	draw := stat.NewBootstrap(3)
	for i := range n {
		blocks := slices.Repeat([]stat.Block{{Count: 0, US: 1e6}}, n)
		blocks[i].Count = 100 // drawn 0 to 3 times in 95 of 100 resamples, 1 time on average: 0 to 15 a second
		if got, ok := draw.Interval(blocks); !ok || got.Low != 0 || got.High < 15 || got.High > 20 {
			t.Errorf("block %d alone gives %v, %v, want 0 to about 15", i, got, ok)
		}
	}
}

func FuzzQuantile(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 0.5)
	f.Add(math.MaxFloat64, -math.MaxFloat64, math.Inf(1), 0.1)
	f.Add(math.NaN(), 0.0, math.SmallestNonzeroFloat64, 1.0)
	f.Fuzz(func(t *testing.T, a, b, c, q float64) {
		xs := []float64{a, b, c}
		sorted := stat.Sorted(xs)
		v, ok := stat.Quantile(xs, q)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("Quantile(%v, %v) = %v", xs, q, v)
		}
		if ok && (v < sorted[0] || v > sorted[len(sorted)-1]) {
			t.Fatalf("Quantile(%v, %v) = %v, outside of the sample", xs, q, v)
		}
		if i, ok := stat.RepeatInterval(xs); ok && !(i.Low <= i.High) {
			t.Fatalf("RepeatInterval(%v) = %v", xs, i)
		}
	})
}

func BenchmarkBootstrap(b *testing.B) {
	blocks := slices.Repeat([]stat.Block{{Count: 100, US: 1e6}, {Count: 120, US: 1e6}}, 15)
	draw := stat.NewBootstrap(1)
	for b.Loop() {
		draw.Interval(blocks)
	}
}
