package client

import (
	"sync"
	"testing"
)

func TestLagQuantiles(t *testing.T) {
	var l Lag
	if got := l.Take(); got != (LagSummary{}) {
		t.Errorf("empty: %+v", got)
	}
	for us := int64(1); us <= 100; us++ {
		l.Add(us)
	}
	// Nearest ranks 50 and 99 of 1..100; from 64 on buckets are 2 wide, so 99 is in [98, 100).
	if got, want := l.Take(), (LagSummary{N: 100, P50: 50, P99: 98, Max: 100}); got != want {
		t.Errorf("1..100: %+v, want %+v", got, want)
	}
	if got := l.Take(); got.N != 0 || got.Max != 0 {
		t.Errorf("after Take: %+v", got)
	}
	l.Add(-5)
	l.Add(1 << 40) // beyond the last bucket
	got := l.Take()
	if got.N != 2 || got.P50 != 0 || got.Max != 1<<40 || got.P99 < 1<<31 {
		t.Errorf("extremes: %+v", got)
	}
}

func TestLagBuckets(t *testing.T) {
	for us := int64(0); us < 1<<20; us++ {
		b := lagBucket(us)
		if low := lagFloor(b); low > us || us-low > us/lagSub {
			t.Fatalf("%d us is in bucket %d, which begins at %d", us, b, low)
		}
		if next := lagFloor(b + 1); next <= us {
			t.Fatalf("%d us is in bucket %d, but the next begins at %d", us, b, next)
		}
	}
}

func TestLagIsSharedAndFree(t *testing.T) {
	var l Lag
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for us := range int64(1000) {
				l.Add(us)
			}
		})
	}
	taken := int64(0)
	for range 10 {
		taken += l.Take().N
	}
	wg.Wait()
	if taken += l.Take().N; taken != 8000 {
		t.Errorf("%d lags taken, 8000 added", taken)
	}
	if n := testing.AllocsPerRun(100, func() { l.Add(77) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}
