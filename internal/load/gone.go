package load

import (
	"context"
	"errors"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/prompt"
)

// ErrServerGone is returned when the server has not answered for goneAfter, or when a request that stalled was
// followed by goneAfter without a byte.
var ErrServerGone = errors.New("the server is gone")

// ErrAway is what Config.Prompt wraps when it failed because the server could not be asked; it is then called again.
var ErrAway = errors.New("the server does not answer")

const (
	goneAfter  = 10 * time.Second       // without any answer: the server is not coming back
	askAgain   = 250 * time.Millisecond // between two tries to reach a server that is away
	hangsAfter = 2 * time.Second        // without a byte on any stream: the server may hang
)

// goneError is ErrServerGone with the reason of the last try.
type goneError struct{ err error }

func (e *goneError) Error() string        { return ErrServerGone.Error() + ": " + e.err.Error() }
func (e *goneError) Unwrap() error        { return e.err }
func (e *goneError) Is(target error) bool { return target == ErrServerGone }

// silence decides when a server that many streams talk to is gone. It holds no clock.
type silence struct {
	limit time.Duration // without a byte on any stream: longer than any request may go without one
	reads int64         // heard so far, on all streams
	heard time.Time     // when that last grew
	up    time.Time     // a stream was last seen that is not without an answer
}

// observe takes what was heard so far and whether every stream's latest request had no answer.
func (s *silence) observe(now time.Time, reads int64, away bool) error {
	if reads != s.reads {
		s.reads, s.heard = reads, now
	}
	if !away {
		s.up = now
	}
	switch {
	case now.Sub(s.up) >= goneAfter:
		return ErrServerGone
	case now.Sub(s.heard) >= s.limit:
		return &goneError{errors.New("no bytes on any stream for " + s.limit.Round(time.Second).String())}
	}
	return nil
}

// untilReached calls try until it gives no error that the server's absence explains, for goneAfter.
func untilReached(ctx context.Context, away func(error) bool, try func() error) error {
	end := time.Now().Add(goneAfter)
	for {
		err := try()
		if err == nil || ctx.Err() != nil || !away(err) {
			return err
		}
		if !time.Now().Before(end) {
			return &goneError{err}
		}
		if !sleep(ctx, askAgain) {
			return ctx.Err()
		}
	}
}

// open opens a connection, waiting for a server that is away for a moment.
func (l *Loader) open(ctx context.Context) (conn *client.Conn, err error) {
	err = untilReached(ctx, func(error) bool { return true }, func() error {
		conn, err = l.cfg.Client.Open(ctx)
		return err
	})
	return conn, err
}

// prompt writes a prompt; the server that counts its tokens may be away for a moment.
func (l *Loader) prompt(ctx context.Context, key prompt.Key, tokens, extra int) (p prompt.Prompt, err error) {
	away := func(err error) bool { return errors.Is(err, ErrAway) || errors.Is(err, context.DeadlineExceeded) }
	limit := l.cfg.Timeout
	if l.stalled {
		limit = min(limit, goneAfter) // the time-out has passed once already
	}
	err = untilReached(ctx, away, func() error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		p, err = l.cfg.Prompt(ctx, key, tokens, extra)
		return err
	})
	return p, err
}

// single sends one request that has the server to itself. A server that gave the request before no answer has goneAfter
// to give one again; one that let it stall has goneAfter to send a byte, beside the prefill that the length lets expect.
func (l *Loader) single(ctx context.Context, s *stream, o order, context int) (client.Result, error) {
	stalled := l.stalled
	if stalled {
		o.req.Timeout = goneAfter + l.timeout(context, 0) - l.cfg.Timeout
	}
	if !l.mute.IsZero() && !sleep(ctx, askAgain) {
		return client.Result{}, ctx.Err()
	}
	res := s.do(ctx, o)
	l.stalled = res.Record.Outcome == event.Stalled
	switch {
	case ctx.Err() != nil:
	case stalled && l.stalled:
		return res, &goneError{errors.New("no bytes for the time-out, nor for " + goneAfter.String() + " of the next request")}
	case !unanswered(res.Record):
		l.mute = time.Time{}
	case l.mute.IsZero():
		l.mute = time.Now()
	case time.Since(l.mute) >= goneAfter:
		return res, &goneError{errors.New(*res.Record.Error)}
	}
	return res, nil
}

// unanswered reports whether a request failed without an answer, other than by the time-out.
func unanswered(r event.Request) bool {
	return r.Outcome.Failed() && r.HTTPStatus == nil && r.Outcome != event.Stalled
}
