package pack_test

import (
	"math"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"speedmatrix/internal/pack"
	"speedmatrix/internal/page/seedtest"
	"speedmatrix/internal/summary"
)

type inner struct {
	F  *float64
	S  []string
	By []byte
}

type plain struct {
	I  int64
	N  int32
	U  uint16
	F  float64
	Fs []float64
	B  bool
	S  string
	P  *int
	M  map[string]inner
	In []inner
}

func TestRoundTrip(t *testing.T) {
	same := func(v plain) bool {
		b, err := pack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got plain
		if err := pack.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		return reflect.DeepEqual(got, v)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// What other encodings lose.
func TestCorners(t *testing.T) {
	type corner struct {
		Zero, None *float64
		Nothing    []int
		Empty      []int
		Any        map[string]any
		At         time.Time
	}
	zero := 0.0
	v := corner{Zero: &zero, Empty: []int{}, At: time.Date(2026, 12, 1, 10, 0, 0, 5, time.UTC),
		Any: map[string]any{"s": "x", "i": int64(1 << 60), "f": math.Inf(1), "b": true, "n": nil}}
	b, err := pack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got corner
	if err := pack.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, v) {
		t.Errorf("got %+v, want %+v", got, v)
	}
	if _, err := pack.Marshal(struct{ C chan int }{}); err == nil {
		t.Error("a channel was packed")
	}
	if _, err := pack.Marshal(map[string]any{"x": []int{1}}); err == nil {
		t.Error("an interface that holds a slice was packed")
	}
}

func TestASummaryComesBack(t *testing.T) {
	v := seedtest.Synthetic()
	b, err := pack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(b))
	var got summary.Run
	if err := pack.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, v) {
		t.Error("the summary came back changed")
	}
	for _, n := range []int{0, 5, 16, 100, len(b) - 1} {
		if err := pack.Unmarshal(b[:n], &got); err == nil {
			t.Errorf("the first %d bytes were read", n)
		}
	}
	b[len(b)/2] ^= 1
	if err := pack.Unmarshal(b, &got); err == nil {
		t.Error("a changed byte was read")
	}
}

func TestDigestTellsShapes(t *testing.T) {
	type a struct{ X int }
	type b struct{ X int64 }
	if pack.Digest(a{}) == pack.Digest(b{}) || pack.Digest(a{}) != pack.Digest(a{X: 1}) {
		t.Error("the digest does not follow the type")
	}
}

func BenchmarkMarshal(b *testing.B) {
	v := seedtest.Synthetic()
	for b.Loop() {
		if _, err := pack.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	v, err := pack.Marshal(seedtest.Synthetic())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var got summary.Run
		if err := pack.Unmarshal(v, &got); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzUnmarshal: bytes of anybody are an error or a value, never a crash.
func FuzzUnmarshal(f *testing.F) {
	b, err := pack.Marshal(plain{S: "x", Fs: []float64{1}, M: map[string]inner{"k": {}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var v plain
		if pack.Unmarshal(b, &v) != nil {
			return
		}
		if _, err := pack.Marshal(v); err != nil {
			t.Fatal(err)
		}
	})
}
