package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

func TestStandardIsValid(t *testing.T) {
	if err := plan.Validate(plan.Standard()); err != nil {
		t.Error(err)
	}
	cfg := plan.Standard()
	if len(cfg.Contexts) != 5 || cfg.Contexts[4] != 131072 || len(cfg.Concurrency) != 8 || cfg.Concurrency[7] != 128 ||
		cfg.Duration != 30*time.Second || cfg.OutputTokens != 4096 || cfg.Temperature != 0 || cfg.Repeats != 1 ||
		cfg.Prompts != event.PerStream || cfg.Start != event.Staggered {
		t.Errorf("standard %+v", cfg)
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	check := func(want string, change func(*plan.Config)) {
		t.Helper()
		err := plan.Validate(with(change))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	check("--concurrency 0: must be 1 to 16384", func(c *plan.Config) { c.Concurrency = []int{1, 0} })
	check("--concurrency is empty: write it as 1,2,4", func(c *plan.Config) { c.Concurrency = nil })
	check("--contexts 3: must be 64 to", func(c *plan.Config) { c.Contexts = []int{3} })
	check("--contexts is empty", func(c *plan.Config) { c.Contexts = nil })
	check("--contexts has 65 entries", func(c *plan.Config) { c.Contexts = make([]int, 65) })
	check("--prefill -1: must be", func(c *plan.Config) { c.Prefill = []int{-1} })
	check("--prefill is empty", func(c *plan.Config) { c.Prefill = []int{} })
	check("--duration 0s: must be 1s to 24h", func(c *plan.Config) { c.Duration = 0 })
	check("--max-tokens 1: must be 2 to", func(c *plan.Config) { c.OutputTokens = 1 })
	check("--repeats 0: must be 1 to", func(c *plan.Config) { c.Repeats = 0 })
	check("--temperature NaN: must be 0 to 2", func(c *plan.Config) { c.Temperature = math.NaN() })
	check("--prefill-tok-s +Inf", func(c *plan.Config) { c.PrefillTokS = math.Inf(1) })
	check(`--prompts "same": must be one of ["per-stream" "shared" "fresh"]`, func(c *plan.Config) { c.Prompts = "same" })
	check(`--start "now": must be one of ["staggered" "together"]`, func(c *plan.Config) { c.Start = "now" })
	check(`--endpoint "embed"`, func(c *plan.Config) { c.Endpoint = "embed" })
	check(`--preset "x": must be one of ["llm-inference-bench"]`, func(c *plan.Config) { c.Preset = "x" })
	check("nothing to measure", func(c *plan.Config) { c.SkipPrefill, c.SkipDecode = true, true })
}

func TestValidateNamesAllAtOnce(t *testing.T) {
	err := plan.Validate(with(func(c *plan.Config) {
		c.Concurrency, c.Repeats, c.Prompts = []int{0, -1}, -3, "x"
	}))
	if got := strings.Count(err.Error(), "\n") + 1; got != 4 {
		t.Errorf("%d mistakes named, want 4:\n%v", got, err)
	}
}

func TestEmptyWordsHaveDefaults(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.Prompts, c.Start, c.Endpoint = "", "", "" }), plan.Limits{})
	if c := p.Config; c.Prompts != event.PerStream || c.Start != event.Staggered || c.Endpoint != "chat" {
		t.Errorf("defaults: prompts %q, start %q, endpoint %q", c.Prompts, c.Start, c.Endpoint)
	}
}
