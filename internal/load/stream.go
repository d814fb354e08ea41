package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// A stream sends one request after the other on its own connection, each at once when the one before has
// ended, until its context ends. Its goroutine alone touches results; others cut the request under way.
type stream struct {
	index   int
	conn    *client.Conn
	live    *client.Live
	results []client.Result // one a request, in order; read by others only after the goroutine has ended
	cell    Cell

	mu     sync.Mutex
	cancel context.CancelFunc // of the request under way
	id     string             // of the request under way

	failures atomic.Int32 // failed requests in a row
	failed   atomic.Int32 // failed requests in all
	sent     atomic.Int32
	mute     atomic.Int64 // reads so far, when the latest request ended without any answer; -1: it had one
}

// Waits after a failed request before the next takes its place: doubled each time, so that a server that is
// down is not hammered, and short enough to join again soon.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// run sends requests until ctx ends. next gives the request of an ordinal (from 0). fatal gets what no
// further request can mend. warm is true while the window has not opened: only then is Retry-After honoured.
func (s *stream) run(ctx context.Context, next func(ctx context.Context, ordinal int) (order, error), warm *atomic.Bool, fatal func(error)) {
	for ordinal := 0; ctx.Err() == nil; ordinal++ {
		o, err := next(ctx, ordinal)
		if err != nil {
			if ctx.Err() == nil {
				fatal(err)
			}
			return
		}
		o.req.ID = requestID(s.cell, s.index, ordinal)
		res := s.do(ctx, o)
		res.Record.Ordinal = int32(ordinal)
		s.results = append(s.results, res)
		s.note(res.Record)
		if !res.Record.Outcome.Failed() {
			s.failures.Store(0)
			continue
		}
		s.failed.Add(1)
		if err := refusal(res); err != nil {
			fatal(err)
			return
		}
		pause := min(lastBackoff, firstBackoff<<min(s.failures.Add(1)-1, 10))
		if warm.Load() {
			pause = max(pause, res.RetryAfter)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// note remembers whether a request ended without an answer.
func (s *stream) note(r event.Request) {
	if r.Outcome.Failed() && r.HTTPStatus == nil {
		s.mute.Store(s.live.Reads.Load())
	} else {
		s.mute.Store(-1)
	}
}

// away reports whether the stream's latest request failed without an answer and nothing has come since.
func (s *stream) away() bool { return s.mute.Load() == s.live.Reads.Load() }

// do sends one request, cuttable by cut.
func (s *stream) do(ctx context.Context, o order) client.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel, s.id = cancel, o.req.ID
	s.mu.Unlock()
	s.sent.Add(1)
	res := s.conn.Do(ctx, o.req, s.live)
	s.mu.Lock()
	s.cancel = nil
	s.mu.Unlock()
	res.Record.Cell, res.Record.Repeat, res.Record.Stream = int32(s.cell.Index), int32(s.cell.Repeat), int32(s.index)
	res.Record.AskedTokens, res.Record.PromptSHA = int32(o.req.MaxTokens), o.sha
	return res
}

// cut ends the request under way, if any; with abort the server is told first, while the stream is open.
func (s *stream) cut(ctx context.Context, abort func(context.Context, string) error) {
	s.mu.Lock()
	cancel, id := s.cancel, s.id
	s.mu.Unlock()
	if cancel == nil {
		return
	}
	if abort != nil {
		// A refused abort leaves the close of the connection, which is all that most engines need.
		_ = abort(ctx, id)
	}
	cancel()
}

// refusal turns an outcome that every further request would meet too into an error.
func refusal(res client.Result) error {
	switch res.Record.Outcome {
	case event.Unauthorized, event.NotFound:
		text := "no message"
		if res.Record.Error != nil {
			text = *res.Record.Error
		}
		return &RefusedError{Outcome: res.Record.Outcome, Message: text}
	}
	return nil
}

// requestID names a request to engines that can abort one.
func requestID(cell Cell, stream, ordinal int) string {
	return fmt.Sprintf("speedmatrix-%d-%d-%d-%d", cell.Index, cell.Repeat, stream, ordinal)
}
