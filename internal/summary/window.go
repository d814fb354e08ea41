package summary

import (
	"slices"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
)

const (
	blockUS   = 1_000_000 // shortest block of the bootstrap
	blockGaps = 10        // times between tokens that a block lasts at least
	maxBlocks = 1000
)

// windowCount is what arrived in the window of one pass.
type windowCount struct {
	window      metric.Window
	tokens      int64 // in the window
	firstHalf   int64 // of these, in its first half
	chunks      int64
	seen        int       // requests with a chunk in the window
	between     []float64 // ms, the time between tokens of each request that did not fail
	upToEnd     int64     // tokens until the window's end
	firstSendUS int64     // earliest start of a request; the window's end when there is none
	active      float64   // mean active requests
	streams     int       // streams with at least one chunk in the window
	shortOf     int       // of these, streams with fewer than metric.MinWindowTokens tokens
	least       int64     // fewest tokens of a stream that had a chunk
	completed   int
	endToEnd    []float64 // ms
	whole       []int64   // tokens of each request, inside the window or not
}

// span is the chunks from <= index < to of a request.
type span struct{ from, to int }

// count goes over the requests of a pass that has a window.
func count(a *attempt, start event.StartMode) windowCount {
	w := windowCount{window: a.window, firstSendUS: a.window.EndUS, whole: make([]int64, len(a.requests))}
	middle := a.window
	middle.EndUS = middle.StartUS + (middle.EndUS-middle.StartUS)/2
	var stream streamCount
	for i, r := range a.requests {
		first := streamFirst(a.requests, i)
		if first {
			w.close(stream)
			stream = streamCount{}
		}
		w.firstSendUS = min(w.firstSendUS, r.StartUS)
		low, high := a.seen[i].inside.from, a.seen[i].inside.to
		_, half := metric.Range(r, middle)
		tokens := a.tokens(i)
		early, later := tokens.sum(low, half), tokens.sum(half, high)
		w.tokens += early + later
		w.firstHalf += early
		upToEnd := tokens.sum(0, low) + early + later
		w.upToEnd += upToEnd
		w.whole[i] = upToEnd + tokens.sum(high, len(r.ChunkTokens))
		w.chunks += int64(high - low)
		stream.chunks += high - low
		stream.tokens += early + later
		if high > low {
			w.seen++
		}
		if high-low >= 2 && !r.Outcome.Failed() {
			after := early + later - int64(r.ChunkTokens[low])
			if us, ok := metric.Pace(r.ChunkUS[high-1]-r.ChunkUS[low], after); ok {
				w.between = append(w.between, us/1000)
			}
		}
		if metric.Completed(r, a.window) {
			w.completed++
			// The staggered first requests ask for a part of the output by design: their length says nothing.
			if us, ok := metric.EndToEnd(r); ok && !(first && start == event.Staggered) {
				w.endToEnd = append(w.endToEnd, float64(us)/1000)
			}
		}
	}
	w.close(stream)
	w.active, _ = metric.ActiveMean(a.requests, a.window)
	return w
}

// streamCount is what one stream brought within the window, over its requests.
type streamCount struct {
	chunks int
	tokens int64
}

// close adds a stream whose requests have all been seen.
func (w *windowCount) close(s streamCount) {
	if s.chunks == 0 {
		return
	}
	if w.streams == 0 || s.tokens < w.least {
		w.least = s.tokens
	}
	w.streams++
	if s.tokens < metric.MinWindowTokens {
		w.shortOf++
	}
}

// rate returns the pass's output tokens a second.
func (w *windowCount) rate() float64 { return float64(w.tokens) / w.window.Seconds() }

// wholeRate returns tokens a second from the first send to the window's end; false when no time lies between.
func (w *windowCount) wholeRate() (float64, bool) {
	span := w.window.EndUS - w.firstSendUS
	return float64(w.upToEnd) / (float64(span) / 1e6), span > 0
}

// drift returns how much more the second half of the window brought than the first, as a share of their mean.
func (w *windowCount) drift() float64 {
	if w.tokens == 0 {
		return 0
	}
	second := w.tokens - w.firstHalf
	return float64(second-w.firstHalf) / (float64(w.tokens) / 2)
}

// blocks cuts the window into equal blocks of one second or ten times between tokens, whichever is longer, and counts
// the tokens in each. They add up to the tokens of the window.
func blocks(a *attempt, betweenMS float64) []stat.Block {
	span := a.window.EndUS - a.window.StartUS
	length := max(blockUS, blockGaps*1000*betweenMS)
	n := int64(min(maxBlocks, max(1, float64(span)/length)))
	edges := make([]int64, n+1) // n <= 1000, span <= 2^50: the products fit
	for i := range edges {
		edges[i] = a.window.StartUS + span*int64(i)/n
	}
	counts := make([]int64, n)
	for i, r := range a.requests {
		tally(counts, edges, r, a.tokens(i), a.seen[i].inside)
	}
	out := make([]stat.Block, n)
	for i := range out {
		out[i] = stat.Block{Count: counts[i], US: edges[i+1] - edges[i]}
	}
	return out
}

// tally adds the tokens of some chunks of r to the bin they arrived in: bin i is (edges[i], edges[i+1]].
// All of these chunks must lie within the edges.
func tally(counts, edges []int64, r *event.Request, tokens tokenCounts, chunks span) {
	low, high := chunks.from, chunks.to
	if low >= high {
		return
	}
	bin, _ := slices.BinarySearch(edges, r.StartUS+r.ChunkUS[low])
	bin--
	for n := 0; low < high; bin++ { // a bin holds about as many chunks as the one before it
		n = metric.Seek(r.ChunkUS[low:high], edges[bin+1]-r.StartUS, n)
		counts[bin] += tokens.sum(low, low+n)
		low += n
	}
}

// tokenCounts is the tokens in each chunk of a request.
type tokenCounts struct {
	chunks []int32
	single bool // every chunk brought one
}

// sum returns the tokens of the chunks from <= index < to.
func (t tokenCounts) sum(from, to int) int64 {
	if t.single {
		return int64(to - from)
	}
	var n int64
	for _, tokens := range t.chunks[from:to] {
		n += int64(tokens)
	}
	return n
}
