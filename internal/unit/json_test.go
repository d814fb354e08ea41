package unit_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"speedmatrix/internal/unit"
)

func TestAppendRounded(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 4, "0"}, {math.Copysign(0, -1), 4, "0"}, {1, 4, "1"}, {12345, 4, "12340"}, {12355, 4, "12360"}, {123456, 4, "123500"}, {0.012345678, 4, "0.01235"}, {99995, 4, "100000"},
		{99994, 4, "99990"}, {-1.23456, 4, "-1.235"}, {1.5, 4, "1.5"}, {20, 4, "20"}, {1e-7, 4, "1e-07"}, {1.23456e22, 4, "1.235e+22"}, {1e12, 4, "1000000000000"},
		{1234567.8, 6, "1234570"}, {0.1 + 0.2, 6, "0.3"}, {math.Inf(1), 6, "null"}, {math.NaN(), 6, "null"}, {math.MaxFloat64, 4, "null"}, {5e-324, 6, "5e-324"},
	} {
		if got := string(unit.AppendRounded(nil, c.v, c.digits)); got != c.want {
			t.Errorf("%v to %d digits is %s, want %s", c.v, c.digits, got, c.want)
		}
	}
}

// What is printed by arithmetic is what strconv rounds to and prints.
func TestAppendRoundedIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	check := func(v float64, digits int) {
		t.Helper()
		want, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		if err != nil {
			return
		}
		text := string(unit.AppendRounded(nil, v, digits))
		shortest := strconv.FormatFloat(want, 'f', -1, 64)
		if size := math.Abs(want); size >= 1e-6 && size < 1e21 && text != shortest {
			t.Fatalf("%v to %d digits is %s, want %s", v, digits, text, shortest)
		}
		var got float64
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Fatalf("%v to %d digits is %s, which reads %v, %v; want %v", v, digits, text, got, err, want)
		}
	}
	for range 200_000 {
		digits := 3 + random.IntN(5)
		v := (random.Float64() - 0.2) * math.Pow(10, float64(random.IntN(24)-12))
		check(v, digits)
		half := math.Round(v*1e4)/1e4 + 0.5e-4 // near the middle of two
		check(half, digits)
		check(math.Round(v), digits)
	}
}

func TestAppendDecimal(t *testing.T) {
	for _, c := range []struct {
		n      int64
		places int
		want   string
	}{{0, 3, "0"}, {1, 3, "0.001"}, {1000, 3, "1"}, {12340, 3, "12.34"}, {1002, 3, "1.002"}, {7, 0, "7"}, {700, 0, "700"}, {math.MaxInt64, 18, "9.223372036854775807"}} {
		if got := string(unit.AppendDecimal(nil, c.n, c.places)); got != c.want {
			t.Errorf("%d with %d places is %s, want %s", c.n, c.places, got, c.want)
		}
	}
}

func BenchmarkAppendRounded(b *testing.B) {
	var buf []byte
	v := 18.2348
	for b.Loop() {
		v += 0.0371
		buf = unit.AppendRounded(buf[:0], v, 4)
	}
}

func BenchmarkAppendFloat(b *testing.B) { // for comparison
	var buf []byte
	v := 18.23
	for b.Loop() {
		v += 0.0371
		buf = strconv.AppendFloat(buf[:0], math.Round(v*100)/100, 'f', -1, 64)
	}
}
