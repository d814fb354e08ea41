package page

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The short way to four digits gives what the way over text gives, ties and odd sizes included.
func TestDigits4(t *testing.T) {
	check := func(v float64) {
		t.Helper()
		if got, want := digits4(v), digits4ByText(v); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("digits4(%v) = %v, want %v", v, got, want)
		}
	}
	for _, v := range []float64{0, 1, -1, 12.345, 123.45, 1234.5, 1235.5, 12345, 99995, 9999.4, 9999.5, 999.95, 0.00123456, 1e-9, 1e12, 1e300, 5e-324, math.Inf(1), math.NaN()} {
		check(v)
		check(-v)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		check(random.Float64() * math.Pow(10, float64(random.IntN(18)-8)))
		check(float64(random.IntN(2_000_000)) / 100) // many ties
	}
}
