// Package decimal writes numbers that are short decimals, as rounded ones are, faster than the general way of strconv:
//
//  1. the smallest power of ten up to 10,000 is looked for that makes the number whole;
//  2. the whole number is written, with a point set into it.
//
// It never rounds: what it writes reads back as the same number, and is what strconv.AppendFloat(b, v, 'f', -1, 64) writes. Numbers of another kind it leaves
// to the caller.
package decimal

import (
	"math"
	"strconv"
)

const (
	maxPlaces = 4
	maxWhole  = 1e15 // two decimals of up to 15 digits are never the same float64
)

// Append adds v without exponent and without zeros behind. It answers false, and adds nothing, when v has more than four places behind
// the point, more than 15 digits, is minus zero or no number.
func Append(b []byte, v float64) ([]byte, bool) {
	if v == 0 && math.Signbit(v) {
		return b, false
	}
	scale := 1.0
	for places := range maxPlaces + 1 {
		n := math.Round(v * scale)
		if !(math.Abs(n) < maxWhole) {
			return b, false
		}
		if n/scale == v { // of exact numbers, so that it is rounded once: v is the number nearest to n/scale
			return point(b, int64(n), places), true
		}
		scale *= 10
	}
	return b, false
}

// point adds n / 10^places, where the last digit of n is not 0 unless places is.
func point(b []byte, n int64, places int) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	if places == 0 {
		return strconv.AppendInt(b, n, 10)
	}
	unit := int64(1)
	for range places {
		unit *= 10
	}
	b = append(strconv.AppendInt(b, n/unit, 10), '.')
	for rest := n % unit; places > 0; places-- {
		unit /= 10
		b = append(b, byte('0'+rest/unit%10))
	}
	return b
}
