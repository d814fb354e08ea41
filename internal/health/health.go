// Package health reads what this program costs the machine: the share of its cores that it used, the
// goroutines that wait for one, its heap. It is read once a second beside a pass, by package load.
package health

import (
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"speedmatrix/internal/event"
)

// Names of the runtime's own metrics that are read.
const (
	runnable = "/sched/goroutines/runnable:goroutines"
	heap     = "/memory/classes/heap/objects:bytes"
)

// Reader remembers the last reading, since CPU share is over the time between two. One goroutine.
type Reader struct {
	cores   float64
	at      time.Time
	cpu     time.Duration
	samples []metrics.Sample
}

// NewReader starts at now: the first Read covers the time since.
func NewReader() *Reader {
	return &Reader{
		cores:   min(float64(runtime.GOMAXPROCS(0)), quota(os.DirFS("/"))), // affinity is in GOMAXPROCS
		at:      time.Now(),
		cpu:     cpuTime(),
		samples: []metrics.Sample{{Name: runnable}, {Name: heap}},
	}
}

// Read passes each metric (event.MetricCPUShare, MetricBacklog, MetricHeap) to sample. One that the platform or
// the runtime does not tell is left out.
func (r *Reader) Read(sample func(metric string, value float64)) {
	now, cpu := time.Now(), cpuTime()
	if span := now.Sub(r.at); span > 0 && cpu > 0 {
		sample(event.MetricCPUShare, (cpu-r.cpu).Seconds()/span.Seconds()/r.cores)
	}
	r.at, r.cpu = now, cpu
	metrics.Read(r.samples)
	for i, name := range []string{event.MetricBacklog, event.MetricHeap} {
		if v := r.samples[i].Value; v.Kind() == metrics.KindUint64 {
			sample(name, float64(v.Uint64()))
		}
	}
}

// CPUTime is the user and system time that this process has used, 0 where the platform does not tell.
func CPUTime() time.Duration { return cpuTime() }
