package load_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/simengine"
	"speedmatrix/internal/simtest"
)

// outcomes counts how requests ended.
func outcomes(reqs []event.Request) map[event.Outcome]int {
	n := map[event.Outcome]int{}
	for i := range reqs {
		n[reqs[i].Outcome]++
	}
	return n
}

// row runs a row of the load table in virtual time.
func row(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// TestLoadTable has the rows of the table "Load" that are this package's; the others are in tests/survival.
func TestLoadTable(t *testing.T) {
	row(t, "more streams than the server runs at once", func(t *testing.T) {
		r := simtest.New(t, func(o *simengine.Options, _ *load.Config) { o.MaxRunning = 3 })
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 8})
		if err != nil || res.Pass.Stop != event.StopQueued || res.Ran != 3 || res.Reason != "the server ran 3 of 8 requests at once" {
			t.Errorf("stop %q, ran %v, reason %q, error %v, want queued with 3 of 8", res.Pass.Stop, res.Ran, res.Reason, err)
		}
		if n := len(res.Requests); n == 0 || res.Pass.WindowEndUS <= res.Pass.WindowStartUS {
			t.Errorf("%d requests, window %+v: what ran is measured", n, res.Pass)
		}
	})
	row(t, "a worker's request fails", workerFails)
	row(t, "default connection pools", func(t *testing.T) {
		r := simtest.New(t, func(o *simengine.Options, _ *load.Config) { o.NoMetrics = true })
		before := r.Net.Opened()
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 8})
		if err != nil {
			t.Fatal(err)
		}
		connected := map[int32]bool{}
		for _, q := range res.Requests {
			if q.ConnectUS != nil && q.Ordinal == 0 && q.Stage != event.Scout {
				connected[q.Stream] = true
			}
		}
		if len(connected) > 0 {
			t.Errorf("streams %v connected within their first request, want all before the clock", connected)
		}
		// One for the scouts, one a stream, and a new one for each stream that a restart cut.
		stopped := outcomes(res.Requests)[event.Stopped] - 8
		if n := r.Net.Opened() - before; n != 1+8+stopped {
			t.Errorf("%d connections opened for 8 streams with %d cuts, want %d: one a stream, none shared", n, stopped, 9+stopped)
		}
	})
	row(t, "the network drops for 5 s", func(t *testing.T) {
		for _, at := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 6 * time.Second} { // scouts, first requests, window
			networkDrops(t, at)
		}
	})
	row(t, "the network stands still for 5 s", func(t *testing.T) {
		r := simtest.New(t, nil)
		time.AfterFunc(6*time.Second, r.Net.Freeze)
		time.AfterFunc(11*time.Second, r.Net.Thaw)
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 4})
		if err != nil || res.Pass.Stop != event.StopDone || res.Failed {
			t.Errorf("stop %q, failed %v, error %v: shorter than the time-out it is a gap in the tokens, no failure", res.Pass.Stop, res.Failed, err)
		}
	})
	row(t, "server dies and stays dead", func(t *testing.T) {
		for _, at := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 6 * time.Second} {
			serverDies(t, at, func(r *simtest.Rig) { r.Net.Cut() })
			serverDies(t, at, func(r *simtest.Rig) { r.Net.Freeze() })
		}
		serverDies(t, 300*time.Millisecond, func(r *simtest.Rig) { r.Net.Reject() })
	})
}

func workerFails(t *testing.T) {
	r := simtest.New(t, func(o *simengine.Options, c *load.Config) {
		o.Faults = simengine.Faults{Rate: 0.05, Kinds: []simengine.Fault{simengine.FaultReset, simengine.Fault500, simengine.FaultError}}
		c.OutputTokens = 100
	})
	res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 8})
	if err != nil {
		t.Fatal(err)
	}
	n := outcomes(res.Requests)
	failed := n[event.Reset] + n[event.Truncated] + n[event.ServerError] + n[event.ErrorInStream] // a pipe has no reset
	if !res.Failed || failed < 2 || failed+n[event.OK]+n[event.Stopped] != len(res.Requests) {
		t.Errorf("outcomes %v of %d, failed %v: want every request accounted for, and more than 1 %% of failures said", n, len(res.Requests), res.Failed)
	}
	// Each failed request but those of the end has a successor in its stream.
	next := map[[2]int32]bool{}
	for _, q := range res.Requests {
		next[[2]int32{q.Stream, q.Ordinal}] = true
	}
	for _, q := range res.Requests {
		ended := q.StartUS + *q.EndUS
		const pause = 2_000_000 // before the next, at most
		if q.Outcome.Failed() && ended+pause < res.Pass.WindowEndUS && !next[[2]int32{q.Stream, q.Ordinal + 1}] {
			t.Errorf("stream %d request %d failed (%s) in the window and nothing took its place", q.Stream, q.Ordinal, q.Outcome)
		}
	}
}

// networkDrops breaks all connections at an instant of a pass and refuses new ones for 5 s.
func networkDrops(t *testing.T, at time.Duration) {
	t.Helper()
	r := simtest.New(t, func(_ *simengine.Options, c *load.Config) { c.Duration = 4 * time.Second })
	defer r.Stop()
	time.AfterFunc(at, r.Net.Cut)
	time.AfterFunc(at+5*time.Second, r.Net.Mend)
	res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 4})
	if err != nil {
		t.Errorf("drop at %s: error %v, want a run that goes on", at, err)
		return
	}
	failed := 0
	for outcome, n := range outcomes(res.Requests) {
		if outcome.Failed() {
			failed += n
		}
	}
	if failed == 0 {
		t.Errorf("drop at %s: outcomes %v, want failures with a type", at, outcomes(res.Requests))
	}
	if at > 5*time.Second && !res.Failed {
		t.Errorf("drop at %s: the cell is not marked", at)
	}
	if res, err = r.Loader.Decode(t.Context(), load.Cell{Index: 1, Context: 512, Concurrency: 4}); err != nil || res.Failed || res.Pass.Stop != event.StopDone {
		t.Errorf("drop at %s: the next cell stopped %q, failed %v, error %v, want one as if nothing had been", at, res.Pass.Stop, res.Failed, err)
	}
}

// serverDies makes a server vanish, or hang, at an instant of a pass, and measures how long the loader holds on.
func serverDies(t *testing.T, at time.Duration, die func(*simtest.Rig)) {
	t.Helper()
	const timeout = 12 * time.Second
	for _, metrics := range []bool{true, false} {
		for _, phase := range []event.Phase{event.Decode, event.Prefill} {
			r := simtest.New(t, func(o *simengine.Options, c *load.Config) {
				o.NoMetrics = !metrics
				c.Timeout, c.Duration = timeout, 4*time.Second
			})
			var died time.Time
			timer := time.AfterFunc(at, func() { died = time.Now(); die(r) })
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			pass, cell := r.Loader.Decode, load.Cell{Context: 512, Concurrency: 4}
			if phase == event.Prefill {
				pass, cell.Concurrency = r.Loader.Prefill, 1
			}
			var err error
			for err == nil && ctx.Err() == nil {
				_, err = pass(ctx, cell)
			}
			took := time.Since(died)
			if !errors.Is(err, load.ErrServerGone) || took > timeout+10*time.Second+500*time.Millisecond {
				t.Errorf("%s, dead from %s, metrics %v: error %v after %s, want ErrServerGone within the time-out plus 10 s", phase, at, metrics, err, took)
			}
			timer.Stop()
			cancel()
			r.Stop()
		}
	}
}

// TestOneFailureIsNoDeath: a stream alone whose request failed before its long answer began is not a dead server.
func TestOneFailureIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, func(o *simengine.Options, c *load.Config) {
			o.Speed, c.OutputTokens, c.Duration = 0.2, 4096, time.Minute // an answer lasts 100 s
		})
		time.AfterFunc(15*time.Second, r.Net.Cut)
		time.AfterFunc(16*time.Second, r.Net.Mend)
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 1})
		if err != nil || res.Pass.Stop != event.StopDone {
			t.Errorf("stop %q, error %v, outcomes %v: want a window to its end", res.Pass.Stop, err, outcomes(res.Requests))
		}
		if !slices.ContainsFunc(res.Requests, func(q event.Request) bool { return q.Outcome.Failed() }) {
			t.Error("the broken request left no record of a failure")
		}
	})
}
