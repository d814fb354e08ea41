package decimal_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"speedmatrix/internal/decimal"
)

func TestAppend(t *testing.T) {
	check := func(v float64, want string, short bool) {
		t.Helper()
		got, ok := decimal.Append([]byte("x"), v)
		if string(got) != "x"+want || ok != short {
			t.Errorf("Append(%v) = %q, %v, want %q, %v", v, got, ok, "x"+want, short)
		}
	}
	check(0, "0", true)
	check(30, "30", true)
	check(12.345, "12.345", true)
	check(-0.05, "-0.05", true)
	check(0.0001, "0.0001", true)
	check(1e14, "100000000000000", true)
	check(math.Copysign(0, -1), "", false)
	check(1.0/3, "", false)
	check(0.00001, "", false)
	check(1e15, "", false)
	check(math.NaN(), "", false)
	check(math.Inf(-1), "", false)
}

// What is written is what strconv writes.
func same(t *testing.T, v float64) {
	t.Helper()
	if got, ok := decimal.Append(nil, v); ok && string(got) != strconv.FormatFloat(v, 'f', -1, 64) {
		t.Errorf("Append(%v) = %q", v, got)
	}
}

func TestAppendAsStrconv(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3_000 {
		n := math.Round(math.Pow(10, 15*r.Float64()))
		for _, scale := range []float64{1, 10, 100, 1000, 10_000} {
			if _, ok := decimal.Append(nil, n/scale); !ok && n < 1e15 {
				t.Fatalf("%v is not taken for a short decimal", n/scale)
			}
			same(t, n/scale)
			same(t, -n/scale)
			same(t, math.Nextafter(n/scale, 0))
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, v := range []float64{0, 12.345, -7, 1e15 - 1, 99999999999.9999, 0.1 + 0.2} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) { same(t, v) })
}
