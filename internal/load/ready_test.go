package load

import (
	"testing"
	"time"

	"speedmatrix/internal/plan"
)

// feed gives a readiness one look every lookEvery, made by at, until it decides or the time is up.
func feed(asked int, cold, until time.Duration, at func(t time.Duration) look) (d decision, when time.Duration, reason string, ran float64) {
	r := newReadiness(asked, cold)
	for t := lookEvery; t <= until; t += lookEvery {
		l := at(t)
		l.at = t
		if d, reason, ran = r.observe(l); d != wait {
			return d, t, reason, ran
		}
	}
	return wait, until, "", 0
}

func TestReadiness(t *testing.T) {
	gauge := func(running, waiting float64) *Gauges { return &Gauges{Running: running, Waiting: waiting} }
	check := func(name string, asked int, cold time.Duration, at func(time.Duration) look, want decision, when time.Duration, ran float64) {
		t.Helper()
		d, got, reason, r := feed(asked, cold, 5*time.Minute, at)
		if d != want || got != when || (want == queued && r != ran) {
			t.Errorf("%s: decision %d at %s, ran %v (%s), want %d at %s, ran %v", name, d, got, r, reason, want, when, ran)
		}
	}
	step := lookEvery
	check("all streams run from the first look on", 4, 0,
		func(time.Duration) look { return look{started: 4, active: 4} }, ready, plan.ReadyFor+step, 0)
	check("the last stream comes in after 5 s", 4, 0, func(t time.Duration) look {
		if t < 5*time.Second {
			return look{started: 3, active: 3}
		}
		return look{started: 4, active: 4}
	}, ready, 5*time.Second+plan.ReadyFor, 0)
	check("one of four restarting does not delay", 4, 0, func(t time.Duration) look {
		return look{started: 4, active: 4 - int(t/step)%2}
	}, ready, plan.ReadyFor+step, 0)
	check("a server without gauges that runs 4 of 8 in turns", 8, 0,
		func(t time.Duration) look { return look{started: min(8, 4+int(t/time.Second)), active: 4} }, queued, leastWait+step, 4)
	check("gauges say 9 of 16 while 7 wait", 16, 0,
		func(time.Duration) look { return look{started: 9, active: 9, gauge: gauge(9, 7)} }, queued, leastWait+step, 9)
	check("gauges say 9 of 16 although all had a token: some were preempted", 16, 0,
		func(time.Duration) look { return look{started: 16, active: 16, gauge: gauge(9, 7)} }, queued, leastWait+step, 9)
	check("fewer run although the server's queue is empty: the streams are slow to come back", 64, 0,
		func(time.Duration) look { return look{started: 64, active: 58, gauge: gauge(59, 0)} }, ready, leastWait+step, 0)
	check("a gauge that does not tell its queue proves nothing", 64, 0,
		func(time.Duration) look {
			return look{started: 64, active: 58, gauge: &Gauges{Running: 58, NoQueue: true}}
		}, queued, leastWait+step, 58)
	check("a long cold prefill gives the rest more time", 8, 20*time.Second,
		func(time.Duration) look { return look{started: 4, active: 4} }, queued, 40*time.Second+step, 4)
	check("streams that come in one by one are waited for", 8, 0, func(t time.Duration) look {
		n := min(8, int(t/(8*time.Second)))
		return look{started: n, active: n}
	}, ready, 64*time.Second+plan.ReadyFor, 0)
	check("nobody gets a token", 4, 0, func(time.Duration) look { return look{gauge: gauge(0, 4)} }, unready, leastWait, 0)
	check("a single stream", 1, 0, func(time.Duration) look { return look{started: 1, active: 1, gauge: gauge(1, 0)} }, ready, plan.ReadyFor+step, 0)
	check("a gauge that dips while streams restart", 128, 0, func(t time.Duration) look {
		return look{started: 128, active: 128, gauge: gauge(128-float64(int(t/step)%5), float64(int(t/step)%3))}
	}, ready, plan.ReadyFor+step, 0)
}
