package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/session"
)

// resumeRun goes on with an interrupted run: same server, same model, same plan, same method, or it refuses and
// says which differs.
func (o *options) resumeRun(ctx context.Context, p process) error {
	log, err := eventlog.Resume(o.resume)
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	stored := log.Run()
	if nothingLeft(stored, log.Done()) { // only to be put in its place: no server is needed
		defer func() { _ = log.Close() }()
		return o.finish(p, log, session.Outcome{Run: stored}, nil)
	}
	t, err := o.resumeTarget(ctx, p, stored)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	if err := o.ask(t, p); err != nil {
		return errors.Join(err, log.Close())
	}
	stored.Method.Resumed++
	if err := log.Save(stored); err != nil {
		return errors.Join(err, log.Close())
	}
	return o.measure(ctx, p, t, log)
}

// nothingLeft reports whether every pass of a run is finished and its events are stored.
func nothingLeft(run event.Run, stored map[eventlog.Step]bool) bool {
	for i, c := range run.Cells {
		if c.Status != event.Ran {
			continue
		}
		done := 0
		for _, p := range c.Passes {
			if p.Stop != event.StopInterrupted && stored[eventlog.Step{Cell: i, Repeat: p.Repeat}] {
				done++
			}
		}
		if done < run.Method.Repeats {
			return false
		}
	}
	return true
}

func (o *options) resumeTarget(ctx context.Context, p process, stored event.Run) (target, error) {
	if stored.Tool.Method != event.MethodVersion {
		return target{}, usageError("--resume %s: it was measured by method %d, this program measures by method %d; begin a new run", o.resume, stored.Tool.Method, event.MethodVersion)
	}
	if err := o.takeFrom(stored); err != nil {
		return target{}, err
	}
	t, err := o.target(ctx, p)
	if err != nil {
		return t, err
	}
	today, err := o.describeRun(ctx, t, time.Now())
	if err != nil {
		return t, err
	}
	if diffs := append(factDifferences(stored, today), planDifferences(stored, t)...); len(diffs) > 0 {
		return t, usageError("--resume %s: %s; begin a new run, or serve what was measured", o.resume, strings.Join(diffs, "; "))
	}
	return t, nil
}

// takeFrom sets the plan's flags as the run has them. A flag that was typed must say the same.
func (o *options) takeFrom(run event.Run) error {
	m := run.Method
	values := [][2]string{
		{"contexts", plan.Labels(m.Contexts)},
		{"concurrency", orWord(joinInts(m.Concurrency), "none")},
		{"prefill", orWord(plan.Labels(m.Prefill), "none")},
		{"duration", strconv.FormatFloat(m.DurationS, 'f', -1, 64) + "s"},
		{"max-tokens", strconv.Itoa(m.OutputTokens)},
		{"prompts", string(m.Prompts)},
		{"start", string(m.Start)},
		{"repeats", strconv.Itoa(m.Repeats)},
		{"temperature", strconv.FormatFloat(m.Temperature, 'g', -1, 64)},
		{"endpoint", m.Endpoint},
		{"preset", run.Tool.Preset},
		{"seed", strconv.FormatUint(run.Seed, 10)},
	}
	if served := run.Model.Text("served"); served != "" {
		values = append(values, [2]string{"model", served})
	}
	if c := run.Capacity; c.Tokens != nil && c.Source == "--kv-tokens" {
		values = append(values, [2]string{"kv-tokens", strconv.FormatInt(*c.Tokens, 10)})
	}
	if c := run.Capacity; c.Limit != nil && c.LimitSource == "--max-model-len" {
		values = append(values, [2]string{"max-model-len", strconv.FormatInt(*c.Limit, 10)})
	}
	if m.AllowBusy {
		values = append(values, [2]string{"allow-busy", "true"})
	}
	var errs []error
	for _, v := range values {
		f := o.flags.Lookup(v[0])
		typed, was := f.Changed, f.Value.String()
		if err := o.flags.Set(v[0], v[1]); err != nil {
			return fmt.Errorf("--resume: stored %s %q: %w", v[0], v[1], err)
		}
		if typed && f.Value.String() != was && !sameSizes(was, v[1]) {
			errs = append(errs, fmt.Errorf("--resume: --%s %s differs from the run's %s; leave it out", v[0], was, v[1]))
		}
		f.Changed = typed
	}
	return joinUsage(errs)
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// sameSizes reports whether two lists of sizes mean the same: "8K" and "8192".
func sameSizes(a, b string) bool {
	x, errX := plan.ParseSizes(a)
	y, errY := plan.ParseSizes(b)
	return errX == nil && errY == nil && plan.Labels(x) == plan.Labels(y)
}

// factDifferences names the facts of server, model and machine that are not as they were when the run began. What was
// told by the user then and is found by itself today, or the other way round, cannot be compared.
func factDifferences(stored, today event.Run) []string {
	var out []string
	for _, f := range []struct {
		what       string
		was, is    event.Facts
		table, key string
		required   bool // knowing nothing of it today is a difference
	}{
		{"the engine", stored.Engine, today.Engine, "engine", "name", true},
		{"the engine's version", stored.Engine, today.Engine, "engine", "version", true},
		{"the simulated engine's profile", stored.Engine, today.Engine, "engine", "profile", false},
		{"the model", stored.Model, today.Model, "model", "served", true},
		{"the model's id", stored.Model, today.Model, "model", "id", false},
		{"the model's quantization", stored.Model, today.Model, "model", "quantization", false},
		{"the GPU", stored.Hardware, today.Hardware, "hardware", "gpu", false},
		{"the number of GPUs", stored.Hardware, today.Hardware, "hardware", "gpu_count", false},
	} {
		name := f.table + "." + f.key
		was, known := f.was[f.key]
		is, found := f.is[f.key]
		switch {
		case !f.required && (!known || !found):
		case (stored.Sources[name] == event.FromUser) != (today.Sources[name] == event.FromUser):
		case factText(was) != factText(is):
			out = append(out, fmt.Sprintf("%s was %q and is %q", f.what, factText(was), factText(is)))
		}
	}
	return out
}

func factText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// planDifferences names the first cell that the server of today would have planned otherwise.
func planDifferences(stored event.Run, t target) []string {
	if len(stored.Cells) != len(t.plan.Cells) {
		return []string{fmt.Sprintf("the plan had %d cells and has %d", len(stored.Cells), len(t.plan.Cells))}
	}
	for i, c := range t.plan.Cells {
		s := stored.Cells[i]
		ruledOut := s.Status == event.OverCapacity || s.Status == event.OverLength
		switch {
		case s.Phase != c.Phase || s.Context != c.Context || s.Concurrency != c.Concurrency:
			return []string{fmt.Sprintf("cell %d of the plan was %s and is %s", i, cellName(s), cellName(c))}
		case ruledOut != (c.Status != event.Ran):
			return []string{fmt.Sprintf("the plan's cell %s was %s and is %s", cellName(c), planned(s), planned(c))}
		}
	}
	return nil
}

// planned is what a plan makes of a cell.
func planned(c event.Cell) string {
	if c.Status == event.OverCapacity || c.Status == event.OverLength {
		return string(c.Status)
	}
	return "to run"
}
