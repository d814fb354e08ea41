package load

import (
	"context"
	"math"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/prompt"
)

// An order is a request ready to be sent, with its prompt's digest.
type order struct {
	req client.Request
	sha string
}

// A row is the context row under way: its prompts are new to the server until they were scouted.
type row struct {
	context, repeat int
	scouted         map[int]bool // by prompt owner: the stream, or 0 for all under event.Shared
}

// enter makes the cell's row the one under way, forgetting what another row had in the cache.
func (l *Loader) enter(cell Cell) {
	if l.row.scouted == nil || l.row.context != cell.Context || l.row.repeat != cell.Repeat {
		l.row = row{context: cell.Context, repeat: cell.Repeat, scouted: map[int]bool{}}
	}
}

// owner is the stream whose context a stream sends.
func (l *Loader) owner(stream int) int {
	if l.cfg.Prompts == event.Shared {
		return 0
	}
	return stream
}

// order writes the prompt of a stream's request. extra tokens stand before the closing instruction and are
// taken off the tokens asked for: a staggered first request does the same work as a full one.
func (l *Loader) order(ctx context.Context, cell Cell, stream, ordinal, extra int) (order, error) {
	key := prompt.DecodeKey(l.cfg.Prompts, cell.Context, cell.Index, cell.Repeat, stream, ordinal)
	p, err := l.prompt(ctx, key, cell.Context, extra)
	if err != nil {
		return order{}, err
	}
	return l.prepare(p, l.cfg.OutputTokens-extra, cell), nil
}

// prepare encodes a request before the clock.
func (l *Loader) prepare(p prompt.Prompt, maxTokens int, cell Cell) order {
	req := client.Request{
		Prompt:          p.Text,
		MaxTokens:       maxTokens,
		Temperature:     l.cfg.Temperature,
		IgnoreEOS:       true,
		ContinuousUsage: true,
		Timeout:         l.timeout(cell.Context, cell.Concurrency-1),
	}
	return order{req: l.cfg.Client.Prepare(req), sha: p.SHA}
}

// extras are the further prompt tokens of each stream's first request (METRICS, "How a cell runs", 4).
func (l *Loader) extras(cell Cell) []int {
	extras := make([]int, cell.Concurrency)
	if l.cfg.Start != event.Staggered {
		return extras
	}
	for i, u := range plan.StaggerOffsets(cell.Concurrency, l.cfg.Seed) {
		extras[i] = int(math.Round(u * float64(l.cfg.OutputTokens)))
	}
	return extras
}

// scout sends every prompt of the cell that is new to the server once for one token, one at a time, on a
// connection of its own. It learns how long a cold prefill of this context takes.
func (l *Loader) scout(ctx context.Context, cell Cell) ([]client.Result, error) {
	if l.cfg.Prompts == event.Fresh {
		return nil, nil
	}
	var fresh []int
	for i := range cell.Concurrency {
		if o := l.owner(i); !l.row.scouted[o] && o == i {
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	l.cfg.Watch.phase(Scouting)
	l.cfg.Watch.Steps.Store(int32(len(fresh)))
	conn, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream{cell: cell, conn: conn, live: &client.Live{}}
	defer func() { _ = s.conn.Close() }()
	for n := 0; n < len(fresh); n++ {
		i := fresh[n]
		o, err := l.order(ctx, cell, i, 0, 0)
		if err != nil {
			return nil, err
		}
		o = order{req: l.cfg.Client.Prepare(oneToken(o.req)), sha: o.sha}
		s.index = i
		res, err := l.single(ctx, s, o, cell.Context)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		res.Record.Stage = event.Scout
		s.results = append(s.results, res)
		if err := refusal(res); err != nil {
			return nil, err
		}
		if unanswered(res.Record) {
			n-- // the server is away: the prompt is not in its cache
			continue
		}
		if l.reported(cell.Context, res.Record) {
			n-- // the prompt just sent was of another length than those to come: send the corrected one
			continue
		}
		l.row.scouted[i] = !res.Record.Outcome.Failed()
		l.learn(cell.Context, res.Record)
		l.cfg.Watch.Step.Store(int32(n + 1))
	}
	return s.results, nil
}

// oneToken asks for a single output token.
func oneToken(r client.Request) client.Request {
	return client.Request{Prompt: r.Prompt, MaxTokens: 1, Temperature: r.Temperature, IgnoreEOS: r.IgnoreEOS, ContinuousUsage: r.ContinuousUsage, Timeout: r.Timeout}
}

// learn remembers how long a cold prefill of this context takes, from a cold sample or a scout.
func (l *Loader) learn(context int, r event.Request) {
	var us int64
	switch {
	case len(r.ChunkUS) > 0:
		us = r.ChunkUS[0]
	case r.EndUS != nil && !r.Outcome.Failed():
		us = *r.EndUS
	default:
		return
	}
	took := time.Duration(us) * time.Microsecond
	l.longest[context] = max(l.longest[context], took)
	if us > 0 && r.PromptTokens != nil && (r.CachedTokens == nil || *r.CachedTokens*2 < *r.PromptTokens) {
		l.prefills = max(l.prefills, float64(*r.PromptTokens)/took.Seconds())
	}
}
