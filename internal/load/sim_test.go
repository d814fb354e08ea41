package load_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/prompt"
	"speedmatrix/internal/simengine"
)

// A rig is a simulated engine with a loader in front of it, joined in memory: inside a synctest bubble everything
// runs in virtual time.
type rig struct {
	loader *load.Loader
	truth  *simengine.Recorder
	epoch  time.Time
}

// newRig starts an engine of profile tiny. change may alter the engine's options and the loader's configuration.
func newRig(t *testing.T, change func(*simengine.Options, *load.Config)) *rig {
	t.Helper()
	r := &rig{truth: &simengine.Recorder{}, epoch: time.Now()}
	profile, err := simengine.LoadProfile("tiny")
	if err != nil {
		t.Fatal(err)
	}
	opt := simengine.Options{Truth: r.truth.Add, Seed: 1}
	cfg := load.Config{
		Epoch: r.epoch, Duration: 10 * time.Second, OutputTokens: 1024,
		Prompts: event.PerStream, Start: event.Staggered, Seed: 1, Timeout: time.Minute,
	}
	change(&opt, &cfg)
	engine, err := simengine.New(profile, opt)
	if err != nil {
		t.Fatal(err)
	}
	listener, dial := simengine.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := engine.Serve(ctx, listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	web := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	t.Cleanup(func() {
		cancel()
		<-served
	})
	server, err := probe.Detect(ctx, probe.Target{BaseURL: "http://engine/v1", HTTP: web})
	if err != nil {
		t.Fatal(err)
	}
	if server.HasGauges() {
		cfg.Gauges = func(ctx context.Context) (load.Gauges, error) {
			g, err := server.Gauges(ctx)
			return load.Gauges{Running: g.Running, Waiting: g.Waiting, KVUsage: g.KVUsage}, err
		}
	}
	writer, err := prompt.NewTokenized(ctx, 1, server.Count)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Prompt = writer.Text
	if cfg.Client, err = client.New(client.Config{BaseURL: "http://engine/v1", Model: server.Model, Epoch: r.epoch, Dial: dial}); err != nil {
		t.Fatal(err)
	}
	if r.loader, err = load.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// tokensIn counts the tokens of all requests that arrived in (from, to], microseconds from the epoch.
func tokensIn(reqs []event.Request, from, to int64) (n int64) {
	for i := range reqs {
		r := &reqs[i]
		for k, at := range r.ChunkUS {
			if abs := r.StartUS + at; abs > from && abs <= to {
				n += int64(r.ChunkTokens[k])
			}
		}
	}
	return n
}

// sentIn counts what the engine says that it sent in (from, to], microseconds from the epoch.
func (r *rig) sentIn(from, to int64) (n int64) {
	for _, s := range r.truth.Served() {
		for _, ns := range s.SentNS {
			if us := (ns - r.epoch.UnixNano()) / 1000; us > from && us <= to {
				n++
			}
		}
	}
	return n
}

func TestDecodeAgreesWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(*simengine.Options, *load.Config) {})
		res, err := r.loader.Decode(t.Context(), load.Cell{Context: 1024, Concurrency: 8})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // virtual: the engine notices at its next write that the last streams were closed
		w := res.Pass
		if w.Stop != event.StopDone || w.WindowEndUS-w.WindowStartUS != 10_000_000 || res.Failed {
			t.Fatalf("pass %+v, failed %v, want a window of exactly 10 s that is done", w, res.Failed)
		}
		got, want := tokensIn(res.Requests, w.WindowStartUS, w.WindowEndUS), r.sentIn(w.WindowStartUS, w.WindowEndUS)
		if got == 0 || got != want {
			t.Errorf("tokens in the window: %d, the engine sent %d", got, want)
		}
		half := (w.WindowStartUS + w.WindowEndUS) / 2
		a, b := tokensIn(res.Requests, w.WindowStartUS, half), tokensIn(res.Requests, half, w.WindowEndUS)
		if d := float64(a-b) / float64(a+b) * 2; d > 0.02 || d < -0.02 {
			t.Errorf("staggered: the window's halves have %d and %d tokens, more than 2 %% apart", a, b)
		}
		stages := map[event.Stage]int{}
		for _, q := range res.Requests {
			stages[q.Stage]++
			if q.Outcome.Failed() {
				t.Errorf("request failed: %s %v", q.Outcome, q.Error)
			}
		}
		if stages[event.Scout] != 8 || stages[event.Warmup] < 8 {
			t.Errorf("stages %v, want 8 scouts and at least 8 requests of the warm-up", stages)
		}
		if n := restarts(res.Requests); n < 6 {
			t.Errorf("%d restarts, want 6 or more", n)
		}
	})
}

// restarts counts requests after a stream's first that no other start falls into before their first token.
func restarts(reqs []event.Request) (n int) {
	for i := range reqs {
		r := &reqs[i]
		if r.Ordinal == 0 || r.Stage == event.Warmup || r.Stage == event.Scout || len(r.ChunkUS) == 0 {
			continue
		}
		alone := true
		for k := range reqs {
			if at := reqs[k].StartUS; k != i && at >= r.StartUS && at <= r.StartUS+r.ChunkUS[0] {
				alone = false
			}
		}
		if alone {
			n++
		}
	}
	return n
}

func TestQueuedServerIsSeen(t *testing.T) {
	for _, metrics := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(o *simengine.Options, _ *load.Config) { o.MaxRunning, o.NoMetrics = 9, !metrics })
			res, err := r.loader.Decode(t.Context(), load.Cell{Context: 512, Concurrency: 16})
			if err != nil {
				t.Fatal(err)
			}
			if res.Pass.Stop != event.StopQueued || res.Ran != 9 {
				t.Errorf("metrics %v: stop %q, ran %v (%s), want queued with 9", metrics, res.Pass.Stop, res.Ran, res.Reason)
			}
		})
	}
}

func TestPrefillIsCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(*simengine.Options, *load.Config) {})
		res, err := r.loader.Prefill(t.Context(), load.Cell{Context: 1024, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Requests) != 3 {
			t.Fatalf("%d cold samples, want 3", len(res.Requests))
		}
		for _, q := range res.Requests {
			if q.Void || len(q.ChunkUS) == 0 || *q.CachedTokens != 0 {
				t.Errorf("sample void %v, chunks %d, cached %d: want a cold one with a token", q.Void, len(q.ChunkUS), *q.CachedTokens)
			}
			if ms := float64(q.ChunkUS[0]) / 1000; ms < 24 || ms > 24.5 { // the profile says 24 ms at 1,024 tokens; the template adds a few
				t.Errorf("cold TTFT %.2f ms, want the profile's 24", ms)
			}
		}
	})
}

func TestInterruptEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(*simengine.Options, *load.Config) {})
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		res, err := r.loader.Decode(ctx, load.Cell{Context: 512, Concurrency: 4})
		if err != nil || res.Pass.Stop != event.StopInterrupted {
			t.Fatalf("stop %q, error %v, want interrupted and no error", res.Pass.Stop, err)
		}
		if len(res.Requests) == 0 {
			t.Error("the interrupted pass lost its records")
		}
	})
}
