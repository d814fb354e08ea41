package client_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

func kernelStamps() bool { return runtime.GOOS == "linux" }

// TestStampError prints how far the stamps of arrivals are from the sender's own stamps, taken just before each write on
// the same machine: what a write costs is in the error. It asserts only what no machine may break: order, and that
// nothing arrives before it is sent.
func TestStampError(t *testing.T) {
	const streams, tokens = 32, 40
	epoch := time.Now()
	var mu sync.Mutex
	var errors []time.Duration
	var lag client.Lag
	var wg sync.WaitGroup
	for range streams {
		var w []write
		for i := range tokens {
			w = append(w, write{time.Duration(i) * 7 * ms, plain(i)})
		}
		s := listen(t, script{writes: cat(w, at(tokens*7*ms, finish("length")+done))})
		cn := open(t, client.Config{BaseURL: s.url, Epoch: epoch})
		wg.Go(func() {
			res := cn.Do(t.Context(), client.Request{MaxTokens: tokens}, &client.Live{Lag: &lag})
			rec := res.Record
			if got := len(rec.ChunkUS); got != tokens || kernelStamps() && rec.Clock != event.Kernel {
				t.Errorf("%d tokens, clock %s", got, rec.Clock)
				return
			}
			checkStamps(t, res, epoch, s.sent())
			mu.Lock()
			defer mu.Unlock()
			for i, us := range rec.ChunkUS {
				arrived := epoch.Add(time.Duration(rec.StartUS+us) * time.Microsecond)
				errors = append(errors, arrived.Sub(s.sent()[i]))
			}
		})
	}
	wg.Wait()
	if len(errors) != streams*tokens {
		t.Fatalf("%d stamps", len(errors))
	}
	slices.Sort(errors)
	// Two roundings to whole microseconds, and the wall clock against the monotonic one.
	if first := errors[0]; first < -ms {
		t.Errorf("a token arrived %v before it was sent", -first)
	}
	l := lag.Take()
	t.Logf("arrival minus send, %d tokens on %d streams: p50 %v, p99 %v, max %v; process read minus arrival: p50 %d us, p99 %d us, max %d us",
		len(errors), streams, errors[len(errors)/2], errors[len(errors)*99/100], errors[len(errors)-1], l.P50, l.P99, l.Max)
	if kernelStamps() && l.N < streams { // reads may merge on a busy machine
		t.Errorf("only %d lags were noted", l.N)
	}
}
