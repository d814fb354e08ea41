package unit_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/unit"
)

type printer func(*float64) string

func checker(t *testing.T, name string, p printer) func(v float64, want string) {
	return func(v float64, want string) {
		t.Helper()
		if got := p(&v); got != want {
			t.Errorf("%s(%v) = %q, want %q", name, v, got, want)
		}
	}
}

// below is the largest float under x.
func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// TestSeed: every format of the seed page, to the letter.
func TestSeed(t *testing.T) {
	rate, bar := checker(t, "Rate", unit.Rate), checker(t, "RateBar", unit.RateBar)
	rate(33498, "33.5K")
	rate(13100, "13.1K")
	rate(6714, "6,714.0")
	rate(1164.3, "1,164.3")
	rate(153.3, "153.3")
	rate(42.4, "42.4")
	bar(33498, "33.5K")
	bar(6714, "6,714")
	bar(6481, "6,481")
	bar(153.3, "153.3")
	checker(t, "Millis", unit.Millis)(18446, "18,446 ms")
	checker(t, "Millis", unit.Millis)(245, "245 ms")
	checker(t, "MillisFine", unit.MillisFine)(6.4, "6.4 ms")
	checker(t, "Decimal", unit.Decimal)(128, "128.0")
	checker(t, "Seconds", unit.Seconds)(30, "30.0 s")
	tokens, requests := int64(235520), 16
	if got := unit.Count(&tokens); got != "235,520" {
		t.Errorf("Count = %q", got)
	}
	if got := unit.Count(&requests); got != "16" {
		t.Errorf("Count = %q", got)
	}
}

// TestBoundaries: at each boundary, and one float below it.
func TestBoundaries(t *testing.T) {
	rate := checker(t, "Rate", unit.Rate)
	// 9,999.95 as a float is a little above that number: it rounds up, so it must scale; the float below must not.
	rate(9999.95, "10.0K")
	rate(below(9999.95), "9,999.9")
	rate(10000, "10.0K")
	rate(below(10000), "10.0K")
	// 99.95 as a float (99,950 / 1,000 is exact to it) is 99.9500000000000028.
	rate(99950, "100K")
	rate(below(99950), "99.9K")
	rate(99949, "99.9K")
	rate(131072, "131K")
	rate(128000, "128K")
	rate(999499, "999K")
	rate(999500, "1.00M") // 999.5 is exact and ties to even: 1000
	rate(below(999500), "999K")
	rate(9994999, "9.99M")
	rate(9995001, "10.0M")
	rate(999.95, "1,000.0") // 999.95 as a float is 999.950000000000045
	rate(below(999.95), "999.9")
	rate(0, "0.0")
	rate(0.04, "0.0")
	rate(-0.04, "0.0")
	rate(-6714, "-6,714.0")
	rate(-33498, "-33.5K")
	rate(1e15, "1,000T")
	bar := checker(t, "RateBar", unit.RateBar)
	bar(6713.96, "6,714")
	bar(6713.94, "6,713.9")
	bar(10000, "10.0K")
	bar(0, "0")
	ms := checker(t, "Millis", unit.Millis)
	ms(999.5, "1,000 ms")
	ms(below(999.5), "999 ms")
	ms(0.4, "0 ms")
	ms(-0.4, "0 ms")
	fine := checker(t, "MillisFine", unit.MillisFine)
	fine(6.35, "6.3 ms") // the float 6.35 is 6.3499999999999996
	fine(999.96, "1,000.0 ms")
	checker(t, "Percent", unit.Percent)(0.9734, "97.3 %")
	checker(t, "Percent", unit.Percent)(1, "100.0 %")
	checker(t, "Ratio", unit.Ratio)(1.0849, "1.08x")
}

func TestNothing(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	printers := map[string]printer{
		"Rate": unit.Rate, "RateBar": unit.RateBar, "Millis": unit.Millis, "MillisFine": unit.MillisFine,
		"Seconds": unit.Seconds, "Decimal": unit.Decimal, "Percent": unit.Percent, "Ratio": unit.Ratio,
	}
	for name, p := range printers {
		for _, v := range []*float64{nil, &nan, &inf} {
			if got := p(v); got != "—" {
				t.Errorf("%s of nothing = %q, want a dash", name, got)
			}
		}
	}
	if got := unit.Count[int](nil); got != "—" {
		t.Errorf("Count of nothing = %q, want a dash", got)
	}
}

func TestSizeAndBytes(t *testing.T) {
	for v, want := range map[int]string{8192: "8K", 125952: "123K", 131072: "128K", 1 << 30: "1,048,576K", 8207: "8,207", 512: "512", 0: "0"} {
		if got := unit.Size(v); got != want {
			t.Errorf("Size(%d) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 1_960_000: "1.96 MB", 999_499: "999 kB", 999_500: "1.00 MB", -1500: "-1.50 kB",
		math.MaxInt64: "9.22 EB",
	} {
		if got := unit.Bytes(v); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", v, got, want)
		}
	}
}

func TestAbout(t *testing.T) {
	for v, want := range map[time.Duration]string{
		0:                              "under a second",
		-time.Hour:                     "under a second",
		time.Second - 1:                "under a second",
		time.Second:                    "about 1 s",
		40 * time.Second:               "about 40 s",
		90*time.Second - 1:             "about 90 s",
		90 * time.Second:               "about 2 min",
		31*time.Minute + 9*time.Second: "about 31 min",
		89*time.Minute + 29*time.Second + 999999999: "about 89 min",
		89*time.Minute + 30*time.Second:             "about 1 h 30 min",
		2*time.Hour + 10*time.Minute:                "about 2 h 10 min",
		3 * time.Hour:                               "about 3 h",
		48*time.Hour - 30*time.Second - 1:           "about 47 h 59 min",
		48 * time.Hour:                              "about 2 days",
		math.MaxInt64:                               "about 106,752 days",
	} {
		if got := unit.About(v); got != want {
			t.Errorf("About(%v) = %q, want %q", v, got, want)
		}
	}
}

// TestRateReadsBack: what is printed is within half a unit of its last digit of the value, at any size.
func TestRateReadsBack(t *testing.T) {
	for x := 0.013; x < 9e11; x *= 1.0137 {
		got := unit.Rate(&x)
		scale := 1.0
		for prefix, factor := range map[string]float64{"K": 1e3, "M": 1e6, "G": 1e9} {
			if strings.HasSuffix(got, prefix) {
				scale = factor
			}
		}
		digits := strings.ReplaceAll(strings.TrimRight(got, "KMG"), ",", "")
		back, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			t.Fatal(err)
		}
		half := 0.05
		if scale > 1 {
			half = 0.005 * x // three significant digits
			if n := len(strings.ReplaceAll(digits, ".", "")); n != 3 {
				t.Errorf("Rate(%v) = %q has %d digits, want 3", x, got, n)
			}
		}
		if math.Abs(back*scale-x) > half*1.0001 {
			t.Errorf("Rate(%v) = %q", x, got)
		}
	}
}

func FuzzRate(f *testing.F) {
	for _, v := range []float64{0, 9999.95, 99950, 1e300, -1, math.MaxFloat64, math.NaN()} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		for _, p := range []printer{unit.Rate, unit.RateBar, unit.Millis, unit.Percent} {
			if got := p(&v); got == "" || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
				t.Errorf("%v prints as %q", v, got)
			}
		}
	})
}
