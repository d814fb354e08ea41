package client

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	epoch := time.Now()
	c := clock{epoch: epoch}
	// now has the monotonic reading epoch+mono; the wall clock cannot be moved in a time.Time, so a step is made
	// by moving the stamp the other way and is seen through the offset kept from the read before.
	check := func(mono, before time.Duration, wantLag time.Duration, wantOK bool) {
		t.Helper()
		now := epoch.Add(mono)
		at, lag, ok := c.arrival(now, now.UnixNano()-int64(before))
		if ok != wantOK || time.Duration(lag) != wantLag || time.Duration(at) != mono-wantLag {
			t.Errorf("at %v, stamped %v before: arrival %v, lag %v, ok %v; want lag %v, ok %v", mono, before, time.Duration(at), time.Duration(lag), ok, wantLag, wantOK)
		}
	}
	check(time.Second, 30*time.Microsecond, 30*time.Microsecond, true)
	check(2*time.Second, 0, 0, true)
	check(2*time.Second, -10*time.Microsecond, 0, true) // clocks are read one after the other
	check(3*time.Second, -2*time.Millisecond, 0, false) // a stamp from the future
	check(3*time.Second, time.Hour, 0, false)           // and one from another day

	at, lag, ok := c.arrival(epoch.Add(4*time.Second), 0)
	if at != int64(4*time.Second) || lag != 0 || ok {
		t.Errorf("without a stamp: %d, %d, %v", at, lag, ok)
	}

	c.offset += 2e6 // the wall clock stepped by 2 ms since the read before
	check(3*time.Second, 30*time.Microsecond, 0, false)
	check(3*time.Second, 30*time.Microsecond, 30*time.Microsecond, true) // the new offset holds
	c.offset += 900e3
	check(3*time.Second, 30*time.Microsecond, 30*time.Microsecond, true)
	c.offset += 50e6 // slewed over 100 s, by less than NTP may
	check(103*time.Second, 30*time.Microsecond, 30*time.Microsecond, true)
}
