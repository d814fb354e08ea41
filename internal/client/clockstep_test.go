package client

import (
	"testing"
	"time"
)

// TestLoadTable has the row of the load table that this package decides: "clock step (NTP) during a run".
func TestLoadTable(t *testing.T) {
	t.Run("clock step (NTP) during a run", func(t *testing.T) {
		for _, step := range []time.Duration{time.Hour, -time.Hour, 5 * time.Millisecond, -5 * time.Millisecond} {
			clockSteps(t, step)
		}
	})
}

// clockSteps sends 40 arrivals, one every 10 ms, each read 100 µs later, and moves the wall clock by step between the
// arrival and the read of number 20.
func clockSteps(t *testing.T, step time.Duration) {
	t.Helper()
	const every, late, at = 10 * time.Millisecond, 100 * time.Microsecond, 20
	epoch := time.Now()
	c := clock{epoch: epoch}
	last := int64(-1)
	for i := range 40 {
		arrived := time.Duration(i+1) * every
		now := epoch.Add(arrived + late)
		// A time.Time's two readings cannot be moved against each other: the step is made by moving what the clock
		// remembers of them, and the stamp that was taken before it.
		stamp := now.UnixNano() - int64(late)
		if i == at {
			c.offset -= int64(step)
			stamp -= int64(step)
		}
		got, lag, ok := c.arrival(now, stamp)
		off := time.Duration(got) - arrived
		switch {
		case got < last:
			t.Errorf("step %v: arrival %d is before the one that came earlier", step, i)
		case i == at && (ok || off != late):
			t.Errorf("step %v: the arrival read just after it is off by %v (kernel stamp used: %v), want the process's clock, late by %v", step, off, ok, late)
		case i != at && (!ok || off != 0 || time.Duration(lag) != late):
			t.Errorf("step %v: arrival %d is off by %v, lag %v, kernel stamp used: %v; want 0, %v, true", step, i, off, time.Duration(lag), ok, late)
		}
		last = got
	}
}
