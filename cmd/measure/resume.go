package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/plan"
)

// resumeRun goes on with an interrupted run: same server, same model, same plan, same method, or it refuses and
// says which differs.
func (o *options) resumeRun(ctx context.Context, p process) error {
	log, err := eventlog.Resume(o.resume)
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	stored := log.Run()
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
	if diffs := differences(stored, t); len(diffs) > 0 {
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

// differences names what is not as it was when the run began.
func differences(stored event.Run, t target) []string {
	var out []string
	differ := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s was %q and is %q", what, was, is))
		}
	}
	differ("the engine", stored.Engine.Text("name"), t.fact("engine", "name"))
	differ("the engine's version", stored.Engine.Text("version"), t.fact("engine", "version"))
	differ("the model", stored.Model.Text("served"), t.server.Model)
	if len(stored.Cells) != len(t.plan.Cells) {
		return append(out, fmt.Sprintf("the plan had %d cells and has %d", len(stored.Cells), len(t.plan.Cells)))
	}
	for i, c := range t.plan.Cells {
		s := stored.Cells[i]
		if s.Phase != c.Phase || s.Context != c.Context || s.Concurrency != c.Concurrency || (c.Status == event.Ran) == (s.Status == event.OverCapacity || s.Status == event.OverLength) {
			return append(out, fmt.Sprintf("the plan's cell %s was %s", cellName(c), cellName(s)))
		}
	}
	return out
}

// fact is what the server said, "" when it did not.
func (t target) fact(table, key string) string {
	for _, f := range t.server.Facts {
		if f.Table == table && f.Key == key {
			return fmt.Sprint(f.Value)
		}
	}
	return ""
}
