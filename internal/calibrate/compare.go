package calibrate

import (
	"fmt"
	"math"

	"speedmatrix/internal/event"
	"speedmatrix/internal/simengine"
	"speedmatrix/internal/stat"
)

// errorsUS are the client's errors, in microseconds: ours minus the engine's.
type errorsUS struct {
	instant []float64 // of each token's arrival, against its sending
	ttft    []float64 // of each restart's time to first token, against the time from the request's arrival to the sending
	between []float64 // of each request's time between tokens
}

// compare matches what the client saw with what the engine sent.
//
// A TTFT's error holds the way of the request to the engine and the engine's waking up for it, which are not the
// client's: it is an upper bound. The error of tok/s compares the tokens in the middle 80 % of the time by both stamps.
func compare(o observed, sent map[string]simengine.Served) (event.Calibration, error) {
	c := event.Calibration{Streams: o.streams, Clock: event.Kernel}
	var e errorsUS
	var ours, theirs []int64 // wall clock, ns
	var reads, merged, tokens int64
	for i := range o.requests {
		a := &o.requests[i]
		truth, ok := sent[a.id]
		if n := len(a.result.Record.ChunkUS); !ok || n != len(truth.SentNS) {
			return c, fmt.Errorf("the client saw %d tokens of request %q, the engine sent %d", n, a.id, len(truth.SentNS))
		}
		at := arrivals(o.clock, &a.result.Record)
		e.add(a, at, truth, o.clock)
		ours, theirs = append(ours, at...), append(theirs, truth.SentNS...)
		tokens += a.result.Record.Tokens()
		reads += a.result.Reads.Reads
		merged += a.result.Reads.Merged
		if a.result.Record.Clock != event.Kernel {
			c.Clock = event.Process
		}
	}
	c.InstantP50US, c.InstantP99US = quantile(e.instant, 0.5), quantile(e.instant, 0.99)
	c.TTFTP50US, c.TTFTP99US = quantile(e.ttft, 0.5), quantile(e.ttft, 0.99)
	c.BetweenTokensUS = quantile(e.between, 0.5)
	c.RatePercent = rounded(rateError(ours, theirs))
	c.CPUPerTokenUS = rounded(micros(o.cpu.Nanoseconds()) / float64(max(tokens, 1)))
	c.MergedShare = math.Round(float64(merged)/float64(max(reads, 1))*1e6) / 1e6
	return c, nil
}

// arrivals are a request's, on the wall clock, in nanoseconds.
func arrivals(clock wallClock, r *event.Request) []int64 {
	at := make([]int64, len(r.ChunkUS))
	for i, us := range r.ChunkUS {
		at[i] = clock.wallNS(r.StartUS + us)
	}
	return at
}

func (e *errorsUS) add(a *answered, at []int64, truth simengine.Served, clock wallClock) {
	for i := range at {
		e.instant = append(e.instant, micros(at[i]-truth.SentNS[i]))
	}
	n := len(at)
	if a.restart && n > 0 {
		ours := at[0] - clock.wallNS(a.result.Record.StartUS)
		e.ttft = append(e.ttft, micros(ours-(truth.SentNS[0]-truth.ArrivedNS)))
	}
	if n > 1 {
		drift := micros((at[n-1] - at[0]) - (truth.SentNS[n-1] - truth.SentNS[0]))
		e.between = append(e.between, drift/float64(n-1))
	}
}

func micros(ns int64) float64 { return float64(ns) / 1000 }

// quantile is 0 where there is nothing, which cannot be for the requests that a calibration sends.
func quantile(xs []float64, q float64) float64 {
	v, _ := stat.Quantile(xs, q)
	return rounded(v)
}

// rounded keeps three decimals: a nanosecond, where the unit is the microsecond.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// rateError is by how many percent more tokens than were sent have arrived in the middle 80 % of the time.
func rateError(ours, theirs []int64) float64 {
	if len(theirs) == 0 {
		return 0
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range theirs {
		first, last = min(first, t), max(last, t)
	}
	from, to := first+(last-first)/10, last-(last-first)/10
	a, b := within(ours, from, to), within(theirs, from, to)
	return 100 * float64(a-b) / float64(max(b, 1))
}

func within(at []int64, from, to int64) (n int) {
	for _, t := range at {
		if t > from && t <= to {
			n++
		}
	}
	return n
}
