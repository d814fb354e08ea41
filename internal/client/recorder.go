package client

import (
	"slices"

	"speedmatrix/internal/event"
)

// recorder collects the arrivals of one request. Its buffers are kept from request to request, so that an arrival
// costs no allocation once they have grown.
type recorder struct {
	us    []int64 // arrival of each chunk that carried tokens, from the request's start
	chars []int32 // characters of its text
	grown []int32 // what the server's count grew by with it

	counted  int32 // the server's highest count of output tokens; -1: none told
	perChunk bool  // the server counts while it generates
	prompt   int32
	cached   int32

	visibleUS int64  // -1: no token yet that is not reasoning
	finish    string // finish reason
	finishUS  int64  // when it came
	usageUS   int64  // when the highest count came
	live      int64  // tokens added to Live for this request
	process   bool   // some arrival has no kernel stamp
	tail      tail
}

func (r *recorder) reset(expect int) {
	r.tail.reset()
	*r = recorder{
		us: r.us[:0], chars: r.chars[:0], grown: r.grown[:0], tail: r.tail,
		counted: -1, prompt: -1, cached: -1, visibleUS: -1,
	}
	// Room for the whole answer up to a size that 10,000 streams can afford; longer ones double it.
	expect = min(max(expect, 16), 512)
	r.us, r.chars, r.grown = slices.Grow(r.us, expect), slices.Grow(r.chars, expect), slices.Grow(r.grown, expect)
}

// add takes what one event says and returns whether it was the arrival of tokens, and how many of them Live is
// told of.
func (r *recorder) add(us int64, c *chunk) (arrival bool, tokens int64) {
	if c.prompt >= 0 {
		r.prompt = c.prompt
	}
	if c.cached >= 0 {
		r.cached = c.cached
	}
	grown := r.count(us, c)
	if c.finish != "" {
		r.finish, r.finishUS = c.finish, us
	}
	text := len(c.text) > 0
	if !text && !(r.perChunk && c.choice && grown > 0) {
		r.carry(grown)
		return false, 0
	}
	if c.visible && r.visibleUS < 0 {
		r.visibleUS = us
	}
	r.us = append(r.us, us)
	r.chars = append(r.chars, int32(c.chars()))
	r.grown = append(r.grown, grown)
	if text {
		r.tail.add(c.text)
	}
	tokens = 1
	if r.perChunk {
		tokens = int64(grown)
	}
	r.live += tokens
	return true, tokens
}

// count takes the server's count of output tokens and returns by how much it grew; a count that goes down or
// repeats is no growth. A server counts per chunk when it gives a count above 0 before the finish reason: some send
// zeros in every chunk and the total at the end.
func (r *recorder) count(us int64, c *chunk) int32 {
	if c.output < 0 {
		return 0
	}
	if c.choice && c.finish == "" && c.output > 0 {
		r.perChunk = true
	}
	grown := c.output - max(r.counted, 0)
	if c.output > r.counted {
		r.counted, r.usageUS = c.output, us
	}
	return max(grown, 0)
}

// carry adds tokens whose own arrival was not seen (a stop token that only the final usage counts) to the last
// chunk, so that the total is exact and the last arrival is not moved.
func (r *recorder) carry(grown int32) {
	if r.perChunk && len(r.grown) > 0 {
		r.grown[len(r.grown)-1] += grown
	}
}

// fill writes what was collected into rec, as slices of their exact size, and returns the characters of each chunk.
func (r *recorder) fill(rec *event.Request) []int32 {
	if len(r.us) == 0 && r.counted > 0 {
		// Tokens were made and none had text: the first event that says so is their arrival.
		at := r.usageUS
		if r.finish != "" {
			at = min(at, r.finishUS)
		}
		r.us, r.chars, r.grown = append(r.us, at), append(r.chars, 0), append(r.grown, r.counted)
	}
	rec.ChunkUS = append([]int64(nil), r.us...) // exact size; nil when empty
	rec.ChunkTokens, rec.TokenSource = r.tokens()
	if r.visibleUS >= 0 {
		rec.VisibleUS = pointer(r.visibleUS)
	}
	if r.finish != "" {
		rec.FinishReason = pointer(r.finish)
	}
	rec.PromptTokens, rec.CachedTokens, rec.OutputTokens = known(r.prompt), known(r.cached), known(r.counted)
	rec.Looped = r.tail.looped()
	return append([]int32(nil), r.chars...)
}

// tokens counts the tokens of each chunk (METRICS, "Counting tokens", 1 to 3).
func (r *recorder) tokens() ([]int32, event.TokenSource) {
	n := len(r.us)
	switch {
	case r.perChunk:
		return append([]int32(nil), r.grown...), event.UsagePerChunk
	case r.counted >= 0 && (r.counted > 0 || n == 0):
		return spread(int(r.counted), r.chars), event.UsageFinal
	case n == 0:
		return nil, event.UnknownTokens
	}
	return ones(n), event.ByChunks
}

func ones(n int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = 1
	}
	return t
}

// spread divides total tokens over chunks. Where the total is their number, give or take a stop token, each has one
// and the last takes the difference; else each has its share by its characters, and at least one where there are
// enough. The parts always sum to the total.
func spread(total int, chars []int32) []int32 {
	n := len(chars)
	if n == 0 {
		return nil
	}
	if d := total - n; -1 <= d && d <= 1 {
		t := ones(n)
		t[n-1] += int32(d)
		return t
	}
	var all, sum int64
	for _, c := range chars {
		all += int64(c)
	}
	all = max(all, 1)
	t := make([]int32, n)
	given := 0
	for i, c := range chars {
		sum += int64(c)
		until := int((int64(total)*sum*2 + all) / (2 * all)) // rounded to the nearest
		if total >= n {
			until = min(max(until, given+1), total-(n-1-i))
		}
		if i == n-1 {
			until = total
		}
		t[i] = int32(until - given)
		given = until
	}
	return t
}

func pointer[T any](v T) *T { return &v }

// known returns nil for a count that nobody told.
func known(n int32) *int32 {
	if n < 0 {
		return nil
	}
	return &n
}
