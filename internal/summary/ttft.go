package summary

import (
	"cmp"
	"math"
	"slices"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

// shownKinds is the order in which a decode cell looks for the kind of TTFT that it shows.
var shownKinds = [...]TTFTKind{Restart, Start, Wave, Uncached}

// kinds holds the requests of a decode cell by their kind of TTFT.
type kinds struct {
	of map[TTFTKind][]*event.Request
	// uncachedStarts are the first requests of --start together whose prompts were not cached: they collide with each other
	// as later ones do not, so they stand for "uncached" only where there is no other.
	uncachedStarts []*event.Request
}

// add sorts the requests of one pass (in the order of byStream). Requests that failed or had no token have no TTFT.
// The first requests of a staggered start have a prompt of their own length and are of no kind; of the later ones those
// count that started in the window or in the probe phase.
func (k *kinds) add(requests []*event.Request, method *event.Method) {
	waves := waves(requests)
	for i, r := range requests {
		if _, ok := metric.TTFT(r); !ok || r.Outcome.Failed() {
			continue
		}
		cached := metric.Cached(r) && method.Prompts != event.Fresh
		steady := r.Stage == event.InWindow || r.Stage == event.Probe
		switch first := streamFirst(requests, i); {
		case first && method.Start != event.Together:
		case first && cached:
			k.put(Start, r)
		case first:
			k.uncachedStarts = append(k.uncachedStarts, r)
		case !steady:
		case !cached:
			k.put(Uncached, r)
		case waves[i]:
			k.put(Wave, r)
		default:
			k.put(Restart, r)
		}
	}
}

func (k *kinds) put(kind TTFTKind, r *event.Request) {
	if k.of == nil {
		k.of = map[TTFTKind][]*event.Request{}
	}
	k.of[kind] = append(k.of[kind], r)
}

// get returns the requests of a kind, over all passes added.
func (k *kinds) get(kind TTFTKind) []*event.Request {
	if kind == Uncached && len(k.of[Uncached]) == 0 {
		return k.uncachedStarts
	}
	return k.of[kind]
}

// waves tells of each request whether its wait for a first token meets that of another: another started within its TTFT, or was
// still without a token when it started (then the others were not in steady state).
func waves(requests []*event.Request) []bool {
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(requests[a].StartUS, requests[b].StartUS), cmp.Compare(a, b))
	})
	out := make([]bool, len(requests))
	waiting := int64(math.MinInt64) // until when some earlier request waits
	for i, at := range order {
		r := requests[at]
		until := waitsUntil(r)
		if waiting > r.StartUS || i+1 < len(order) && requests[order[i+1]].StartUS <= until {
			out[at] = true
		}
		waiting = max(waiting, until)
	}
	return out
}

// waitsUntil returns when r stopped waiting for its first token: at the token, or at its end without one.
func waitsUntil(r *event.Request) int64 {
	if first, ok := metric.TTFT(r); ok {
		return r.StartUS + first
	}
	if r.EndUS != nil {
		return r.StartUS + *r.EndUS
	}
	return r.StartUS
}

// ttfts returns the TTFT of each request in milliseconds.
func ttfts(requests []*event.Request) []float64 {
	var out []float64
	for _, r := range requests {
		if us, ok := metric.TTFT(r); ok {
			out = append(out, float64(us)/1000)
		}
	}
	return out
}

// ttfo returns the median time to first output in milliseconds over the requests that have one; nil when none has, or when it
// is the TTFT in all of them.
func ttfo(requests []*event.Request) *float64 {
	var out []float64
	differs := false
	for _, r := range requests {
		first, ok := metric.TTFT(r)
		visible, known := metric.TTFO(r)
		if !ok || !known {
			continue
		}
		out = append(out, float64(visible)/1000)
		differs = differs || visible != first
	}
	if !differs {
		return nil
	}
	return distribution(out).Median
}
