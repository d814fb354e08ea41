package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// How often the server's gauges and this program's own health are read during a pass.
const (
	gaugeEvery  = 500 * time.Millisecond
	healthEvery = time.Second
)

// A sampler reads gauges and health beside a pass, in goroutines of its own, so that a slow answer of the
// server's metrics page delays nothing.
type sampler struct {
	l      *Loader
	cell   Cell
	lives  []*client.Live         // with one Lag for all
	latest atomic.Pointer[Gauges] // the newest gauges that this pass read; nil: none yet
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	samples []event.Sample
}

func (l *Loader) startSampler(ctx context.Context, cell Cell, lives []*client.Live) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{l: l, cell: cell, lives: lives, stop: cancel}
	if l.cfg.Gauges != nil {
		s.wg.Go(func() { s.gauges(ctx) })
	}
	s.wg.Go(func() { s.health(ctx) })
	return s
}

// end stops both goroutines and returns what they read, in order of time.
func (s *sampler) end() []event.Sample {
	s.stop()
	s.wg.Wait()
	return s.samples
}

func (s *sampler) gauges(ctx context.Context) {
	for ok := true; ok; ok = sleep(ctx, gaugeEvery) {
		at := s.l.now()
		g, err := s.l.cfg.Gauges(ctx)
		if err != nil {
			s.latest.Store(nil)
			continue
		}
		s.latest.Store(&g)
		s.add(at, event.SourceServer, event.MetricRunning, g.Running)
		if !g.NoQueue {
			s.add(at, event.SourceServer, event.MetricWaiting, g.Waiting)
		}
		if g.KVUsage != nil {
			s.add(at, event.SourceServer, event.MetricKVUsage, *g.KVUsage)
		}
	}
}

// health samples how late this program saw what had arrived, and what it costs the machine.
func (s *sampler) health(ctx context.Context) {
	var reads, merged int64
	for sleep(ctx, healthEvery) {
		at := s.l.now()
		sample := func(metric string, v float64) { s.add(at, event.SourceClient, metric, v) }
		if lag := s.lives[0].Lag.Take(); lag.N > 0 {
			sample(event.MetricLagP50, float64(lag.P50))
			sample(event.MetricLagP99, float64(lag.P99))
			sample(event.MetricLagMax, float64(lag.Max))
		}
		r, m := readsOf(s.lives)
		if r > reads {
			sample(event.MetricMergedShare, float64(m-merged)/float64(r-reads))
		}
		reads, merged = r, m
		if s.l.cfg.Health != nil {
			s.l.cfg.Health(sample)
		}
	}
}

// readsOf adds up the reads of all streams, and those that merged arrivals.
func readsOf(lives []*client.Live) (reads, merged int64) {
	for _, l := range lives {
		reads += l.Reads.Load()
		merged += l.MergedReads.Load()
	}
	return reads, merged
}

func (s *sampler) add(at int64, source, metric string, v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, event.Sample{
		AtUS: at, Cell: int32(s.cell.Index), Repeat: int32(s.cell.Repeat), Source: source, Metric: metric, Value: v,
	})
}
