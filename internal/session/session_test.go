package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/load"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/session"
	"speedmatrix/internal/simengine"
	"speedmatrix/internal/simtest"
)

// newRun plans a matrix for the rig and creates its folder.
func newRun(t *testing.T, r *simtest.Rig, concurrency ...int) session.Config {
	t.Helper()
	p, err := plan.Build(plan.Config{
		Contexts: []int{512}, Concurrency: concurrency, Prefill: []int{512}, Duration: 10 * time.Second, OutputTokens: 1024,
		Repeats: 1, Seed: 1, Prompts: event.PerStream, Start: event.Staggered, Endpoint: "chat",
	}, plan.Limits{CapacityTokens: r.Server.CapacityTokens, Context: r.Server.Limit})
	if err != nil {
		t.Fatal(err)
	}
	run := event.Run{Method: p.Method(), Capacity: p.Limits.Capacity(), Cells: p.Cells}
	return session.Config{Plan: p, Loader: r.Loader, Log: &memory{parts: map[eventlog.Step][]event.Request{}}, Run: run}
}

// memory is a store without files: parquet-go keeps encoders for reuse whose channels must not cross from one
// synctest bubble into another.
type memory struct {
	parts map[eventlog.Step][]event.Request
	saved event.Run
	order []string
}

func (m *memory) Done() map[eventlog.Step]bool {
	done := map[eventlog.Step]bool{}
	for s := range m.parts {
		done[s] = true
	}
	return done
}

func (m *memory) Part(s eventlog.Step, reqs []event.Request, _ []event.Sample) error {
	if _, twice := m.parts[s]; twice {
		return errors.New("stored twice")
	}
	m.parts[s] = reqs
	m.order = append(m.order, "part")
	return nil
}

func (m *memory) Drop(s eventlog.Step) error {
	delete(m.parts, s)
	return nil
}

func (m *memory) Save(run event.Run) error {
	m.saved = run
	m.order = append(m.order, "save")
	return nil
}

func statuses(run event.Run) string {
	var b strings.Builder
	for _, c := range run.Cells {
		if c.Status == event.Ran && len(c.Passes) > 0 {
			b.WriteString("ran:" + string(c.Passes[0].Stop))
		} else {
			b.WriteString(string(c.Status))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func TestWholePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newRun(t, simtest.New(t, nil), 1, 4)
		var told []string
		cfg.Done = func(f session.Finished) { told = append(told, f.Cell.Label) }
		out, err := session.Run(t.Context(), cfg)
		if err != nil || out.Stopped != nil || out.Interrupted {
			t.Fatalf("error %v, stopped %v, interrupted %v", err, out.Stopped, out.Interrupted)
		}
		if got := statuses(out.Run); got != "ran:done ran:done ran:done" || out.Measured != 3 || len(told) != 3 {
			t.Errorf("cells %q, %d measured, %d told, want three that ran", got, out.Measured, len(told))
		}
		store := cfg.Log.(*memory)
		if got, want := strings.Join(store.order, " "), "part save part save part save save"; got != want {
			t.Errorf("stored %q, want %q: events before what run.toml says of them", got, want)
		}
		if statuses(store.saved) != statuses(out.Run) {
			t.Errorf("saved cells %q, want %q", statuses(store.saved), statuses(out.Run))
		}
	})
}

func TestQueuedRowIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, func(o *simengine.Options, _ *load.Config) { o.MaxRunning = 4 })
		cfg := newRun(t, r, 2, 8, 16)
		out, err := session.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := statuses(out.Run), "ran:done ran:done ran:queued skipped"; got != want {
			t.Errorf("cells %q, want %q", got, want)
		}
		if why, want := out.Run.Cells[3].Reason, "skipped: 8 requests at once already queued (ran 4 of 8)"; why != want {
			t.Errorf("reason %q, want %q", why, want)
		}
	})
}

func TestInterruptedRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newRun(t, simtest.New(t, nil), 1, 4)
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Done = func(f session.Finished) {
			if f.Step.Cell == 1 {
				cancel() // while the last pass has yet to begin
			}
		}
		out, err := session.Run(ctx, cfg)
		if err != nil || !out.Interrupted || out.Measured != 2 {
			t.Fatalf("error %v, interrupted %v, %d measured, want two passes and an interrupt", err, out.Interrupted, out.Measured)
		}
		cfg.Run, cfg.Done = out.Run, nil
		out, err = session.Run(t.Context(), cfg)
		if err != nil || out.Measured != 1 || statuses(out.Run) != "ran:done ran:done ran:done" {
			t.Errorf("error %v, %d measured, cells %q, want only the missing pass measured", err, out.Measured, statuses(out.Run))
		}
	})
}

func TestInterruptedWindowIsKeptAndMeasuredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newRun(t, simtest.New(t, nil), 4)
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second) // prefill and readiness take about 4 s
		defer cancel()
		out, err := session.Run(ctx, cfg)
		if err != nil || !out.Interrupted {
			t.Fatalf("error %v, interrupted %v", err, out.Interrupted)
		}
		if got := statuses(out.Run); got != "ran:done ran:interrupted" {
			t.Fatalf("cells %q, want the interrupted window kept", got)
		}
		cfg.Run = out.Run
		out, err = session.Run(t.Context(), cfg)
		if err != nil || statuses(out.Run) != "ran:done ran:done" || len(out.Run.Cells[1].Passes) != 1 {
			t.Errorf("error %v, cells %q, want the window measured again in place of the interrupted one", err, statuses(out.Run))
		}
	})
}

func TestMaxTimeEndsInGoodOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newRun(t, simtest.New(t, nil), 1, 4)
		cfg.MaxTime = 5 * time.Second
		out, err := session.Run(t.Context(), cfg)
		if err != nil || out.Interrupted {
			t.Fatalf("error %v, interrupted %v", err, out.Interrupted)
		}
		if got, want := statuses(out.Run), "ran:done ran:done not-run"; got != want {
			t.Errorf("cells %q, want %q: the pass under way is finished, no other begun", got, want)
		}
	})
}

func TestServerDiesAndStaysDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := simtest.New(t, nil)
		cfg := newRun(t, r, 1, 4)
		cfg.Done = func(f session.Finished) {
			if f.Step.Cell == 1 {
				time.AfterFunc(10*time.Second, r.Stop) // within the next window
			}
		}
		out, err := session.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(out.Stopped, load.ErrServerGone) || out.Measured != 2 {
			t.Errorf("stopped by %v with %d passes measured, want ErrServerGone and the two finished ones", out.Stopped, out.Measured)
		}
	})
}

// TestSlowTerminal has the row "slow terminal, stderr to a slow disk" of the load table: what a listener does with its time
// between passes changes no number.
func TestSlowTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var figures [2][]int64
		for i, slow := range []time.Duration{0, time.Minute} {
			r := simtest.New(t, nil)
			cfg := newRun(t, r, 1, 4)
			cfg.Done = func(session.Finished) { time.Sleep(slow) }
			out, err := session.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			for cell, c := range out.Run.Cells {
				w := c.Passes[0]
				reqs := cfg.Log.(*memory).parts[eventlog.Step{Cell: cell}]
				figures[i] = append(figures[i], simtest.TokensIn(reqs, w.WindowStartUS, w.WindowEndUS), int64(len(reqs)), reqs[0].ChunkUS[0])
			}
			r.Stop()
		}
		if !slices.Equal(figures[0], figures[1]) {
			t.Errorf("tokens in the window, requests and first TTFT of each cell: %v with a slow terminal, %v without", figures[1], figures[0])
		}
	})
}
