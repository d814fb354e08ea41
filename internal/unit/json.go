package unit

import (
	"math"
	"strconv"
)

// AppendRounded appends v as a JSON number of so many significant digits (at most 9), without zeros at its end; null when it is not finite. It is for
// numbers that a chart draws: a run has ten thousand of them, so that text is made by arithmetic, except of numbers of unusual size and of those so near
// to the middle of two that a product may round to either side.
func AppendRounded(b []byte, v float64, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	size, high := math.Abs(v), 1.0
	for range digits {
		high *= 10
	}
	up, down := 1.0, 1.0 // powers of ten that bring v to its digits before the point; one of them stays 1
	places, zeros := 0, 0
	for ; size*up < high/10 && places < 9; places++ {
		up *= 10
	}
	for ; size/down >= high && zeros < 9; zeros++ {
		down *= 10
	}
	n := size * up / down
	whole := math.Round(n)
	if !(n >= high/10 && n < high-1) || math.Abs(n-whole) > 0.499999 {
		return appendRoundedByText(b, v, digits)
	}
	if v < 0 {
		b = append(b, '-')
	}
	b = AppendDecimal(b, int64(whole), places)
	for range zeros {
		b = append(b, '0')
	}
	return b
}

// appendRoundedByText is AppendRounded by printing, reading and printing again.
func appendRoundedByText(b []byte, v float64, digits int) []byte {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	switch {
	case err != nil: // the rounding has left the range
		return append(b, "null"...)
	case r == 0:
		return append(b, '0')
	case math.Abs(r) < 1e-6 || math.Abs(r) >= 1e21:
		return strconv.AppendFloat(b, r, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, r, 'f', -1, 64)
}

// AppendDecimal appends n / 10^places (n at least 0, places at most 18) as a JSON number, exactly and without zeros at the end of its decimals.
func AppendDecimal(b []byte, n int64, places int) []byte {
	for ; places > 0 && n%10 == 0; places-- {
		n /= 10
	}
	if places == 0 {
		return strconv.AppendInt(b, n, 10)
	}
	var decimals [18]byte
	for i := places - 1; i >= 0; i-- { // by a constant, which costs less than division by a variable
		decimals[i] = byte('0' + n%10)
		n /= 10
	}
	b = append(strconv.AppendInt(b, n, 10), '.')
	return append(b, decimals[:places]...)
}
