package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/redact"
)

// describeRun gathers everything that run.toml says before the first cell: facts with their sources, method, plan.
// Every text in it is redacted.
func (o *options) describeRun(ctx context.Context, t target, started time.Time) (event.Run, error) {
	r := redact.New(redact.Options{Hosts: hostNames(t)}, t.secrets.values()...)
	run := event.Run{
		Schema: event.Schema, State: event.Interrupted, Started: started.UTC().Truncate(time.Microsecond), Seed: o.seed,
		Tool: event.Tool{
			Name: "speedmatrix measure", Version: release, Commit: commit(), Method: event.MethodVersion,
			Preset: t.plan.Config.Preset, Flags: redactAll(r, o.typed()),
		},
		Hardware: event.Facts{}, Engine: event.Facts{}, Model: event.Facts{}, Server: event.Facts{}, Host: event.Facts{},
		Method: t.plan.Method(), Capacity: t.plan.Limits.Capacity(), Cells: t.plan.Cells,
	}
	run.Method.AllowBusy = o.allowBusy
	facts := append([]event.Fact(nil), t.server.Facts...)
	facts = append(facts, probe.Machine(ctx, t.server.SameMachine())...)
	info, launch, err := o.readInfo()
	if err != nil {
		return run, err
	}
	probe.Merge(&run, append(facts, info...), r)
	run.Launch = t.server.Launch()
	if launch != "" {
		run.Launch = event.Launch{Command: launch, Source: event.FromUser}
	}
	run.Launch.Command = r.Text(run.Launch.Command)
	run.ID = eventlog.MakeID(started, run.Model.Text("served"), processor(run.Hardware), run.Engine.Text("name"), fmt.Sprint(run.Seed, os.Getpid(), started.UnixNano()))
	return run, nil
}

// processor is the GPU for the run's id, or "cpu" on a machine that has none.
func processor(hardware event.Facts) string {
	if gpu := hardware.Text("gpu"); gpu != "" || hardware.Text("type") != "CPU" {
		return gpu
	}
	return "cpu"
}

// readInfo reads --info and --launch-command; the flag wins over the file.
func (o *options) readInfo() (facts []event.Fact, launch string, err error) {
	if o.info != "" {
		f, err := os.Open(o.info)
		if err != nil {
			return nil, "", usageError("--info: %v", err)
		}
		defer func() { _ = f.Close() }()
		if facts, launch, err = probe.ReadInfo(f); err != nil {
			return nil, "", &exitError{exitUsage, fmt.Errorf("--info %s: %w", o.info, err)}
		}
	}
	if o.launch != "" {
		launch = o.launch
	}
	return facts, launch, nil
}

// hostNames are names of machines that must not be stored: this one's, and the server's.
func hostNames(t target) []string {
	var names []string
	if h, err := os.Hostname(); err == nil && h != "" && h != "localhost" {
		names = append(names, h)
	}
	if h := t.url.Hostname(); h != "localhost" && net.ParseIP(h) == nil && privateHost(t.url) {
		names = append(names, h)
	}
	return names
}

func redactAll(r redact.Redactor, texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = r.Text(s)
	}
	return out
}

// maxConcurrency is the most streams that a plan runs at once.
func maxConcurrency(p plan.Plan) int {
	n := 1
	for _, c := range p.Cells {
		if c.Status == event.Ran {
			n = max(n, c.Concurrency)
		}
	}
	return n
}
