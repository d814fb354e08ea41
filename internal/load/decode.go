package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

const (
	lookEvery       = 100 * time.Millisecond // how often the coordinator looks at the streams
	streamTokens    = metric.MinWindowTokens // a window brings at least these of every stream …
	longestWindow   = 4                      // … or ends after this many times the asked duration
	extensionPoll   = 20 * time.Millisecond
	openAtOnce      = 32 // connections opened at the same time
	hopelessRatio   = 2  // a pass ends early when more than one in this many requests failed …
	hopelessAtLeast = 10 // … and at least these
)

// A pass is a decode cell under way. One goroutine, the coordinator, looks at the streams and decides.
type pass struct {
	l       *Loader
	cell    Cell
	streams []*stream
	lives   []*client.Live
	sampler *sampler
	warm    atomic.Bool // the window has not opened yet

	began  time.Time // all streams were let go
	silent silence
	cancel context.CancelFunc
	wg     sync.WaitGroup
	fatal  chan error // the first error that no further request can mend
}

// Decode runs one pass of a decode cell. The result of an interrupted context has Stop Interrupted, with what
// was measured; its window is empty when it had not opened. Errors: ErrServerGone, *RefusedError, *BusyError,
// or that of a prompt that could not be written.
func (l *Loader) Decode(ctx context.Context, cell Cell) (PassResult, error) {
	l.cfg.Watch.begin(cell)
	defer l.cfg.Watch.phase(Idle)
	l.enter(cell)
	if err := l.WaitIdle(ctx); err != nil {
		return interruptedOr(ctx, cell, err)
	}
	scouts, err := l.scout(ctx, cell)
	if err != nil {
		return interruptedOr(ctx, cell, err)
	}
	p, err := l.newPass(ctx, cell)
	if err != nil {
		return interruptedOr(ctx, cell, err)
	}
	res, err := p.run(ctx)
	p.stop(ctx)
	res.Samples = p.sampler.end()
	p.collect(&res, scouts)
	return res, err
}

// interruptedOr turns an error that the interrupted context caused into an empty interrupted pass.
func interruptedOr(ctx context.Context, cell Cell, err error) (PassResult, error) {
	if ctx.Err() != nil {
		return PassResult{Pass: event.Pass{Repeat: cell.Repeat, Stop: event.StopInterrupted}}, nil
	}
	return PassResult{}, err
}

// newPass prepares all first and second requests, opens one connection a stream, then lets all streams go.
func (l *Loader) newPass(ctx context.Context, cell Cell) (*pass, error) {
	l.cfg.Watch.phase(WarmingUp)
	supply, err := l.newSupply(ctx, cell)
	if err != nil {
		return nil, err
	}
	conns, err := l.openAll(ctx, cell.Concurrency)
	if err != nil {
		supply.end()
		return nil, err
	}
	p := &pass{l: l, cell: cell, fatal: make(chan error, 1)}
	p.warm.Store(true)
	lag := new(client.Lag)
	for i, conn := range conns {
		live := &client.Live{Lag: lag}
		p.lives = append(p.lives, live)
		s := &stream{index: i, cell: cell, conn: conn, live: live}
		s.mute.Store(-1)
		p.streams = append(p.streams, s)
	}
	l.cfg.Watch.lives.Store(&p.lives)
	p.sampler = l.startSampler(ctx, cell, p.lives)
	streamsCtx, cancel := context.WithCancel(ctx)
	p.cancel = func() { cancel(); supply.end() }
	p.began = time.Now()
	p.silent = silence{heard: p.began, up: p.began, limit: l.timeout(cell.Context, cell.Concurrency-1) + goneAfter}
	for i, s := range p.streams {
		p.wg.Go(func() {
			s.run(streamsCtx, func(ctx context.Context, n int) (order, error) { return supply.next(ctx, i, n) }, &p.warm, p.fail)
		})
	}
	return p, nil
}

// openAll opens n connections, openAtOnce at a time. The first that cannot be opened ends it.
func (l *Loader) openAll(ctx context.Context, n int) ([]*client.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conns := make([]*client.Conn, n)
	slots := make(chan struct{}, openAtOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			var err error
			if conns[i], err = l.open(ctx); err != nil {
				cancel(err)
			}
			<-slots
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
		return nil, err
	}
	return conns, nil
}

// fail hands the first fatal error to the coordinator.
func (p *pass) fail(err error) {
	select {
	case p.fatal <- err:
	default:
	}
}

// run is the coordinator: ready, window, restarts.
func (p *pass) run(ctx context.Context) (PassResult, error) {
	res := PassResult{Pass: event.Pass{Repeat: p.cell.Repeat, Stop: event.StopDone}}
	d, reason, ran, err := p.warmUp(ctx)
	if err != nil || ctx.Err() != nil {
		res.Pass.Stop = event.StopInterrupted
		return res, err
	}
	if d == unready {
		res.Status, res.Reason = event.Unready, reason
		return res, nil
	}
	if d == queued {
		res.Pass.Stop, res.Reason, res.Ran = event.StopQueued, reason, ran
	}
	res.Pass.WindowStartUS, res.Pass.WindowEndUS, err = p.window(ctx, d == ready)
	if ctx.Err() != nil {
		res.Pass.Stop = event.StopInterrupted
	}
	if err != nil || ctx.Err() != nil {
		return res, err
	}
	if err := p.waitWhileAway(ctx); err != nil {
		return res, err
	}
	if p.hopeless() {
		res.Pass.Stop = event.StopFailed
		return res, nil
	}
	if d == ready {
		if err := p.restarts(ctx, res.Pass.WindowStartUS); err != nil {
			return res, err
		}
	}
	return res, p.waitWhileAway(ctx)
}

// warmUp looks at the streams until the cell is ready, or known to be queued or unready.
func (p *pass) warmUp(ctx context.Context) (d decision, reason string, ran float64, err error) {
	longest := p.l.longest[p.cell.Context]
	if p.l.cfg.Prompts == event.Fresh && p.l.prefills > 0 {
		longest = max(longest, time.Duration(float64(p.cell.Context)/p.l.prefills*float64(time.Second)))
	}
	r := newReadiness(p.cell.Concurrency, longest)
	for {
		if err := p.tick(ctx, lookEvery); err != nil || ctx.Err() != nil {
			return wait, "", 0, err
		}
		d, reason, ran = r.observe(p.look())
		if d == wait && p.hopeless() {
			return unready, p.failureReason(), 0, nil
		}
		if d != wait {
			return d, reason, ran, nil
		}
	}
}

// look counts what the streams have had.
func (p *pass) look() look {
	l := look{at: time.Since(p.began), gauge: p.sampler.latest.Load()}
	for _, live := range p.lives {
		if live.Tokens.Load() > 0 {
			l.started++
		}
		l.active += int(live.Active.Load())
	}
	return l
}

// window keeps the window open for the asked duration; while all streams run, longer until each has brought
// streamTokens, at most longestWindow times. It returns the window's edges.
func (p *pass) window(ctx context.Context, extend bool) (start, end int64, err error) {
	asked := p.l.cfg.Duration
	opened := time.Now()
	start = p.l.now()
	p.warm.Store(false)
	before := make([]int64, len(p.lives))
	for i, live := range p.lives {
		before[i] = live.Tokens.Load()
	}
	w := p.l.cfg.Watch
	w.WindowStart.Store(start)
	w.WindowEnd.Store(start + asked.Microseconds())
	w.phase(Measuring)
	for err == nil && ctx.Err() == nil {
		left := asked - time.Since(opened)
		if left > 0 {
			err = p.tick(ctx, min(left, lookEvery))
			if p.hopeless() {
				break
			}
			continue
		}
		if !extend || p.allBrought(before) || time.Since(opened) >= longestWindow*asked {
			break
		}
		err = p.tick(ctx, extensionPoll)
	}
	return start, p.l.now(), err
}

func (p *pass) allBrought(before []int64) bool {
	for i, live := range p.lives {
		if live.Tokens.Load()-before[i] < streamTokens {
			return false
		}
	}
	return true
}

// tick waits for d. It returns what a stream found fatal, or ErrServerGone when the server is.
func (p *pass) tick(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.fatal:
		return err
	case <-t.C:
	}
	return p.silent.observe(time.Now(), p.reads(), p.allAway())
}

// reads counts what has been heard of the server on all streams.
func (p *pass) reads() (n int64) {
	for _, live := range p.lives {
		n += live.Reads.Load()
	}
	return n
}

// allAway reports whether no stream gets any answer: the server is away, for a moment or for good.
func (p *pass) allAway() bool {
	for _, s := range p.streams {
		if !s.away() {
			return false
		}
	}
	return true
}

// waitWhileAway returns when a stream hears of the server again, or with ErrServerGone when none does. A pass must not
// end as if all were well while its server is away or hangs: whether it does, the next bytes tell or the time-out.
func (p *pass) waitWhileAway(ctx context.Context) error {
	for ctx.Err() == nil && (p.allAway() || time.Since(p.silent.heard) > hangsAfter) {
		if err := p.tick(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// hopeless reports whether so many requests have failed that going on would only repeat it. A server that does not
// answer at all is another matter: it may come back, and ErrServerGone tells when it does not.
func (p *pass) hopeless() bool {
	if p.allAway() {
		return false
	}
	var sent, failed int
	for _, s := range p.streams {
		sent += int(s.sent.Load())
		failed += int(s.failed.Load())
	}
	return failed >= max(hopelessAtLeast, hopelessRatio*p.cell.Concurrency) && failed*hopelessRatio > sent
}

func (p *pass) failureReason() string { return "no stream got a token: requests failed" }

// stop ends all streams, telling an engine that needs it, and waits for their goroutines.
func (p *pass) stop(ctx context.Context) {
	p.l.cfg.Watch.phase(Stopping)
	if abort := p.l.cfg.Abort; abort != nil {
		p.abortAll(context.WithoutCancel(ctx), abort)
	}
	p.cancel()
	p.wg.Wait()
	for _, s := range p.streams {
		_ = s.conn.Close()
	}
}

// abortAll asks the engine to end every request while its stream is open, all at once, for at most 5 s.
func (p *pass) abortAll(ctx context.Context, abort func(context.Context, string) error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range p.streams {
		wg.Go(func() {
			s.mu.Lock()
			id, open := s.id, s.cancel != nil
			s.mu.Unlock()
			if open {
				_ = abort(ctx, id) // closing the connection is what remains
			}
		})
	}
	wg.Wait()
}

// collect gathers the records of all streams and gives each its stage by the instant it started.
func (p *pass) collect(res *PassResult, scouts []client.Result) {
	all := scouts
	sent, failed := 0, 0
	for _, s := range p.streams {
		for i := range s.results {
			r := &s.results[i]
			r.Record.Stage = stageOf(r.Record.StartUS, res.Pass)
			sent++
			if r.Record.Outcome.Failed() {
				failed++
			}
		}
		all = append(all, s.results...)
	}
	settleCutStreams(all)
	res.Failed = tooManyFailed(failed, sent)
	res.Dropped = dropped(all)
	res.Requests = make([]event.Request, len(all))
	for i := range all {
		res.Requests[i] = all[i].Record
	}
}

// tooManyFailed reports whether a cell is failed: one failed request is always forgiven, more up to a share.
func tooManyFailed(failed, sent int) bool {
	return failed >= 2 && float64(failed) > metric.MaxFailedShare*float64(sent)
}

// stageOf is the stage in which a request that started at us began.
func stageOf(us int64, w event.Pass) event.Stage {
	switch {
	case w.WindowEndUS == 0 || us <= w.WindowStartUS:
		return event.Warmup
	case us <= w.WindowEndUS:
		return event.InWindow
	default:
		return event.Probe
	}
}

// dropped are the optional fields that any request had to leave out, once each, in order of appearance.
func dropped(results []client.Result) []string {
	var out []string
	seen := map[string]bool{}
	for i := range results {
		for _, f := range results[i].Dropped {
			if !seen[f] {
				seen[f] = true
				out = append(out, f)
			}
		}
	}
	return out
}
