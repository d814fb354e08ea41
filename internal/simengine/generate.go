package simengine

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// generate answers the endpoints that make text.
func (e *Engine) generate(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		req, fail := readRequest(r, e.opt.RejectFields)
		if fail != nil {
			e.dialect.fail(w, fail)
			return
		}
		seq, fail := e.newSequence(req, k, arrived)
		if fail != nil {
			e.dialect.fail(w, fail)
			return
		}
		fault := e.opt.Faults.pick(e.opt.Seed, seq.number, seq.stopAt)
		if fault.refuse(w, e.dialect) {
			seq.fault = fault.kind
			e.report(seq)
			return
		}
		g := &generation{engine: e, arrived: arrived, seq: seq, fault: fault, answer: e.newAnswer(req, k, seq)}
		g.encoder = e.dialect.encoder(k, &g.answer)
		g.words = writer{e.words, mix(e.opt.Seed ^ seq.textSeed)}
		if streams(req, k) {
			g.stream(w, r)
		} else {
			g.whole(w, r)
		}
	}
}

// report hands out the record of a request that never reached the scheduler.
func (e *Engine) report(s *sequence) {
	if e.opt.Truth != nil {
		e.opt.Truth(s.record())
	}
}

// streams reports whether the answer is a stream: Ollama's own API streams unless told not to.
func streams(req *request, k kind) bool {
	if req.Stream == nil {
		return k == kindOllamaChat
	}
	return *req.Stream
}

// newSequence checks the request against the engine's limits and makes its sequence.
func (e *Engine) newSequence(req *request, k kind, arrived time.Time) (*sequence, *apiError) {
	if !e.serves(req.Model) {
		return nil, &apiError{http.StatusNotFound, "NotFoundError", "model", fmt.Sprintf("The model `%s` does not exist.", req.Model)}
	}
	if fail := req.check(); fail != nil {
		return nil, fail
	}
	tokens, fail := req.tokens(k)
	if fail != nil {
		return nil, fail
	}
	limit := e.limitPerRequest()
	output := req.output(k)
	if output == 0 {
		output = max(limit-tokens.count, 1)
	}
	if tokens.count+output > limit {
		return nil, badRequest("max_tokens", "This model's maximum context length is %d tokens. However, you requested %d tokens "+
			"(%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			limit, tokens.count+output, tokens.count, output)
	}
	if !e.sched.cache.fits(tokens.count + output) {
		return nil, badRequest("", "The request needs %d tokens of KV cache, which is more than there is in all.", tokens.count+output)
	}
	number := int(e.arrivals.Add(1))
	seq := &sequence{
		id: e.requestID(req, k, number), number: number, blocks: tokens.blocks, promptTokens: tokens.count, textSeed: tokens.hash,
		maxTokens: output, stopAt: output, finish: "length", mail: newMailbox(),
	}
	e.planStop(req, seq)
	seq.truth = Served{
		Number: number, ID: seq.id, PromptTokens: tokens.count, MaxTokens: output, ArrivedNS: unixNS(arrived), Finish: "",
	}
	return seq, nil
}

// limitPerRequest is the most tokens, prompt and output, of one request.
func (e *Engine) limitPerRequest() int {
	if c, ok := e.sched.cache.(*slotCache); ok {
		return min(e.profile.Limits.MaxModelLen, c.perSlot)
	}
	return e.profile.Limits.MaxModelLen
}

// planStop lets some requests end by themselves, after a tenth to nine tenths of what they may make.
func (e *Engine) planStop(req *request, seq *sequence) {
	key := mix(e.opt.Seed+1) ^ uint64(seq.number)
	if e.opt.EarlyStop == 0 || req.IgnoreEOS && !e.opt.AlwaysEOS || share(key) >= e.opt.EarlyStop {
		return
	}
	at := max(int(float64(seq.maxTokens)*(0.1+0.8*share(key+1))), 1, req.MinTokens)
	if at < seq.maxTokens {
		seq.stopAt, seq.finish = at, "stop"
	}
}

func (e *Engine) requestID(req *request, k kind, number int) string {
	if req.RID != "" && e.dialect.keepsOn {
		return req.RID
	}
	prefix := "chatcmpl-"
	if k == kindCompletion {
		prefix = "cmpl-"
	}
	return fmt.Sprintf("%s%016x%016x", prefix, mix(e.opt.Seed^uint64(number)), mix(uint64(number)))
}

func (e *Engine) newAnswer(req *request, k kind, seq *sequence) answer {
	a := answer{
		id: seq.id, model: e.profile.Model.Served, created: time.Now().Unix(), started: time.Now(), noCached: e.opt.NoCached,
		usage:        req.StreamOptions.IncludeUsage || !streams(req, k),
		continuous:   req.StreamOptions.IncludeUsage && req.StreamOptions.ContinuousUsageStats && e.dialect.continuous,
		promptTokens: seq.promptTokens,
	}
	switch e.opt.Usage {
	case UsageFinal:
		a.continuous = false
	case UsageEach:
		a.usage, a.continuous = true, true
	case UsageNone:
		a.usage, a.continuous, a.noUsage = false, false, true
	}
	return a
}

// generation is one request being answered.
type generation struct {
	engine  *Engine
	arrived time.Time
	seq     *sequence
	fault   planned
	answer  answer
	encoder encoder
	words   writer
	buf     []byte
	text    strings.Builder // of an answer that does not stream
}

// enter waits for the front end and submits the sequence; false when the client left before that.
func (g *generation) enter(r *http.Request) bool {
	e := g.engine
	ctx := r.Context()
	if e.dialect.keepsOn {
		ctx = context.WithoutCancel(ctx)
	}
	inside := int(e.inside.Add(1))
	d := e.latency.FrontEnd(g.seq.promptTokens, min(inside, e.profile.Limits.MaxRunning))
	ready := g.arrived.Add(time.Duration(float64(d) / e.opt.Speed)) // reading and hashing the prompt is part of it
	if !sleep(ctx, time.Until(ready)) {
		e.inside.Add(-1)
		g.seq.truth.Finish = "abort"
		e.report(g.seq)
		return false
	}
	g.seq.parties.Store(2)
	e.sched.submit(g.seq)
	return true
}

// leave ends the writer's part. Unless the answer is complete the sequence is aborted, but for engines that go on.
func (g *generation) leave(complete bool) {
	if !complete && !g.engine.dialect.keepsOn {
		g.engine.sched.abort(g.seq)
	}
	g.engine.partDone(g.seq)
}

// stream answers with a stream of events.
func (g *generation) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", g.encoder.contentType())
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	if rc.Flush() != nil {
		g.seq.truth.Finish = "abort"
		g.engine.report(g.seq)
		return
	}
	if !g.enter(r) {
		return
	}
	complete := false
	defer func() { g.leave(complete) }()

	ping := newPinger(g.engine.dialect.pings)
	defer ping.stop()
	var got []delivery
	for {
		select {
		case <-g.seq.mail.wake:
		case <-ping.C():
			if _, err := w.Write([]byte(":\n\n")); err != nil || rc.Flush() != nil {
				return
			}
			continue
		case <-r.Context().Done():
			return
		}
		got = g.seq.mail.take(got)
		done, ok := g.encode(got)
		if len(g.buf) > 0 {
			if _, err := w.Write(g.buf); err != nil || rc.Flush() != nil {
				return
			}
		}
		if !ok {
			g.fault.strike(w, r, g.encoder)
			return
		}
		if done {
			complete = true
			return
		}
	}
}

// encode fills buf with the events of some deliveries. done: the answer is over; ok false: its fault strikes now.
func (g *generation) encode(got []delivery) (done, ok bool) {
	g.buf = g.buf[:0]
	for _, d := range got {
		if g.answer.made == 0 && d.tokens > 0 {
			g.answer.cachedTokens = g.seq.cached
			g.answer.first = time.Now()
			g.buf = g.encoder.open(g.buf, &g.answer)
		}
		if g.fault.kind != "" && g.answer.made+d.tokens > g.fault.after {
			g.seq.fault = g.fault.kind
			return false, false
		}
		if d.tokens > 0 {
			g.token(d)
		}
		if d.finish != "" {
			g.answer.last = time.Now()
			g.buf = g.encoder.close(g.buf, &g.answer, d.finish)
			return true, true
		}
	}
	return false, true
}

// token encodes one chunk, of one token or more, and notes when it goes out.
func (g *generation) token(d delivery) {
	text := g.words.next()
	for range d.tokens - 1 {
		text += g.words.next()
	}
	g.answer.made += d.tokens
	now := time.Now()
	g.answer.last = now
	for range d.tokens {
		g.seq.nominalNS = append(g.seq.nominalNS, d.nominal.UnixNano())
		g.seq.sentNS = append(g.seq.sentNS, now.UnixNano())
	}
	g.buf = g.encoder.token(g.buf, &g.answer, text, d.finish)
}

// whole answers with one JSON document when all is made.
func (g *generation) whole(w http.ResponseWriter, r *http.Request) {
	if !g.enter(r) {
		return
	}
	complete := false
	defer func() { g.leave(complete) }()
	for {
		select {
		case <-g.seq.mail.wake:
		case <-r.Context().Done():
			return
		}
		for _, d := range g.seq.mail.take(nil) {
			g.collect(d)
			if d.finish == "" {
				continue
			}
			complete = true
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(g.encoder.whole(nil, &g.answer, g.text.String(), d.finish)) // the client may be gone
			return
		}
	}
}

func (g *generation) collect(d delivery) {
	now := time.Now()
	if g.answer.made == 0 {
		g.answer.cachedTokens = g.seq.cached
		g.answer.first = now
	}
	g.answer.last = now
	g.answer.made += d.tokens
	for range d.tokens {
		g.text.WriteString(g.words.next())
	}
}

// pinger ticks while a stream is silent; the zero interval never ticks.
type pinger struct{ ticker *time.Ticker }

func newPinger(every time.Duration) pinger {
	if every <= 0 {
		return pinger{}
	}
	return pinger{time.NewTicker(every)}
}

func (p pinger) C() <-chan time.Time {
	if p.ticker == nil {
		return nil
	}
	return p.ticker.C
}

func (p pinger) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func sameKey(authorization, key string) bool {
	return subtle.ConstantTimeCompare([]byte(bearer(authorization)), []byte(key)) == 1
}
