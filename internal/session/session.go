// Package session carries out a plan: it runs the passes in the plan's order, stores each as soon as it is
// finished, skips what a lower concurrency has shown to be pointless, and stops in good order when the time is
// up, the server is gone or the user interrupts.
//
// After each pass the events are written first, then run.toml: a crash between the two costs that pass only, since a
// pass counts as done when both say so. Package session prints nothing and reads no flags.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/load"
	"speedmatrix/internal/plan"
)

// Config is one execution of a plan.
type Config struct {
	Plan    plan.Plan
	Loader  *load.Loader
	Log     Store
	Run     event.Run     // as stored; its Cells are the plan's
	MaxTime time.Duration // begin no further pass after this; 0: no limit
	Done    func(Finished)
}

// Store keeps what a session measures; an *eventlog.Writer is one.
type Store interface {
	Done() map[eventlog.Step]bool // passes whose events are stored
	Part(step eventlog.Step, reqs []event.Request, samples []event.Sample) error
	Drop(step eventlog.Step) error // a stored pass that is to be measured again
	Save(run event.Run) error
}

// Finished tells what became of one pass.
type Finished struct {
	Step   plan.Step
	Cell   event.Cell
	Result load.PassResult
	Number int // of Total
	Total  int
}

// Outcome is how the session ended.
type Outcome struct {
	Run         event.Run
	Measured    int   // passes stored, in this session
	Interrupted bool  // by the context
	Stopped     error // the server's doing: it is gone, or refuses; nil otherwise
}

// Run carries out the plan. An error is the tool's: results could not be stored, a prompt could not be written.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	s := &session{cfg: cfg, run: cfg.Run, began: time.Now()}
	s.run.Cells = slices.Clone(cfg.Run.Cells)
	steps := s.todo()
	for i, step := range steps {
		cell := &s.run.Cells[step.Cell]
		if cell.Status != event.Ran {
			continue
		}
		if cfg.MaxTime > 0 && time.Since(s.began) >= cfg.MaxTime {
			s.leave(steps[i:], fmt.Sprintf("the run's --max-time of %s was over", cfg.MaxTime))
			break
		}
		res, err := s.pass(ctx, step)
		if err != nil {
			stopped := serverDoing(err)
			if stopped == nil {
				return s.outcome(ctx, nil), err
			}
			return s.outcome(ctx, stopped), s.save()
		}
		if err := s.store(step, res); err != nil {
			return s.outcome(ctx, nil), err
		}
		if cfg.Done != nil {
			cfg.Done(Finished{Step: step, Cell: *cell, Result: res, Number: i + 1, Total: len(steps)})
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s.outcome(ctx, nil), s.save()
}

type session struct {
	cfg      Config
	run      event.Run
	began    time.Time
	measured int
}

func (s *session) outcome(ctx context.Context, stopped error) Outcome {
	return Outcome{Run: s.run, Measured: s.measured, Interrupted: ctx.Err() != nil, Stopped: stopped}
}

// todo are the steps that have not been finished: those whose pass is in run.toml and whose events are stored.
func (s *session) todo() []plan.Step {
	stored := s.cfg.Log.Done()
	var steps []plan.Step
	for _, step := range s.cfg.Plan.Order {
		if !stored[eventlog.Step(step)] || !finished(s.run.Cells[step.Cell], step.Repeat) {
			steps = append(steps, step)
		}
	}
	return steps
}

func finished(c event.Cell, repeat int) bool {
	i := slices.IndexFunc(c.Passes, func(p event.Pass) bool { return p.Repeat == repeat })
	return i >= 0 && c.Passes[i].Stop != event.StopInterrupted
}

func (s *session) pass(ctx context.Context, step plan.Step) (load.PassResult, error) {
	c := s.run.Cells[step.Cell]
	cell := load.Cell{Index: step.Cell, Repeat: step.Repeat, Context: c.Context, Concurrency: c.Concurrency}
	if c.Phase == event.Prefill {
		return s.cfg.Loader.Prefill(ctx, cell)
	}
	return s.cfg.Loader.Decode(ctx, cell)
}

// store keeps a pass: its events, then what run.toml says of it. A pass whose window never opened leaves no
// trace unless it tells why.
func (s *session) store(step plan.Step, res load.PassResult) error {
	cell := &s.run.Cells[step.Cell]
	opened := res.Pass.WindowEndUS > res.Pass.WindowStartUS
	if !opened && res.Status == event.Ran {
		return nil
	}
	if err := s.cfg.Log.Drop(eventlog.Step(step)); err != nil {
		return err
	}
	if err := s.cfg.Log.Part(eventlog.Step(step), res.Requests, res.Samples); err != nil {
		return err
	}
	if opened && res.Status == event.Ran {
		setPass(cell, res.Pass)
	}
	if res.Status != event.Ran && len(cell.Passes) == 0 {
		cell.Status = res.Status
	}
	if res.Reason != "" {
		cell.Reason = res.Reason
	}
	s.keepDropped(res.Dropped)
	if res.Pass.Stop != event.StopInterrupted {
		s.skipHigher(step, res)
		s.measured++
	}
	return s.save()
}

// setPass puts a pass in its place, replacing an interrupted one of the same repeat.
func setPass(c *event.Cell, p event.Pass) {
	c.Passes = slices.DeleteFunc(slices.Clone(c.Passes), func(q event.Pass) bool { return q.Repeat == p.Repeat })
	c.Passes = append(c.Passes, p)
	slices.SortFunc(c.Passes, func(a, b event.Pass) int { return a.Repeat - b.Repeat })
}

// keepDropped notes optional request fields that the server refused, once each.
func (s *session) keepDropped(fields []string) {
	for _, f := range fields {
		if !slices.Contains(s.run.Method.Dropped, f) {
			s.run.Method.Dropped = append(s.run.Method.Dropped, f)
		}
	}
	slices.Sort(s.run.Method.Dropped)
}

// skipHigher marks the higher concurrencies of a decode row as skipped when this one was queued, unready or
// failed: they would only repeat it. A cell that already ran in an earlier repeat keeps its figures.
func (s *session) skipHigher(step plan.Step, res load.PassResult) {
	status := tells(res)
	if status == event.Ran {
		return
	}
	told := s.run.Cells[step.Cell]
	for _, i := range s.cfg.Plan.Above(step.Cell) {
		c := &s.run.Cells[i]
		if c.Status == event.Ran && len(c.Passes) == 0 {
			c.Status = event.Skipped
			c.Reason = plan.SkipReason(told, status, int(res.Ran))
		}
	}
}

// tells is the status of a pass that makes higher concurrencies pointless, event.Ran when it does not.
func tells(res load.PassResult) event.Status {
	switch {
	case res.Status == event.Unready:
		return event.Unready
	case res.Pass.Stop == event.StopQueued:
		return event.Queued
	case res.Pass.Stop == event.StopFailed || res.Failed:
		return event.Failed
	}
	return event.Ran
}

// leave marks cells that have not run at all.
func (s *session) leave(steps []plan.Step, reason string) {
	for _, step := range steps {
		c := &s.run.Cells[step.Cell]
		if c.Status == event.Ran && len(c.Passes) == 0 {
			c.Status, c.Reason = event.NotRun, reason
		}
	}
}

func (s *session) save() error { return s.cfg.Log.Save(s.run) }

// serverDoing returns err when the server is the cause, nil when it is the tool.
func serverDoing(err error) error {
	var refused *load.RefusedError
	var busy *load.BusyError
	if errors.Is(err, load.ErrServerGone) || errors.As(err, &refused) || errors.As(err, &busy) {
		return err
	}
	return nil
}
