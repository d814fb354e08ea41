package ggufgen

import (
	"math"
	"testing"
)

func TestHalf(t *testing.T) {
	check := func(v float32, want uint16) {
		t.Helper()
		if got := half(v); got != want {
			t.Errorf("half(%g) = %#04x, want %#04x", v, got, want)
		}
	}
	check(0, 0)
	check(1, 0x3c00)
	check(-2, 0xc000)
	check(65504, 0x7bff)                                  // largest finite
	check(65520, 0x7c00)                                  // rounds up to infinity
	check(1e6, 0x7c00)                                    // beyond the exponent
	check(float32(math.Inf(-1)), 0xfc00)                  //
	check(float32(math.Ldexp(1, -14)), 0x0400)            // smallest normal
	check(float32(math.Ldexp(1, -24)), 0x0001)            // smallest subnormal
	check(float32(math.Ldexp(1, -25)), 0x0000)            // tie, to even
	check(float32(math.Ldexp(3, -25)), 0x0002)            // tie between 1 and 2, to even
	check(float32(math.Ldexp(1, -26)), 0x0000)            // below half of the smallest
	check(1+float32(math.Ldexp(1, -11)), 0x3c00)          // tie, to even
	check(1+float32(math.Ldexp(3, -11)), 0x3c02)          // tie, to even, upwards
	check(float32(math.Nextafter32(2, 0)), 0x4000)        // mantissa carry
	check(-float32(math.Ldexp(1023.6, -24)), 0x8000+1024) // subnormal carries into the first normal
}
