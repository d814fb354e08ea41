// Package stat holds the few statistics that published numbers are made with: quantiles, means and 95 % intervals.
//
//  1. Values that are not finite are left out before anything is computed.
//  2. A statistic of no values does not exist: functions answer false instead of 0.
//  3. A result that would not be finite does not exist either: no NaN and no infinity ever leaves this package.
//
// It sorts copies, never the caller's slice, draws random numbers only from a seed it is given, and imports no
// other package of this module.
package stat

import (
	"math"
	"slices"
)

// Sorted returns the finite values of xs in ascending order, as a new slice.
func Sorted(xs []float64) []float64 {
	out := make([]float64, 0, len(xs))
	for _, x := range xs {
		if finite(x) {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// Quantile returns the q-quantile of xs by linear interpolation between order statistics (R type 7, Hyndman and
// Fan 1996): with h = (n-1)q, the value x[floor(h)] + (h - floor(h)) (x[floor(h)+1] - x[floor(h)]) of the sorted
// values. False when xs has no finite value or q is not in 0..1.
func Quantile(xs []float64, q float64) (float64, bool) {
	return QuantileSorted(Sorted(xs), q)
}

// QuantileSorted is Quantile of values that are finite and ascending already (see Sorted); it allocates nothing.
func QuantileSorted(sorted []float64, q float64) (float64, bool) {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return 0, false
	}
	i, part := Rank(len(sorted), q)
	if part == 0 {
		return sorted[i], true
	}
	return Between(sorted[i], sorted[i+1], part), true
}

// Rank returns where the q-quantile of n >= 1 ordered values lies: at index i, and part (0 <= part < 1) of the way to
// index i+1, which exists whenever part is above 0.
func Rank(n int, q float64) (i int, part float64) {
	h := float64(n-1) * q
	low := math.Floor(h)
	return int(low), h - low
}

// Between returns the value at part (0..1) of the way from low to high, never outside of the two, whatever the
// rounding.
func Between(low, high, part float64) float64 {
	// Weighted ends cannot overflow where the difference of two large values of opposite sign would.
	return min(max(low*(1-part)+high*part, low), high)
}

// Median returns the 0.5-quantile; false when xs has no finite value.
func Median(xs []float64) (float64, bool) { return Quantile(xs, 0.5) }

// Mean returns the arithmetic mean; false when xs has no finite value or their sum overflows.
func Mean(xs []float64) (float64, bool) {
	var sum float64
	n := 0
	for _, x := range xs {
		if finite(x) {
			sum += x
			n++
		}
	}
	if n == 0 || !finite(sum) {
		return 0, false
	}
	return sum / float64(n), true
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
