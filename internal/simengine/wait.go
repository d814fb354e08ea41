package simengine

import (
	"context"
	"time"
)

// waiter waits until an instant. In virtual time (plain) that is a sleep, which is exact there; on a real clock a sleep
// ends up to half a millisecond late, so the last part is waited for in a finer way.
type waiter struct{ plain bool }

// sleepSlack is how long before the instant the ordinary sleep ends.
const sleepSlack = 1500 * time.Microsecond

// until returns at t, or as soon as stop is closed.
func (w waiter) until(t time.Time, stop <-chan struct{}) {
	left := time.Until(t)
	if !w.plain {
		left -= sleepSlack
	}
	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stop:
			return
		}
	}
	if !w.plain {
		waitFinely(t)
	}
}

// sleep waits for d, or until ctx ends; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
