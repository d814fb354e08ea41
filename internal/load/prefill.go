package load

import (
	"context"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/prompt"
)

const (
	voidCached     = 64 // a cold sample with more cached tokens than this, one large block, was not cold
	triesPerSample = 2  // how often a void or failed sample is taken again, on average
)

// Prefill takes the cold samples of a prefill row, one at a time, each with a prompt that the server has never
// seen. No sample is begun once the row has taken plan.PrefillBudget. Errors are as in Decode.
func (l *Loader) Prefill(ctx context.Context, cell Cell) (PassResult, error) {
	w := l.cfg.Watch
	w.begin(cell)
	defer w.phase(Idle)
	if err := l.WaitIdle(ctx); err != nil {
		return interruptedOr(ctx, cell, err)
	}
	w.phase(Measuring)
	w.Steps.Store(int32(plan.PrefillSamples))
	res := PassResult{Pass: event.Pass{Repeat: cell.Repeat, Stop: event.StopDone}}
	conn, err := l.open(ctx)
	if err != nil {
		return interruptedOr(ctx, cell, err)
	}
	s := &stream{cell: cell, conn: conn, live: &client.Live{Lag: new(client.Lag)}}
	defer func() { _ = s.conn.Close() }()
	w.lives.Store(&[]*client.Live{s.live})
	sampler := l.startSampler(ctx, cell, []*client.Live{s.live})
	res.Pass.WindowStartUS = l.now()
	err = l.coldSamples(ctx, s, cell)
	res.Pass.WindowEndUS = l.now()
	res.Samples = sampler.end()
	if ctx.Err() != nil {
		res.Pass.Stop = event.StopInterrupted
		err = nil
	}
	for i := range s.results {
		r := s.results[i].Record
		r.Stage = event.InWindow
		res.Requests = append(res.Requests, r)
	}
	res.Dropped = dropped(s.results)
	good, failed := count(res.Requests)
	res.Failed = tooManyFailed(failed, len(res.Requests))
	if good == 0 && err == nil && ctx.Err() == nil && failed == 0 {
		res.Status, res.Reason = event.Unready, "no cold sample brought a token"
	}
	return res, err
}

// coldSamples sends cold requests until enough counted, the budget is spent or too many did not count.
func (l *Loader) coldSamples(ctx context.Context, s *stream, cell Cell) error {
	began := time.Now()
	limit := plan.PrefillSamples * (1 + triesPerSample)
	for ordinal, good := 0, 0; good < plan.PrefillSamples && ordinal < limit && ctx.Err() == nil; ordinal++ {
		if ordinal > 0 && time.Since(began) >= plan.PrefillBudget {
			return nil
		}
		p, err := l.prompt(ctx, prompt.ColdKey(cell.Context, cell.Repeat, ordinal), cell.Context, 0)
		if err != nil {
			return err
		}
		o := l.prepare(p, plan.PrefillOutputTokens, cell)
		o.req.ID = requestID(cell, 0, ordinal)
		res, err := l.single(ctx, s, o, cell.Context)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if unanswered(res.Record) {
			limit++ // the server is away: how often it was asked meanwhile says nothing of the row
		}
		res.Record.Ordinal = int32(ordinal)
		res.Record.Void = res.Record.CachedTokens != nil && *res.Record.CachedTokens > voidCached
		s.results = append(s.results, res)
		if err := refusal(res); err != nil {
			return err
		}
		if !res.Record.Outcome.Failed() && !res.Record.Void && len(res.Record.ChunkUS) > 0 {
			good++
			l.reported(cell.Context, res.Record)
			l.learn(cell.Context, res.Record)
			l.cfg.Watch.Step.Store(int32(good))
		}
	}
	return nil
}

// count tells the samples that count from those that failed.
func count(reqs []event.Request) (good, failed int) {
	for i := range reqs {
		switch {
		case reqs[i].Outcome.Failed():
			failed++
		case !reqs[i].Void && len(reqs[i].ChunkUS) > 0:
			good++
		}
	}
	return good, failed
}
