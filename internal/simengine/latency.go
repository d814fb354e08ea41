package simengine

import (
	"math"
	"sort"
	"time"
)

// Latency turns a profile's measured points into durations. It is a pure function of the profile.
type Latency struct {
	decode  grid
	restart grid
	prefill curve // ms of computing a prompt of n tokens from nothing, front end excluded
}

// NewLatency fits the profile, which must be valid.
func NewLatency(p Profile) Latency {
	l := Latency{decode: newGrid(p.Decode), restart: newGrid(p.Restart)}
	for i, n := range p.Prefill.Tokens {
		ms := max(p.Prefill.TTFTMS[i]-l.frontEndMS(n, 1), p.Prefill.TTFTMS[i]*0.05)
		l.prefill.n = append(l.prefill.n, float64(n))
		l.prefill.ms = append(l.prefill.ms, ms)
	}
	return l
}

// Decode is the length of a step that gives a token to each of batch sequences of the given mean length.
func (l Latency) Decode(batch int, meanTokens float64) time.Duration {
	if batch <= 0 {
		return 0
	}
	return milliseconds(l.decode.at(float64(batch), meanTokens))
}

// Prefill is the time to compute prompt tokens [from, to) of a sequence: attention to what stands before them included.
func (l Latency) Prefill(from, to int) time.Duration {
	if to <= from {
		return 0
	}
	return max(0, milliseconds(l.prefill.at(float64(to))-l.prefill.at(float64(from))))
}

// FrontEnd is the time a request of so many prompt tokens spends before the scheduler sees it, when it makes the number
// of requests in the engine batch. It is what the profile's restart figure leaves once the steps are taken off: one
// step of its own and, beside others, half a step of waiting for the running one to end.
func (l Latency) FrontEnd(promptTokens, batch int) time.Duration {
	return milliseconds(l.frontEndMS(promptTokens, batch))
}

func (l Latency) frontEndMS(promptTokens, batch int) float64 {
	n, b := float64(promptTokens), float64(max(batch, 1))
	steps := 1.5
	if batch <= 1 {
		steps = 1
	}
	return max(0, l.restart.at(b, n)-steps*l.decode.at(b, n))
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// grid is a full table: rows by context, columns by batch.
type grid struct {
	batch, context []float64
	ms             [][]float64
}

// newGrid fills what short rows lack: a missing value keeps the ratio that the row before it has to its own last
// measured column.
func newGrid(t Table) grid {
	var g grid
	for _, b := range t.Batch {
		g.batch = append(g.batch, float64(b))
	}
	for i, row := range t.Rows {
		g.context = append(g.context, float64(row.Context+t.Ahead))
		ms := append([]float64(nil), row.MS...)
		for j, last := len(ms), len(ms)-1; j < len(t.Batch); j++ {
			ms = append(ms, ms[last]*g.ms[i-1][j]/g.ms[i-1][last])
		}
		g.ms = append(g.ms, ms)
	}
	return g
}

// at interpolates linearly in context and in the logarithm of batch. Beyond the table it goes on linearly, but never
// below a quarter of the smallest row's figure.
func (g grid) at(batch, context float64) float64 {
	if len(g.context) == 1 {
		return g.row(0, batch)
	}
	i := segment(g.context, context)
	low, high := g.row(i, batch), g.row(i+1, batch)
	v := low + (high-low)*(context-g.context[i])/(g.context[i+1]-g.context[i])
	return max(v, g.row(0, batch)/4)
}

func (g grid) row(i int, batch float64) float64 {
	ms := g.ms[i]
	if len(ms) == 1 || batch <= g.batch[0] {
		return ms[0]
	}
	j := segment(g.batch, batch)
	share := (math.Log(batch) - math.Log(g.batch[j])) / (math.Log(g.batch[j+1]) - math.Log(g.batch[j]))
	if batch > g.batch[j+1] {
		share = (batch - g.batch[j]) / (g.batch[j+1] - g.batch[j])
	}
	return max(ms[j]+(ms[j+1]-ms[j])*share, ms[0]/2)
}

// curve is a power law between neighbouring points, and the first and last one's beyond them.
type curve struct{ n, ms []float64 }

func (c curve) at(n float64) float64 {
	if n <= 0 {
		return 0
	}
	i := segment(c.n, n)
	power := math.Log(c.ms[i+1]/c.ms[i]) / math.Log(c.n[i+1]/c.n[i])
	return c.ms[i] * math.Pow(n/c.n[i], power)
}

// segment returns the i whose points i and i+1 surround x, or the nearest pair.
func segment(points []float64, x float64) int {
	i := sort.SearchFloat64s(points, x) - 1
	return min(max(i, 0), len(points)-2)
}
