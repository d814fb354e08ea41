// Package simtest joins a simulated engine to a client in memory, for tests: inside a synctest bubble a whole
// measurement then runs in virtual time, and what the engine says that it sent is the truth to compare with.
package simtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/prompt"
	"speedmatrix/internal/simengine"
)

// Rig is an engine of the profile tiny with everything that a loader needs in front of it.
type Rig struct {
	Loader *load.Loader
	Server *probe.Server
	Truth  *simengine.Recorder
	Epoch  time.Time
	Stop   context.CancelFunc // ends the engine, as a server that dies
	Net    *Network           // what is between the two
}

// New starts an engine and makes a loader for it. change may alter the engine's options and the loader's
// configuration, which begin as 10 s windows of 1,024 output tokens, prompts per stream, staggered.
func New(t testing.TB, change func(*simengine.Options, *load.Config)) *Rig {
	t.Helper()
	r := &Rig{Truth: &simengine.Recorder{}, Epoch: time.Now(), Net: newNetwork()}
	opt := simengine.Options{Truth: r.Truth.Add, Seed: 1, PlainWait: true}
	cfg := load.Config{
		Epoch: r.Epoch, Duration: 10 * time.Second, OutputTokens: 1024,
		Prompts: event.PerStream, Start: event.Staggered, Seed: 1, Timeout: time.Minute,
	}
	if change != nil {
		change(&opt, &cfg)
	}
	dial := r.serve(t, opt)
	r.connect(t, cfg, dial)
	return r
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// serve starts the engine on a listener in memory and ends it with the test.
func (r *Rig) serve(t testing.TB, opt simengine.Options) dialer {
	t.Helper()
	profile, err := simengine.LoadProfile("tiny")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := simengine.New(profile, opt)
	if err != nil {
		t.Fatal(err)
	}
	pipe, dial := simengine.Pipe()
	listener := &listener{Listener: pipe, net: r.Net}
	ctx, cancel := context.WithCancel(t.Context())
	r.Stop = cancel
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := engine.Serve(ctx, listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	return r.Net.dialer(dial)
}

// connect makes client, gauges, prompts and loader.
func (r *Rig) connect(t testing.TB, cfg load.Config, dial dialer) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	var err error
	if r.Server, err = probe.Detect(t.Context(), probe.Target{BaseURL: "http://engine/v1", HTTP: web}); err != nil {
		t.Fatal(err)
	}
	if r.Server.HasGauges() {
		cfg.Gauges = func(ctx context.Context) (load.Gauges, error) {
			g, err := r.Server.Gauges(ctx)
			return load.Gauges{Running: g.Running, Waiting: g.Waiting, KVUsage: g.KVUsage}, err
		}
	}
	count := func(ctx context.Context, text string) (int, error) {
		n, err := r.Server.Count(ctx, text)
		if away := new(probe.UnreachableError); errors.As(err, &away) {
			err = fmt.Errorf("%w: %w", load.ErrAway, err)
		}
		return n, err
	}
	writer, err := prompt.NewTokenized(t.Context(), 1, count)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Prompt = writer.Text
	cfg.Client, err = client.New(client.Config{BaseURL: "http://engine/v1", Model: r.Server.Model, Epoch: r.Epoch, Dial: r.Net.counted(dial)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Loader, err = load.New(cfg); err != nil {
		t.Fatal(err)
	}
}

// SentIn counts the tokens that the engine says it sent in (from, to], microseconds from the epoch. Streams that
// were just closed are counted only once the engine has noticed, at its next write.
func (r *Rig) SentIn(from, to int64) (n int64) {
	for _, s := range r.Truth.Served() {
		for _, ns := range s.SentNS {
			if us := (ns - r.Epoch.UnixNano()) / 1000; us > from && us <= to {
				n++
			}
		}
	}
	return n
}

// TokensIn counts the tokens of requests that arrived in (from, to], microseconds from the epoch.
func TokensIn(reqs []event.Request, from, to int64) (n int64) {
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
