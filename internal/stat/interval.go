package stat

import "math"

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
