// Package calibrate measures the instrument itself: how far the client's instants are from those at which a server
// really sent, on this machine, at given numbers of streams.
//
// The steps: Run starts the built-in engine as another process; at each number of streams it opens that many connections
// and streams requests over them for a few seconds (streams.go); the engine writes down when it sent each token (truth.go);
// compare matches the two and gives one event.Calibration (compare.go).
//
// The engine paces its tokens by absolute deadlines and sends a step's tokens to all streams at once, as real engines
// do. Its stamps are on the wall clock, taken just before each write; the client's are monotonic and are put on the wall
// clock by an offset read before and after (wall.go). What the engine loses between its stamp and its write counts as the
// client's error, so every figure is an upper bound. The two processes share the machine, as a server and its load
// generator on one host do. No server but the one it starts is ever asked.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"speedmatrix/internal/event"
)

// Bounds of how long a calibration takes, and how fast it streams.
const (
	Longest       = 3 * time.Second  // at one number of streams
	budget        = 30 * time.Second // in all, where Config does not say how long
	overhead      = 500 * time.Millisecond
	shortest      = 500 * time.Millisecond
	usualRate     = 140.0   // tokens a second of a stream
	MaxTotalRate  = 18000.0 // tokens a second of all streams together, where Config does not say how many
	maxStreams    = 10000
	smallestRate  = 0.1
	highestRate   = 10000.0
	longestAsked  = time.Minute
	fewestTokens  = 8  // of one stream, so that there are gaps and restarts to compare
	fewestStarts  = 16 // restarts at each number of streams
	connectAtOnce = 32
)

// Config says what to measure. The zero value of an optional field is named with it.
type Config struct {
	Engine          []string                // the command that serves the built-in engine; its flags are appended
	Streams         []int                   // the numbers of simultaneous streams, one result each
	TokensPerSecond float64                 // of each stream; 0: 140, less where all together would pass MaxTotalRate
	Duration        time.Duration           // of the streaming at each number; 0: as long as 30 s in all allow, 3 s at most
	Spread          bool                    // tokens of a step spread over time, instead of all at once
	Done            func(event.Calibration) // is told of each result at once; may be nil
}

// validate returns all that is wrong.
func (c Config) validate() error {
	var errs []error
	if len(c.Engine) == 0 {
		errs = append(errs, errors.New("calibrate: no command for the engine"))
	}
	if len(c.Streams) == 0 {
		errs = append(errs, errors.New("calibrate: no number of streams"))
	}
	for _, n := range c.Streams {
		if n < 1 || n > maxStreams {
			errs = append(errs, fmt.Errorf("calibrate: %d streams: must be between 1 and %d", n, maxStreams))
		}
	}
	if r := c.TokensPerSecond; r != 0 && !(r >= smallestRate && r <= highestRate) {
		errs = append(errs, fmt.Errorf("calibrate: %v tokens per second: must be between %v and %v", r, smallestRate, highestRate))
	}
	if d := c.Duration; d < 0 || d > longestAsked {
		errs = append(errs, fmt.Errorf("calibrate: duration %s: must be at most %s", d, longestAsked))
	}
	return errors.Join(errs...)
}

// duration is how long each number of streams is measured.
func (c Config) duration() time.Duration {
	if c.Duration > 0 {
		return c.Duration
	}
	each := budget/time.Duration(len(c.Streams)) - overhead
	return max(min(each, Longest), shortest)
}

// rate is the tokens a second of each of n streams.
func (c Config) rate(n int) float64 {
	if c.TokensPerSecond > 0 {
		return c.TokensPerSecond
	}
	return min(usualRate, MaxTotalRate/float64(n))
}

// Expected is about how long Run will take.
func (c Config) Expected() time.Duration {
	return time.Duration(len(c.Streams)) * (c.duration() + overhead)
}

// Run measures at each number of streams in turn. Cancelling ctx ends it with the context's error and what there is. It
// fails when the engine cannot be started, when a request fails, or when client and engine disagree on how many tokens
// there were: then nothing can be said of the instants.
func Run(ctx context.Context, cfg Config) ([]event.Calibration, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "calibrate")
	if err != nil {
		return nil, fmt.Errorf("calibrate: folder for the engine's log: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var out []event.Calibration
	for i, n := range cfg.Streams {
		c, err := cfg.measure(ctx, n, filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)))
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			return out, fmt.Errorf("calibrate at %d streams: %w", n, err)
		}
		out = append(out, c)
		if cfg.Done != nil {
			cfg.Done(c)
		}
	}
	return out, nil
}

// measure starts an engine of its own for n streams, so that nothing is left of the number before.
func (c Config) measure(ctx context.Context, n int, log string) (event.Calibration, error) {
	e, err := startEngine(ctx, c.Engine, engineFlags(c.rate(n), c.Spread, log))
	if err != nil {
		return event.Calibration{}, err
	}
	seen, err := c.stream(ctx, e.url, n)
	err = errors.Join(err, e.stop())
	if err != nil {
		return event.Calibration{}, err
	}
	sent, err := readTruth(log)
	if err != nil {
		return event.Calibration{}, err
	}
	return compare(seen, sent)
}
