// Package unit prints numbers for people: it owns which precision a kind of number has, when it is scaled, how it
// is grouped and what stands for a number that does not exist.
//
//  1. A nil pointer, and any value that is not finite, prints as Dash: a reader must never take "unknown" for 0.
//  2. A value is rounded to the digits of its kind first, and only the printed digits decide about scaling, so that
//     rounding and scaling cannot disagree: 9,999.95 tok/s is "10.0K", never "10,000.0".
//  3. Thousands are grouped by commas; the decimal sign is a point. There is no locale.
//
// It computes nothing that is published, and imports no other package of this module.
package unit

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Dash stands for a number that does not exist.
const Dash = "—"

// Rate prints a rate in tok/s, without its unit: below 10,000 with one decimal ("1,164.3", "6,714.0"), above with three
// significant digits and K, M or G ("33.5K", "128K", "1.20M").
func Rate(v *float64) string { return print(v, rate) }

// RateBar is Rate as the prefill bars have it: a trailing ".0" is dropped below 10,000 ("6,714").
func RateBar(v *float64) string {
	return print(v, func(x float64) string { return strings.TrimSuffix(rate(x), ".0") })
}

// Millis prints milliseconds without decimals, as times to first token: "18,446 ms".
func Millis(v *float64) string {
	return print(v, func(x float64) string { return fixed(x, 0) + " ms" })
}

// MillisFine prints milliseconds with one decimal, as times between tokens: "6.4 ms".
func MillisFine(v *float64) string {
	return print(v, func(x float64) string { return fixed(x, 1) + " ms" })
}

// Seconds prints seconds with one decimal: "30.0 s".
func Seconds(v *float64) string {
	return print(v, func(x float64) string { return fixed(x, 1) + " s" })
}

// Decimal prints a plain number with one decimal, as average active requests: "16.0".
func Decimal(v *float64) string {
	return print(v, func(x float64) string { return fixed(x, 1) })
}

// Percent prints a share (1 is everything) in percent with one decimal: "97.3 %".
func Percent(share *float64) string {
	if share == nil {
		return Dash
	}
	percent := *share * 100
	return print(&percent, func(x float64) string { return fixed(x, 1) + " %" })
}

// Ratio prints a quotient of two like quantities with two decimals: "1.08x".
func Ratio(v *float64) string {
	return print(v, func(x float64) string { return fixed(x, 2) + "x" })
}

// Count prints a whole number with commas: "107,968".
func Count[T ~int | ~int32 | ~int64](v *T) string {
	if v == nil {
		return Dash
	}
	return group(strconv.FormatInt(int64(*v), 10))
}

// Size prints a number of tokens as people type it: "8K" for 8 x 1,024, else in full, "8,207".
func Size(tokens int) string {
	const k = 1024
	if tokens > 0 && tokens%k == 0 {
		return group(strconv.Itoa(tokens/k)) + "K"
	}
	return group(strconv.Itoa(tokens))
}

// Bytes prints a size in bytes, in steps of 1,000 and with three significant digits: "512 B", "1.96 MB".
func Bytes(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	digits, prefix := scaled(math.Abs(float64(n)), []string{"kB", "MB", "GB", "TB", "PB", "EB"})
	if n < 0 {
		digits = "-" + digits
	}
	return digits + " " + prefix
}

// About prints how long something is expected to take, for people who decide whether to wait: "about 40 s", "about
// 31 min", "about 2 h 10 min", "about 3 days". Negative durations print as none.
func About(d time.Duration) string {
	minutes := int64(d.Round(time.Minute) / time.Minute)
	switch {
	case d < time.Second:
		return "under a second"
	case d < 90*time.Second:
		return "about " + strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) + " s"
	case minutes < 90:
		return "about " + strconv.FormatInt(minutes, 10) + " min"
	case minutes < 48*60:
		return "about " + hours(minutes)
	default:
		return "about " + group(strconv.FormatInt((minutes+12*60)/(24*60), 10)) + " days"
	}
}

// hours prints minutes as hours and minutes, the latter left out when 0.
func hours(minutes int64) string {
	text := strconv.FormatInt(minutes/60, 10) + " h"
	if rest := minutes % 60; rest != 0 {
		text += " " + strconv.FormatInt(rest, 10) + " min"
	}
	return text
}

// print is the one place where a number may turn out not to exist.
func print(v *float64, format func(float64) string) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return Dash
	}
	text := format(*v)
	if strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "123456789") {
		return text[1:] // -0.04 is "0.0"
	}
	return text
}

// rate prints a finite rate, without unit.
func rate(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	if text := fixed(x, 1); len(text) <= len("9,999.9") {
		return sign + text
	}
	digits, prefix := scaled(x, []string{"K", "M", "G", "T"})
	return sign + digits + prefix
}

// scaled prints x >= 0 with three significant digits in the smallest of the prefixes (each 1,000 times the one before) that
// holds it in under four digits, or in the last one.
func scaled(x float64, prefixes []string) (digits, prefix string) {
	for i, prefix := range prefixes {
		x /= 1000
		if text := significant(x); len(text) <= len("9.99") || i == len(prefixes)-1 {
			return text, prefix
		}
	}
	return "", "" // unreachable: prefixes is never empty
}

// significant prints x >= 0 with three significant digits, grouped; those below 1 with two decimals.
func significant(x float64) string {
	for decimals, room := 2, len("9.99"); decimals > 0; decimals-- {
		if text := strconv.FormatFloat(x, 'f', decimals, 64); len(text) <= room {
			return text
		}
	}
	return fixed(x, 0)
}

// fixed prints x with so many decimals and commas between thousands.
func fixed(x float64, decimals int) string {
	return group(strconv.FormatFloat(x, 'f', decimals, 64))
}

// group puts commas between the thousands of a decimal number.
func group(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, rest := text, ""
	if i := strings.IndexByte(text, '.'); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	var b strings.Builder
	b.Grow(len(text) + len(whole)/3 + 1)
	b.WriteString(sign)
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(whole[i])
	}
	b.WriteString(rest)
	return b.String()
}
