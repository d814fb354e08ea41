// Package load runs the passes of a plan against one server: it decides when requests start, when a cell is
// ready, when its window opens and closes, and how it is stopped. The steps of a decode pass (METRICS, "How a
// cell runs"):
//
//  1. wait until the server is idle (idle.go);
//  2. send each prompt that is new to the server once, one at a time, for one token: the scouts (prompts.go);
//  3. open one fresh connection a stream, then start all streams (stream.go), staggered or together;
//  4. wait until the cell is ready, or known to be queued or unready (ready.go);
//  5. keep the window open for the asked time, longer while a stream has brought too few tokens (decode.go);
//  6. with the load still on, restart streams one at a time until there are enough restarts (restarts.go);
//  7. stop every stream, wait for all goroutines, resolve token counts (tokens.go).
//
// It never writes a file, prints or formats anything while streams run. Every goroutine it starts has ended
// when Prefill or Decode returns. Failures of the server are data in the records; an error means that the run
// cannot go on.
package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/prompt"
)

// Gauges is what the server says of itself at one instant.
type Gauges struct {
	Running float64  // requests it runs
	Waiting float64  // requests in its queue; 0 when NoQueue
	NoQueue bool     // the server does not tell its queue
	KVUsage *float64 // share of the KV cache in use, 0..1
}

// Config is what all passes of a run share. Client, Epoch and Prompt are required.
type Config struct {
	Client *client.Client
	Epoch  time.Time // the run's start, with its monotonic reading

	// Prompt writes the prompt of a key: tokens long, with extra further tokens before the closing instruction.
	// It is called from one goroutine at a time. Errors that wrap ErrAway are waited out.
	Prompt func(ctx context.Context, key prompt.Key, tokens, extra int) (prompt.Prompt, error)

	// Reported is told how many tokens the server counted in a prompt of this context. It answers true when it
	// has corrected the length, so that prompts of this context are written differently from now on. May be nil.
	Reported func(context, promptTokens int) bool

	Gauges   func(ctx context.Context) (Gauges, error)   // nil: the server has none
	GaugeLag time.Duration                               // how long idle gauges may go on telling of finished work
	Abort    func(ctx context.Context, id string) error  // nil: closing the connection ends a request
	Health   func(sample func(metric string, v float64)) // this program's own health, called once a second; nil: none

	Duration     time.Duration // the asked window
	OutputTokens int           // a full request asks for these
	Temperature  float64
	Prompts      event.PromptMode
	Start        event.StartMode
	Seed         uint64
	Timeout      time.Duration // no bytes for this long: the request is stalled; scaled up for long cold prefills

	PrefillTokS float64 // expected prefill rate, 0: not known; only lengthens time-outs

	AllowBusy bool // measure although the server has work of others

	Watch *Watch // what a display may read; nil: nobody looks
}

// Cell names the pass to run.
type Cell struct {
	Index       int // into the plan's cells
	Repeat      int
	Context     int // prompt tokens
	Concurrency int
}

// PassResult is what a pass brought. Status is "" when the cell ran, else event.Unready, with Reason.
type PassResult struct {
	Pass     event.Pass
	Status   event.Status
	Reason   string
	Ran      float64 // queued: the concurrency reached, by the server's gauge or by our own count
	Requests []event.Request
	Samples  []event.Sample
	Dropped  []string // optional request fields that the server refused
	Failed   bool     // more requests failed than a cell may have
}

// Loader runs passes one after the other; it remembers which prompts the server has seen. One goroutine.
type Loader struct {
	cfg      Config
	row      row
	stalled  bool                  // the latest scout or cold sample brought no bytes for the time-out
	mute     time.Time             // since when scouts and cold samples have had no answer; zero: the latest had one
	longest  map[int]time.Duration // longest cold prefill seen, by context
	prefills float64               // best prefill rate seen, tokens a second
}

// New returns a Loader; it sends nothing yet.
func New(cfg Config) (*Loader, error) {
	if cfg.Client == nil || cfg.Prompt == nil || cfg.Epoch.IsZero() {
		return nil, errors.New("load: Client, Prompt and Epoch are required")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 120 * time.Second
	}
	if cfg.Watch == nil {
		cfg.Watch = &Watch{}
	}
	return &Loader{cfg: cfg, longest: map[int]time.Duration{}, prefills: cfg.PrefillTokS}, nil
}

// RefusedError is returned when the server answers in a way that every further request would meet too:
// a refused key, an unknown model.
type RefusedError struct {
	Outcome event.Outcome
	Message string // the server's words
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refuses (%s): %s", e.Outcome, e.Message)
}

// now is microseconds since the run's epoch, monotonic.
func (l *Loader) now() int64 { return time.Since(l.cfg.Epoch).Microseconds() }

// PrefillTokS is the best prefill rate seen so far in tokens a second, 0 when none is known.
func (l *Loader) PrefillTokS() float64 { return l.prefills }

// timeout is how long a request of this many prompt tokens may bring no bytes: the asked time-out, plus
// three times the prefill that its length lets expect for each of the requests that may be ahead of it.
func (l *Loader) timeout(context, ahead int) time.Duration {
	expected := l.longest[context]
	if expected == 0 && l.prefills > 0 {
		expected = time.Duration(float64(context) / l.prefills * float64(time.Second))
	}
	return l.cfg.Timeout + 3*expected*time.Duration(1+ahead)
}

// reported passes on the server's count of a prompt's tokens; true when the prompts of this context change.
func (l *Loader) reported(context int, r event.Request) bool {
	return l.cfg.Reported != nil && r.PromptTokens != nil && l.cfg.Reported(context, int(*r.PromptTokens))
}

// sleep waits for d or until ctx ends; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
