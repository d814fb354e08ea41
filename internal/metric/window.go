package metric

import "speedmatrix/internal/event"

// Window is the half-open interval (StartUS, EndUS] in microseconds from the run's epoch: what arrives at the very start
// is outside, at the very end inside, so that windows that touch share nothing.
type Window struct{ StartUS, EndUS int64 }

// Seconds returns the window's length; 0 for one that ends before it starts.
func (w Window) Seconds() float64 { return float64(max(0, w.EndUS-w.StartUS)) / 1e6 }

// Contains reports whether an instant from the run's epoch lies in the window.
func (w Window) Contains(atUS int64) bool { return atUS > w.StartUS && atUS <= w.EndUS }

// Range returns the chunks of r that arrived inside the window: those with low <= index < high. The arrivals must not
// decrease.
func Range(r *event.Request, w Window) (low, high int) {
	n := min(len(r.ChunkUS), len(r.ChunkTokens))
	low = after(r.ChunkUS[:n], w.StartUS-r.StartUS)
	return low, low + after(r.ChunkUS[low:n], w.EndUS-r.StartUS)
}

// after returns the index of the first instant that is later than at. The ends are looked at first, since most windows hold all of a list or none; then
// where it would stand if tokens came evenly, as they nearly do.
func after(us []int64, at int64) int {
	n := len(us)
	if n == 0 || us[0] > at {
		return 0
	}
	if us[n-1] <= at {
		return n
	}
	return Seek(us, at, int(float64(at-us[0])/float64(us[n-1]-us[0])*float64(n)))
}

// Seek returns how many of the instants, which must ascend, are not later than at. It is quick when a guess is near. The next to the guess are compared
// without a branch, since which of them it is no processor can foretell.
func Seek(us []int64, at int64, guess int) int {
	if guess >= 2 && guess < len(us)-1 && us[guess-2] <= at && us[guess+1] > at {
		return guess - 1 + notLater(us[guess-1], at) + notLater(us[guess], at)
	}
	return seekFar(us, at, guess)
}

// seekFar starts at a guess, doubles its step and halves it again.
func seekFar(us []int64, at int64, guess int) int {
	low, high := 0, len(us) // us[:low] are not later, us[high:] are
	for step, i := 1, max(0, min(guess, high-1)); low <= i && i < high; step *= 2 {
		if us[i] <= at {
			low = i + 1
			i += step
		} else {
			high = i
			i -= step
		}
	}
	for low < high {
		if middle := int(uint(low+high) / 2); us[middle] <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// notLater is 1 when us is not later than at, else 0.
func notLater(us, at int64) int {
	n := 0
	if us <= at {
		n = 1
	}
	return n
}

// TokensIn returns the tokens of r that arrived inside the window.
func TokensIn(r *event.Request, w Window) int64 {
	low, high := Range(r, w)
	return sum(r.ChunkTokens[low:high])
}

// TimeBetweenTokens returns the mean time between tokens of r inside the window, in microseconds:
// (last - first) / (tokens after the first chunk), first and last being the first and last chunk that arrived inside. This is
// vLLM's TPOT restricted to the window. False with fewer than two such chunks, when the later ones brought no
// token, or when all share one arrival.
func TimeBetweenTokens(r *event.Request, w Window) (float64, bool) {
	low, high := Range(r, w)
	return between(r, low, high)
}

// between is TimeBetweenTokens of the chunks low <= index < high.
func between(r *event.Request, low, high int) (float64, bool) {
	if high-low < 2 {
		return 0, false
	}
	return Pace(r.ChunkUS[high-1]-r.ChunkUS[low], sum(r.ChunkTokens[low+1:high]))
}

// Pace returns the time between tokens in microseconds, given the span from the first to the last chunk and the tokens
// after the first chunk; false when either is not positive.
func Pace(spanUS, tokens int64) (float64, bool) {
	if spanUS <= 0 || tokens <= 0 {
		return 0, false
	}
	return float64(spanUS) / float64(tokens), true
}

// ChunkGaps appends to dst the gaps between neighbouring chunks of r that both arrived inside the window, in
// microseconds. Their sum is the span that TimeBetweenTokens divides.
func ChunkGaps(dst []int64, r *event.Request, w Window) []int64 {
	low, high := Range(r, w)
	for i := low + 1; i < high; i++ {
		dst = append(dst, r.ChunkUS[i]-r.ChunkUS[i-1])
	}
	return dst
}

// Completed reports whether the last token of r arrived inside the window and the server ended it by a finish reason of
// its own.
func Completed(r *event.Request, w Window) bool {
	last, ok := EndToEnd(r)
	return ok && r.Outcome == event.OK && r.FinishReason != nil && *r.FinishReason != "" && w.Contains(r.StartUS+last)
}

// ActiveUS returns for how many microseconds of the window r was active: in flight, with a first token, and not
// finished. A request that ended well is finished with its last token; one that we cut or that failed, with its stream.
func ActiveUS(r *event.Request, w Window) int64 {
	first, ok := TTFT(r)
	if !ok {
		return 0
	}
	end, _ := EndToEnd(r)
	if r.Outcome != event.OK && r.EndUS != nil {
		end = max(end, *r.EndUS)
	}
	from, to := max(r.StartUS+first, w.StartUS), min(r.StartUS+end, w.EndUS)
	return max(0, to-from)
}

// ActiveMean returns the average active requests: the time average over the window of the requests that were active
// (see ActiveUS). False when the window has no length.
func ActiveMean(requests []*event.Request, w Window) (float64, bool) {
	if w.EndUS <= w.StartUS {
		return 0, false
	}
	var active float64 // a sum of int64 could overflow on hostile instants
	for _, r := range requests {
		active += float64(ActiveUS(r, w))
	}
	return active / (float64(w.EndUS) - float64(w.StartUS)), true
}

func sum(tokens []int32) int64 {
	var n int64
	for _, t := range tokens {
		n += int64(t)
	}
	return n
}
