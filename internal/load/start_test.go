package load_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/simengine"
	"speedmatrix/internal/simtest"
)

// Streams that start together stand at the same positions: their steps slow down together as answers grow, and they
// restart as one wave. Staggered ones do neither, so that a window sees a steady state (METRICS, "How a cell runs", 4).
func TestStaggeredIsSteadyWhereTogetherIsNot(t *testing.T) {
	staggered, alone := startedBy(t, event.Staggered)
	together, wave := startedBy(t, event.Together)
	if staggered > 0.02 {
		t.Errorf("staggered: the window's halves are %.1f %% apart, want at most 2", 100*staggered)
	}
	if together <= 2*staggered {
		t.Errorf("together: the window's halves are %.2f %% apart, staggered %.2f: want the drift to show", 100*together, 100*staggered)
	}
	if alone > 2 || wave < 8 {
		t.Errorf("most restarts within 20 ms: staggered %d, together %d, want them spread, and a wave of all 8", alone, wave)
	}
}

// startedBy measures a cell of 8 streams: how far apart the halves of its window are, as a share of their mean, and the
// most requests after a stream's first that began within 20 ms.
func startedBy(t *testing.T, start event.StartMode) (apart float64, atOnce int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, func(_ *simengine.Options, c *load.Config) {
			c.Start, c.OutputTokens, c.Duration = start, 2048, 14*time.Second
		})
		res, err := r.Loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 8})
		if err != nil {
			t.Fatal(err)
		}
		from, to := res.Pass.WindowStartUS, res.Pass.WindowEndUS
		a, b := simtest.TokensIn(res.Requests, from, (from+to)/2), simtest.TokensIn(res.Requests, (from+to)/2, to)
		apart = math.Abs(float64(a-b)) / (float64(a+b) / 2)
		atOnce = mostAtOnce(res.Requests, from, to)
	})
	return apart, atOnce
}

func mostAtOnce(reqs []event.Request, from, to int64) (most int) {
	for i := range reqs {
		n := 0
		for k := range reqs {
			at := reqs[k].StartUS
			if reqs[k].Ordinal > 0 && at > from && at <= to && at >= reqs[i].StartUS && at < reqs[i].StartUS+20_000 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
