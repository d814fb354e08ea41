package plan_test

import (
	"errors"
	"reflect"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

// FuzzBuild holds what is true of every plan: one state a cell, a need that grows with context and concurrency,
// nothing beyond the limit or the cache, an order that runs each free cell once a repeat, and the same plan again.
func FuzzBuild(f *testing.F) {
	f.Add(8192, 131072, 4, 128, 4096, 1, int64(1_600_000), int64(131072), 0)
	f.Add(512, 4096, 1, 8, 256, 2, int64(16384), int64(2048), 1)
	f.Add(64, 65, 1, 1, 2, 1, int64(1), int64(130), 2)
	f.Add(1<<24, 64, 1<<14, 1, 1<<24, 1000, int64(0), int64(0), 3)
	f.Fuzz(func(t *testing.T, context1, context2, c1, c2, output, repeats int, capacity, limit int64, mode int) {
		// Folded into what Validate allows, so that most inputs give a plan.
		context1, context2 = fold(context1, plan.MinContext, plan.MaxTokens), fold(context2, plan.MinContext, plan.MaxTokens)
		c1, c2 = fold(c1, 1, plan.MaxConcurrency), fold(c2, 1, plan.MaxConcurrency)
		output, repeats = fold(output, 2, plan.MaxTokens), fold(repeats, 1, 20)
		cfg := plan.Standard()
		cfg.Contexts, cfg.Concurrency = []int{context1, context2}, []int{c1, c2}
		cfg.OutputTokens, cfg.Repeats = output, repeats
		switch mode & 3 {
		case 1:
			cfg.Prompts = event.Shared
		case 2:
			cfg.Prompts = event.Fresh
		case 3:
			cfg.Preset = plan.PresetInferenceBench
		}
		lim := limits(capacity, limit)
		p, err := plan.Build(cfg, lim)
		var nothing *plan.NothingFitsError
		if errors.As(err, &nothing) {
			if lim.Context == nil {
				t.Fatal("nothing fits a server without a limit")
			}
			return
		}
		if err != nil {
			t.Fatalf("a valid config was refused: %v", err)
		}
		again, err := plan.Build(cfg, lim)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatal("two plans from one config differ")
		}
		checkCells(t, p)
		checkOrder(t, p)
		if e := plan.Estimate(p, 1000); e.Duration < 0 || e.NewTokens < 0 || e.SentTokens < e.NewTokens || len(e.Steps) != len(p.Order) {
			t.Fatalf("estimate %+v", e)
		}
	})
}

// fold maps any number into low to high and leaves those within as they are.
func fold(v, low, high int) int {
	if v >= low && v <= high {
		return v
	}
	n := high - low + 1
	return low + ((v-low)%n+n)%n
}

func checkCells(t *testing.T, p plan.Plan) {
	t.Helper()
	type square struct {
		phase                event.Phase
		context, concurrency int
	}
	seen := map[square]bool{}
	for i, c := range p.Cells {
		at := square{c.Phase, c.Context, c.Concurrency}
		if seen[at] {
			t.Fatalf("%+v is there twice", at)
		}
		seen[at] = true
		out := int64(p.Config.OutputTokens)
		if c.Phase == event.Prefill {
			out = plan.PrefillOutputTokens
		}
		overLength := p.Limits.Context != nil && int64(c.Context)+out > *p.Limits.Context
		overCapacity := p.Limits.CapacityTokens != nil && c.NeededTokens > *p.Limits.CapacityTokens
		switch c.Status {
		case event.Ran:
			if overLength || overCapacity || c.Reason != "" {
				t.Fatalf("%+v is to run: over length %v, over capacity %v", c, overLength, overCapacity)
			}
		case event.OverCapacity:
			if !overCapacity || overLength {
				t.Fatalf("%+v: over length %v", c, overLength)
			}
		case event.OverLength:
			// Within half a percent below the limit a context is over-length too.
			if p.Limits.Context == nil {
				t.Fatalf("%+v without a limit", c)
			}
		default:
			t.Fatalf("status %q before the run", c.Status)
		}
		if c.Status != event.Ran && c.Reason == "" {
			t.Fatalf("%+v without a reason", c)
		}
		if c.NeededTokens < int64(c.Context)+out {
			t.Fatalf("%+v needs less than one request", c)
		}
		for _, d := range p.Cells[:i] {
			if d.Phase == c.Phase && d.Context <= c.Context && d.Concurrency <= c.Concurrency && d.NeededTokens >= c.NeededTokens {
				t.Fatalf("%+v needs no more than %+v", c, d)
			}
		}
	}
}

func checkOrder(t *testing.T, p plan.Plan) {
	t.Helper()
	if want := p.Counts().ToRun * p.Config.Repeats; len(p.Order) != want {
		t.Fatalf("%d steps, want %d", len(p.Order), want)
	}
	for i, s := range p.Order {
		if p.Cells[s.Cell].Status != event.Ran {
			t.Fatalf("step %+v runs a cell that is %s", s, p.Cells[s.Cell].Status)
		}
		if i > 0 {
			if q := p.Order[i-1]; q.Repeat > s.Repeat || q.Repeat == s.Repeat && q.Cell >= s.Cell {
				t.Fatalf("step %+v after %+v", s, q)
			}
		}
	}
}
