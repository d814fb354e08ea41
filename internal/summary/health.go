package summary

import (
	"maps"
	"math"
	"slices"

	"speedmatrix/internal/event"
)

// health is what the samples beside one pass say of the server and of the measuring program, within the window.
type health struct {
	running  map[string]*meanOf // the server's gauge, by label set
	cpuShare meanOf
	merged   meanOf
	lagP99US []float64 // of each second
}

// meanOf is a running mean.
type meanOf struct {
	sum float64
	n   int
}

func (m *meanOf) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

// value returns the mean; false when nothing was added.
func (m *meanOf) value() (float64, bool) {
	if m.n == 0 || math.IsInf(m.sum, 0) {
		return 0, false
	}
	return m.sum / float64(m.n), true
}

// observe gives the samples to the passes whose windows they lie in. A sample that is not finite, negative, or of no pass is
// left out: samples stand beside the figures, they make none.
func observe(cells [][]attempt, samples []event.Sample) {
	for i := range samples {
		s := &samples[i]
		if s.Cell < 0 || int(s.Cell) >= len(cells) || !(s.Value >= 0) || math.IsInf(s.Value, 0) {
			continue
		}
		if a := find(cells[s.Cell], int(s.Repeat)); a != nil && a.window.Contains(s.AtUS) {
			a.health.add(s)
		}
	}
}

func (h *health) add(s *event.Sample) {
	switch s.Source {
	case event.SourceServer:
		if s.Metric != event.MetricRunning {
			return
		}
		if h.running == nil {
			h.running = map[string]*meanOf{}
		}
		if h.running[s.Labels] == nil {
			h.running[s.Labels] = new(meanOf)
		}
		h.running[s.Labels].add(s.Value)
	case event.SourceClient:
		switch s.Metric {
		case event.MetricCPUShare:
			h.cpuShare.add(s.Value)
		case event.MetricMergedShare:
			h.merged.add(s.Value)
		case event.MetricLagP99:
			h.lagP99US = append(h.lagP99US, s.Value)
		}
	}
}

// serverActive returns the mean of the server's gauge of running requests, summed over its label sets (engines that
// share the load); false when it has none.
func (h *health) serverActive() (float64, bool) {
	var sum float64
	for _, labels := range slices.Sorted(maps.Keys(h.running)) { // in order: sums of floats depend on it
		mean, ok := h.running[labels].value()
		if !ok {
			return 0, false
		}
		sum += mean
	}
	return sum, len(h.running) > 0 && !math.IsInf(sum, 0)
}
