package page

import (
	"math"
	"strconv"
	"strings"

	"speedmatrix/internal/unit"
)

// Value is a number as a page shows it: its text, and the unrounded number for machines ("" when there is none).
type Value struct {
	Text string
	Raw  string
}

// Missing reports whether there is no number.
func (v Value) Missing() bool { return v.Raw == "" }

// value formats a number that may not exist. One that is not finite does not exist either.
func value(v *float64, format func(*float64) string) Value {
	if v == nil || !finite(*v) {
		return Value{Text: unit.Dash}
	}
	return Value{Text: format(v), Raw: raw(*v)}
}

func wholeValue[T ~int | ~int32 | ~int64](v *T) Value {
	if v == nil {
		return Value{Text: unit.Dash}
	}
	return Value{Text: unit.Count(v), Raw: strconv.FormatInt(int64(*v), 10)}
}

// count formats a whole number given as a float, with commas.
func count(v float64) Value {
	n := int64(math.Round(v))
	return wholeValue(&n)
}

// raw prints a finite number so that it reads back as the same number.
func raw(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// number prints a setting or fact: no more digits than it has, commas from 10,000 on left out below it.
func number(v float64) string {
	if !finite(v) {
		return unit.Dash
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func number1(v float64) string { return unit.Decimal(&v) }

func percent(share float64) string { return unit.Percent(&share) }

// signed prints an error in microseconds with its sign.
func signed(v float64) string { return sign(v) + strings.TrimPrefix(unit.Decimal(&v), "-") }

// signed2 prints an error in percent with its sign and two decimals.
func signed2(v float64) string {
	if !finite(v) {
		return unit.Dash
	}
	return sign(v) + strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
}

func sign(v float64) string {
	switch {
	case v > 0:
		return "+"
	case v < 0:
		return "−"
	}
	return ""
}
