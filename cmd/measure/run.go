package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/health"
	"speedmatrix/internal/load"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/session"
)

// runCommand is `measure run`: probe, plan, ask, size prompts, measure, store.
func runCommand(ctx context.Context, args []string, p process) error {
	o, err := parseOptions("run", args, p.stdout)
	if err != nil {
		return err
	}
	if o.resume != "" {
		return o.resumeRun(ctx, p)
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	t, err := o.target(ctx, p)
	if err != nil {
		return err
	}
	if !o.quiet && !o.json {
		for _, text := range []string{t.describe(), t.plan.Short(t.expectation())} {
			if p.terminal {
				text = wrap(text, p.width())
			}
			fmt.Fprintln(p.stdout, text)
		}
	}
	t.printNotes(p.stderr)
	if err := o.ask(t, p); err != nil {
		return err
	}
	return o.measure(ctx, p, t, nil)
}

// ask gets a yes for long runs and hosts that are not private, or refuses.
func (o *options) ask(t target, p process) error {
	why := reasonToAsk(t)
	if why == "" || o.yes {
		return nil
	}
	if !p.terminal {
		return usageError("%s; say --yes to go on without a terminal", why)
	}
	fmt.Fprintf(p.stdout, "%s. Go on? [y/N] ", why)
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return usageError("not confirmed")
	}
	return nil
}

// measure runs a plan from its first missing pass to its end. log is nil for a new run.
func (o *options) measure(ctx context.Context, p process, t target, log *eventlog.Writer) error {
	if err := raiseDescriptors(maxConcurrency(t.plan)); err != nil {
		return err
	}
	tuneCollector(maxConcurrency(t.plan), maxPromptTokens(t.plan))
	var calibrated []event.Calibration
	if log == nil {
		var err error
		if calibrated, err = o.calibrateRun(ctx, p, t); err != nil {
			return err
		}
	}
	started := time.Now()
	run, err := o.describeRun(ctx, t, started)
	if err != nil {
		return err
	}
	run.Calibration = calibrated
	if log == nil {
		if log, err = eventlog.Create(o.out, run); err != nil {
			return fmt.Errorf("%w; give a folder that can be written with --out", err)
		}
	} else {
		resumed := log.Run()
		started = started.Add(-started.Round(0).Sub(resumed.Started)) // the old epoch, on today's monotonic clock
		run = resumed
	}
	defer func() { _ = log.Close() }()
	out, err := o.carryOut(ctx, p, t, log, run, started)
	return o.finish(p, log, out, err)
}

// carryOut makes the loader and runs the session, with a display beside it.
func (o *options) carryOut(ctx context.Context, p process, t target, log *eventlog.Writer, run event.Run, epoch time.Time) (session.Outcome, error) {
	watch := &load.Watch{}
	c, err := client.New(client.Config{
		BaseURL: t.url.String(), Model: t.server.Model, Endpoint: client.Endpoint(t.plan.Config.Endpoint),
		Key: t.secrets.key, Header: t.secrets.header, Timeout: o.timeout, CAFile: o.ca, Insecure: o.insecure, Epoch: epoch,
		TokenTimings: t.server.Engine == probe.LlamaCpp,
	})
	if err != nil {
		return session.Outcome{}, err
	}
	sizer := &sizer{client: c, server: t.server, seed: run.Seed + uint64(run.Method.Resumed)<<32, cfg: t.plan.Config, limit: t.plan.Limits.Context}
	cfg := load.Config{
		Client: c, Epoch: epoch,
		Prompt: sizer.text, Reported: sizer.reported,
		GaugeLag: t.server.IdleGaugeLag(), Health: health.NewReader().Read,
		Duration: t.plan.Config.Duration, OutputTokens: t.plan.Config.OutputTokens, Temperature: t.plan.Config.Temperature,
		Prompts: t.plan.Config.Prompts, Start: t.plan.Config.Start, Seed: run.Seed,
		Timeout: o.timeout, PrefillTokS: o.prefillTokS, AllowBusy: o.allowBusy, Watch: watch,
	}
	if t.server.HasGauges() {
		cfg.Gauges = gauges(t.server)
	}
	if t.server.NeedsAbort() {
		cfg.Abort = t.server.Abort
	}
	loader, err := load.New(cfg)
	if err != nil {
		return session.Outcome{}, err
	}
	if err := loader.WaitIdle(ctx); err != nil {
		return session.Outcome{Run: run, Stopped: err, Interrupted: ctx.Err() != nil}, nil
	}
	if run.Method.PromptSizing, err = sizer.prepare(ctx); err != nil {
		return session.Outcome{Run: run, Stopped: err, Interrupted: ctx.Err() != nil}, nil
	}
	show := o.newDisplay(p, t, watch, run)
	defer show.close()
	return session.Run(ctx, session.Config{
		Plan: t.plan, Loader: loader, Log: log, Run: run, MaxTime: o.maxTime, Done: show.done,
	})
}

// finish completes or leaves the run, says where it is, and chooses the exit code.
func (o *options) finish(p process, log *eventlog.Writer, out session.Outcome, err error) error {
	if err != nil || out.Stopped != nil || out.Interrupted {
		return o.leave(p, log, out, err)
	}
	dir, err := log.Complete(out.Run)
	if err != nil {
		return o.leave(p, log, out, err)
	}
	o.sayFolder(p, dir)
	sum, err := summarize(dir)
	if err != nil {
		return err
	}
	if failed := failedCells(sum); failed > 0 {
		return &exitError{exitCellFailed, fmt.Errorf("%d cells failed; see measure show %s", failed, dir)}
	}
	return nil
}

// leave keeps what was measured for --resume, or removes a folder in which nothing was.
func (o *options) leave(p process, log *eventlog.Writer, out session.Outcome, err error) error {
	if len(log.Done()) == 0 {
		err = errors.Join(err, log.Discard())
	} else {
		fmt.Fprintf(p.stderr, "measure: what was measured is in %s; go on with: measure run --url … --resume %s\n", log.Dir(), log.Dir())
	}
	switch {
	case err != nil:
		return err
	case out.Interrupted:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	default:
		return serverError(out.Stopped)
	}
}

func (o *options) sayFolder(p process, dir string) {
	if o.json {
		fmt.Fprintf(p.stdout, "{\"run\":%q}\n", dir)
		return
	}
	if o.quiet {
		fmt.Fprintln(p.stdout, dir)
		return
	}
	fmt.Fprintf(p.stdout, "\n%s\nTables: measure show %s\nPages:  sitegen build --results %s\n", dir, dir, filepath.Dir(dir))
}

// gauges adapts the probe's gauges to the loader's.
func gauges(s *probe.Server) func(context.Context) (load.Gauges, error) {
	return func(ctx context.Context) (load.Gauges, error) {
		g, err := s.Gauges(ctx)
		return load.Gauges{Running: g.Running, Waiting: g.Waiting, NoQueue: g.NoQueue, KVUsage: g.KVUsage}, err
	}
}
