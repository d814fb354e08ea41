package load_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/simengine"
	"speedmatrix/internal/simtest"
)

func TestDecodeAgreesWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, nil)
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 1024, Concurrency: 8})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // virtual: the engine notices at its next write that the last streams were closed
		w := res.Pass
		if w.Stop != event.StopDone || w.WindowEndUS-w.WindowStartUS != 10_000_000 || res.Failed {
			t.Fatalf("pass %+v, failed %v, want a window of exactly 10 s that is done", w, res.Failed)
		}
		got, want := simtest.TokensIn(res.Requests, w.WindowStartUS, w.WindowEndUS), r.SentIn(w.WindowStartUS, w.WindowEndUS)
		if got == 0 || got != want {
			t.Errorf("tokens in the window: %d, the engine sent %d", got, want)
		}
		half := (w.WindowStartUS + w.WindowEndUS) / 2
		a, b := simtest.TokensIn(res.Requests, w.WindowStartUS, half), simtest.TokensIn(res.Requests, half, w.WindowEndUS)
		if d := float64(a-b) / float64(a+b) * 2; d > 0.02 || d < -0.02 {
			t.Errorf("staggered: the window's halves have %d and %d tokens, more than 2 %% apart", a, b)
		}
		stages := map[event.Stage]int{}
		for _, q := range res.Requests {
			stages[q.Stage]++
			if q.Outcome.Failed() {
				t.Errorf("request failed: %s %v", q.Outcome, q.Error)
			}
		}
		if stages[event.Scout] != 8 || stages[event.Warmup] < 8 {
			t.Errorf("stages %v, want 8 scouts and at least 8 requests of the warm-up", stages)
		}
		if n := restarts(res.Requests); n < 6 {
			t.Errorf("%d restarts, want 6 or more", n)
		}
	})
}

// restarts counts requests after a stream's first that no other start falls into before their first token.
func restarts(reqs []event.Request) (n int) {
	for i := range reqs {
		r := &reqs[i]
		if r.Ordinal == 0 || r.Stage == event.Warmup || r.Stage == event.Scout || len(r.ChunkUS) == 0 {
			continue
		}
		alone := true
		for k := range reqs {
			if at := reqs[k].StartUS; k != i && at >= r.StartUS && at <= r.StartUS+r.ChunkUS[0] {
				alone = false
			}
		}
		if alone {
			n++
		}
	}
	return n
}

func TestQueuedServerIsSeen(t *testing.T) {
	for _, metrics := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := simtest.New(t, func(o *simengine.Options, _ *load.Config) { o.MaxRunning, o.NoMetrics = 9, !metrics })
			res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 16})
			if err != nil {
				t.Fatal(err)
			}
			if res.Pass.Stop != event.StopQueued || res.Ran != 9 {
				t.Errorf("metrics %v: stop %q, ran %v (%s), want queued with 9", metrics, res.Pass.Stop, res.Ran, res.Reason)
			}
		})
	}
}

func TestPrefillIsCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, nil)
		res, err := r.Loader.Prefill(t.Context(), load.Cell{Context: 1024, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Requests) != 3 {
			t.Fatalf("%d cold samples, want 3", len(res.Requests))
		}
		for _, q := range res.Requests {
			if q.Void || len(q.ChunkUS) == 0 || *q.CachedTokens != 0 {
				t.Errorf("sample void %v, chunks %d, cached %d: want a cold one with a token", q.Void, len(q.ChunkUS), *q.CachedTokens)
			}
			if ms := float64(q.ChunkUS[0]) / 1000; ms < 24 || ms > 24.5 { // the profile says 24 ms at 1,024 tokens; the template adds a few
				t.Errorf("cold TTFT %.2f ms, want the profile's 24", ms)
			}
		}
	})
}

func TestInterruptEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		res, err := r.Loader.Decode(ctx, load.Cell{Context: 512, Concurrency: 4})
		if err != nil || res.Pass.Stop != event.StopInterrupted {
			t.Fatalf("stop %q, error %v, want interrupted and no error", res.Pass.Stop, err)
		}
		if len(res.Requests) == 0 {
			t.Error("the interrupted pass lost its records")
		}
	})
}
