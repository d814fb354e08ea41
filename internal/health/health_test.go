package health_test

import (
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/health"
)

func TestReadSeesWork(t *testing.T) {
	r := health.NewReader()
	before := health.CPUTime()
	for health.CPUTime()-before < 20*time.Millisecond { // spend CPU by the very clock that is tested
	}
	got := map[string]float64{}
	r.Read(func(m string, v float64) { got[m] = v })
	if s := got[event.MetricCPUShare]; s <= 0 || s > 1.5 {
		t.Errorf("CPU share after work = %v, want in (0, 1.5]", s)
	}
	if got[event.MetricHeap] <= 0 {
		t.Errorf("heap = %v, want more than nothing", got[event.MetricHeap])
	}
	if _, ok := got[event.MetricBacklog]; !ok {
		t.Error("the runtime does not tell runnable goroutines")
	}
}
