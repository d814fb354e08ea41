package load

import (
	"fmt"
	"math"
	"time"

	"speedmatrix/internal/plan"
)

// leastWait is the least time given to streams that have not had a token while others run (METRICS, "How a cell
// runs", 5).
const leastWait = 10 * time.Second

// look is one observation of a cell that warms up.
type look struct {
	at      time.Duration // since the streams were started
	started int           // streams that have had a token in any of their requests
	active  int           // streams that have had the first token of the request under way
	gauge   *Gauges       // nil: the server has none, or did not answer
}

// decision is what the observations so far say.
type decision int

const (
	wait decision = iota
	ready
	queued
	unready
)

// readiness decides from looks alone when a cell may be measured. It holds no clock.
type readiness struct {
	asked int
	grace time.Duration // how long no further stream may come in before the server is known to run fewer

	looks       []look // of the last plan.ReadyFor
	peak        int    // most streams active at once
	peakAt      time.Duration
	gaugePeak   float64
	gaugePeakAt time.Duration
}

// newReadiness: longestCold is the longest cold prefill of the cell's context that was seen or is expected.
func newReadiness(asked int, longestCold time.Duration) *readiness {
	return &readiness{asked: asked, grace: max(leastWait, 2*longestCold)}
}

// observe takes the next look and decides. Reason is for queued and unready; ran is the concurrency reached.
func (r *readiness) observe(l look) (d decision, reason string, ran float64) {
	r.looks = append(r.looks, l)
	for len(r.looks) > 1 && l.at-r.looks[1].at >= plan.ReadyFor {
		r.looks = r.looks[1:]
	}
	if l.active > r.peak {
		r.peak, r.peakAt = l.active, l.at
	}
	if l.gauge != nil && l.gauge.Running >= r.gaugePeak+1 {
		r.gaugePeak, r.gaugePeakAt = l.gauge.Running, l.at
	}
	if r.held(l.at) {
		return ready, "", float64(r.asked)
	}
	if l.started == 0 {
		if l.at >= r.grace {
			return unready, fmt.Sprintf("no stream got a token within %s", r.grace.Round(time.Second)), 0
		}
		return wait, "", 0
	}
	if l.at-max(r.peakAt, r.gaugePeakAt) < r.grace || l.at < r.grace {
		return wait, "", 0
	}
	if r.nobodyWaits() {
		return ready, "", float64(r.asked)
	}
	ran = r.ran()
	return queued, fmt.Sprintf("the server ran %.0f of %d requests at once", ran, r.asked), ran
}

// held reports whether everything that ready asks for has been true over the last plan.ReadyFor: every stream
// has had a token, and as many run at once as were asked for. The server's gauges say how many run, where it
// has them: their means count, since streams restart all the time. Without gauges it is the most streams that
// were active at once: a server that runs 4 never shows more, however it takes turns.
func (r *readiness) held(at time.Duration) bool {
	first := r.looks[0]
	if at-first.at < plan.ReadyFor || first.started < r.asked {
		return false
	}
	m := r.means()
	if m.known {
		return m.running >= least(r.asked) && m.waiting <= mostWaiting(r.asked)
	}
	return float64(m.peak) >= least(r.asked)
}

// nobodyWaits reports whether all streams have had a token and the server says that its queue is empty: when it runs
// fewer than asked all the same, it is not the server that holds streams back but what is on this side of it. Such a
// cell is measured as ready; its average of active requests and the client's own health tell the rest.
func (r *readiness) nobodyWaits() bool {
	m := r.means()
	return m.known && m.queue && r.looks[0].started >= r.asked && m.waiting <= mostWaiting(r.asked)
}

// mostWaiting is the mean queue up to which a cell counts as having none: each restart passes through it.
func mostWaiting(asked int) float64 { return math.Max(0.5, 0.05*float64(asked)) }

// least is the mean concurrency from which a cell counts as running all its streams: a restarting stream is
// for a moment not running.
func least(asked int) float64 {
	return math.Max(0.5, float64(asked)-math.Max(1, 0.05*float64(asked)))
}

// means are taken over the looks of the last plan.ReadyFor.
type means struct {
	peak             int     // most streams active in one look
	running, waiting float64 // of the gauges
	known            bool    // false without a gauge
	queue            bool    // the gauges tell the queue
}

func (r *readiness) means() (m means) {
	var n float64
	m.queue = true
	for _, l := range r.looks {
		m.peak = max(m.peak, l.active)
		if l.gauge != nil {
			m.running += l.gauge.Running
			m.waiting += l.gauge.Waiting
			m.queue = m.queue && !l.gauge.NoQueue
			n++
		}
	}
	if n > 0 {
		m.running, m.waiting, m.known = m.running/n, m.waiting/n, true
	}
	return m
}

// ran is the concurrency reached: the server's gauge, where it has one, else the most streams active at once.
func (r *readiness) ran() float64 {
	m := r.means()
	if m.known {
		return math.Max(1, math.Round(m.running))
	}
	return math.Max(1, float64(m.peak))
}
