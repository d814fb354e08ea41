package simengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// UsageMode says how much the engine counts in its streams.
type UsageMode string

const (
	UsageAsked UsageMode = ""           // what the request's stream_options ask for
	UsageFinal UsageMode = "final"      // continuous_usage_stats is ignored
	UsageEach  UsageMode = "continuous" // every chunk has a usage, asked or not
	UsageNone  UsageMode = "none"       // no usage at all
)

// Options changes an engine from its profile. The zero value changes nothing.
type Options struct {
	Dialect      Dialect // "": the profile's, else VLLM
	MaxRunning   int     // 0: the profile's, as with the next two
	KVTokens     int
	MaxModelLen  int
	Ranks        int // data-parallel ranks that the metrics tell apart; 0: 1
	NoMetrics    bool
	StaleGauges  time.Duration // for so long after the last request the gauges still show it, as SGLang's do; 0: not at all
	Usage        UsageMode
	NoCached     bool     // the usage does not tell cached tokens
	RejectFields []string // optional request fields that are answered with a 400 naming them

	NoPrefixCache bool
	EarlyStop     float64 // share of requests that end by themselves ("stop") before max_tokens, unless ignore_eos is set
	AlwaysEOS     bool    // ignore_eos is ignored
	TokensPerStep int     // tokens in each chunk after the first, as with speculative decoding; 0: 1
	Faults        Faults

	Speed  float64 // all durations are divided by it; 0: 1
	Spread bool    // a step's tokens are sent spread over the next step's time instead of all at once
	Key    string  // API key that requests must bring; "": none
	Seed   uint64  // of texts, early stops and faults

	Truth func(Served) // called once for each request that got past validation, when it is over; may be nil

	// PlainWait makes the engine wait by ordinary sleeps alone. Serve sets it for a listener of Pipe.
	PlainWait bool
}

// Engine is one simulated inference server.
type Engine struct {
	profile Profile
	opt     Options
	dialect dialect
	latency Latency
	sched   *scheduler
	words   []string
	created int64 // Unix seconds

	arrivals atomic.Int64 // requests so far
	inside   atomic.Int64 // requests in the front end, queue or batch
}

// New makes an engine. All that is wrong with profile and options comes in one error.
func New(p Profile, opt Options) (*Engine, error) {
	if opt.MaxRunning != 0 {
		p.Limits.MaxRunning = opt.MaxRunning
		p.Limits.StepTokens = max(p.Limits.StepTokens, 2*opt.MaxRunning)
	}
	if opt.KVTokens != 0 {
		p.Limits.KVTokens = opt.KVTokens
	}
	if opt.MaxModelLen != 0 {
		p.Limits.MaxModelLen = opt.MaxModelLen
	}
	if opt.Dialect == "" {
		opt.Dialect = Dialect(p.Dialect)
	}
	if opt.Dialect == "" {
		opt.Dialect = VLLM
	}
	d, err := findDialect(opt.Dialect)
	if err := errors.Join(err, p.Validate(), opt.validate()); err != nil {
		return nil, err
	}
	if opt.Speed == 0 {
		opt.Speed = 1
	}
	e := &Engine{
		profile: p, opt: opt, dialect: d, latency: NewLatency(p), words: newVocabulary(), created: time.Now().Unix(),
	}
	e.sched = &scheduler{
		latency: e.latency, maxRunning: p.Limits.MaxRunning, stepTokens: p.Limits.StepTokens, perStep: max(opt.TokensPerStep, 1),
		speed: opt.Speed, spread: opt.Spread, wait: waiter{opt.PlainWait}, stop: make(chan struct{}), ended: e.left,
	}
	if d.slots {
		e.sched.cache = newSlotCache(p.Limits.KVTokens, p.Limits.MaxRunning, !opt.NoPrefixCache)
	} else {
		e.sched.cache = newBlockCache(p.Limits.KVTokens, !opt.NoPrefixCache)
	}
	return e, nil
}

func (o Options) validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{{"max running", o.MaxRunning}, {"kv tokens", o.KVTokens}, {"max model len", o.MaxModelLen}, {"ranks", o.Ranks}, {"tokens per step", o.TokensPerStep}} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("%s %d: must not be negative", n.name, n.value))
		}
	}
	if o.Speed < 0 {
		errs = append(errs, fmt.Errorf("speed %v: must be positive", o.Speed))
	}
	if o.EarlyStop < 0 || o.EarlyStop > 1 {
		errs = append(errs, fmt.Errorf("early stop %v: must be between 0 and 1", o.EarlyStop))
	}
	switch o.Usage {
	case UsageAsked, UsageFinal, UsageEach, UsageNone:
	default:
		errs = append(errs, fmt.Errorf("usage %q is not known: use final, continuous or none", o.Usage))
	}
	return errors.Join(append(errs, o.Faults.validate())...)
}

// Profile returns the profile with the options' limits in place.
func (e *Engine) Profile() Profile { return e.profile }

// Dialect returns the API that the engine speaks.
func (e *Engine) Dialect() Dialect { return e.dialect.name }

// Label is what stands for the GPU's name wherever one is told: a simulated engine never bears a real one.
func (e *Engine) Label() string { return "Simulated engine (profile " + e.profile.Name + ")" }

// Serve answers requests on l until ctx ends; then it closes l and all connections, aborts what runs, waits for all that
// it started and returns nil. It is called once.
func (e *Engine) Serve(ctx context.Context, l net.Listener) error {
	if _, ok := l.(*pipeListener); ok {
		e.sched.wait.plain = true
	}
	handlers := newGate()
	handler := e.Handler()
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !handlers.enter() {
			panic(http.ErrAbortHandler) // the engine has ended: close the connection without an answer
		}
		defer handlers.leave()
		handler.ServeHTTP(w, r)
	})}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = srv.Close() // its error is the listener's, which is going away
	})
	err := srv.Serve(l)
	if stop() {
		_ = srv.Close() // the listener failed: end what it had accepted
	} else {
		<-stopped
	}
	handlers.shut()
	e.sched.shutdown()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// Handler returns the engine's HTTP API.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /speedmatrix/profile", e.serveProfile)
	mux.HandleFunc("GET /v1/models", e.serveModels)
	mux.HandleFunc("POST /v1/chat/completions", e.generate(kindChat))
	e.dialect.routes(e, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Speedmatrix-Simulated", e.profile.Name)
		if e.opt.Key != "" && e.dialect.guarded(r.URL.Path) && !sameKey(r.Header.Get("Authorization"), e.opt.Key) {
			e.dialect.fail(w, &apiError{http.StatusUnauthorized, "Unauthorized", "", "Unauthorized"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveProfile tells what this engine is, for a program that wants to mark what it measures as simulated.
func (e *Engine) serveProfile(w http.ResponseWriter, _ *http.Request) {
	facts := map[string]any{}
	for k, v := range e.profile.Facts {
		facts[k] = v
	}
	facts["hardware.type"] = "Simulated"
	facts["hardware.gpu"] = e.Label()
	writeJSON(w, http.StatusOK, map[string]any{
		"profile":     e.profile.Name,
		"description": e.profile.Description,
		"dialect":     e.dialect.name,
		"facts":       facts,
	})
}

// left is called by the scheduler when it is through with a sequence.
func (e *Engine) left(s *sequence) {
	e.inside.Add(-1)
	s.truth.Made = s.made
	if s.truth.Finish == "" {
		s.truth.Finish = s.finish
	}
	if s.aborted && s.made < s.stopAt {
		s.truth.Finish = "abort"
	}
	s.truth.FinishedNS = unixNS(time.Now())
	e.partDone(s)
}

// partDone counts down the two parties to a request, scheduler and writer; the last one reports it.
func (e *Engine) partDone(s *sequence) {
	if s.parties.Add(-1) == 0 && e.opt.Truth != nil {
		e.opt.Truth(s.record())
	}
}

// bearer strips the scheme of an Authorization header.
func bearer(header string) string {
	token, _ := strings.CutPrefix(header, "Bearer ")
	return token
}
