package load

import (
	"context"
	"fmt"
	"time"
)

// BusyError says that the server had work of others when it should have been idle.
type BusyError struct{ Running, Waiting float64 }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the server is busy: %.0f requests running, %.0f waiting; wait until it is idle, or measure all the same with --allow-busy", e.Running, e.Waiting)
}

// How often idle gauges are read, and how long gauges without a known lag may take to come down to 0: servers
// finish a step, or notice a closed connection, before they let go of a request.
const (
	idlePoll  = 200 * time.Millisecond
	idleGrace = 10 * time.Second
)

// WaitIdle returns nil once the server's gauges say that it runs nothing, at once where it has none or the
// user allowed a busy one.
// It returns a *BusyError when they still say otherwise after the time that the gauges may lag.
func (l *Loader) WaitIdle(ctx context.Context) error {
	if l.cfg.Gauges == nil || l.cfg.AllowBusy {
		return nil
	}
	l.cfg.Watch.phase(WaitingForIdle)
	end := time.Now().Add(max(idleGrace, l.cfg.GaugeLag))
	for {
		g, err := l.cfg.Gauges(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && g.Running == 0 && g.Waiting == 0:
			return nil
		case time.Now().After(end) && err != nil:
			return &goneError{err}
		case time.Now().After(end):
			return &BusyError{Running: g.Running, Waiting: g.Waiting}
		}
		if !sleep(ctx, idlePoll) {
			return ctx.Err()
		}
	}
}
