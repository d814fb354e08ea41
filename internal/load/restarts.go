package load

import (
	"context"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/plan"
)

// The probe phase (METRICS, "How a cell runs", 7) pauses between two restarts, so that each joins streams that
// run steadily.
const (
	probePause = 150 * time.Millisecond
	probePoll  = 2 * time.Millisecond
)

// restarts ends and restarts streams one at a time, with the load on, until the pass has plan.ProbeRestarts
// restarts that no other start fell into. Those of the window are counted as far as their streams still show them.
func (p *pass) restarts(ctx context.Context, windowStart int64) error {
	p.l.cfg.Watch.phase(Probing)
	deadline := time.Now().Add(plan.ProbeBudget)
	have := p.windowRestarts(windowStart)
	for i := 0; have < plan.ProbeRestarts && time.Now().Before(deadline) && ctx.Err() == nil; i++ {
		s := p.streams[i%len(p.streams)]
		if s.live.FirstUS.Load() == 0 {
			if err := p.tick(ctx, probePause); err != nil {
				return err
			}
			continue
		}
		start, first, err := p.restart(ctx, s, deadline)
		if err != nil {
			return err
		}
		if first > 0 && p.alone(s.live, start, first) {
			have++
		}
		if err := p.tick(ctx, probePause); err != nil {
			return err
		}
	}
	return nil
}

// restart cuts a stream's request and waits for the first token of its next one. first is 0 when none came in time.
func (p *pass) restart(ctx context.Context, s *stream, deadline time.Time) (start, first int64, err error) {
	before := s.live.StartUS.Load()
	s.cut(ctx, p.l.cfg.Abort)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if err := p.tick(ctx, probePoll); err != nil {
			return 0, 0, err
		}
		if start = s.live.StartUS.Load(); start == before {
			continue
		}
		if first = s.live.FirstUS.Load(); first >= start && first > 0 {
			return start, first, nil
		}
	}
	return start, 0, nil
}

// alone reports whether no other stream's latest request started between start and first.
func (p *pass) alone(self *client.Live, start, first int64) bool {
	for _, live := range p.lives {
		if at := live.StartUS.Load(); live != self && at >= start && at <= first {
			return false
		}
	}
	return true
}

// windowRestarts counts the streams whose latest request is a restart of the window that had no other start
// within its time to first token. Earlier ones of the same stream are not seen, so the probe phase may bring more
// than it had to.
func (p *pass) windowRestarts(windowStart int64) int {
	n := 0
	for _, live := range p.lives {
		start, first := live.StartUS.Load(), live.FirstUS.Load()
		if start > windowStart && first >= start && p.alone(live, start, first) {
			n++
		}
	}
	return n
}
