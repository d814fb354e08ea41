package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"speedmatrix/internal/event"
)

// Standard is the standard matrix: five contexts by eight concurrencies, 30 s a cell, 4,096 output tokens,
// temperature 0, one repeat, a context of its own for each stream, staggered starts.
func Standard() Config {
	return Config{
		Contexts:     []int{8 * event.K, 16 * event.K, 32 * event.K, 64 * event.K, 128 * event.K},
		Concurrency:  []int{1, 2, 4, 8, 16, 32, 64, 128},
		Duration:     30 * time.Second,
		OutputTokens: 4096,
		Prompts:      event.PerStream,
		Start:        event.Staggered,
		Repeats:      1,
		Seed:         1,
		Endpoint:     "chat",
	}
}

// Validate reports everything that makes no sense in cfg, joined, in terms of the flags that set it. Empty
// Prompts, Start and Endpoint are fine (Build fills in the defaults); numbers have no default here.
func Validate(cfg Config) error {
	var c checker
	if !cfg.SkipDecode || cfg.Prefill == nil {
		c.list("--contexts", cfg.Contexts, MinContext, MaxTokens, "8K,16K")
	}
	if !cfg.SkipDecode {
		c.list("--concurrency", cfg.Concurrency, 1, MaxConcurrency, "1,2,4")
	}
	if cfg.Prefill != nil && !cfg.SkipPrefill {
		c.list("--prefill", cfg.Prefill, MinContext, MaxTokens, "8K,16K")
	}
	c.hold(!cfg.SkipPrefill || !cfg.SkipDecode, "prefill and decode are both left out: nothing to measure; leave out one at most")
	c.hold(cfg.Duration >= time.Second && cfg.Duration <= 24*time.Hour, "--duration %s: must be 1s to 24h", cfg.Duration)
	c.hold(cfg.OutputTokens >= 2 && cfg.OutputTokens <= MaxTokens, "--max-tokens %d: must be 2 to %d", cfg.OutputTokens, MaxTokens)
	c.hold(cfg.Repeats >= 1 && cfg.Repeats <= MaxRepeats, "--repeats %d: must be 1 to %d", cfg.Repeats, MaxRepeats)
	c.hold(cfg.Temperature >= 0 && cfg.Temperature <= 2, "--temperature %v: must be 0 to 2", cfg.Temperature)
	c.hold(cfg.PrefillTokS >= 0 && !math.IsInf(cfg.PrefillTokS, 0), "--prefill-tok-s %v: must be 0 (not known) or a rate in tokens a second", cfg.PrefillTokS)
	c.oneOf("--prompts", string(cfg.Prompts), "", string(event.PerStream), string(event.Shared), string(event.Fresh))
	c.oneOf("--start", string(cfg.Start), "", string(event.Staggered), string(event.Together))
	c.oneOf("--endpoint", cfg.Endpoint, "", "chat", "completions", "ollama")
	c.oneOf("--preset", cfg.Preset, "", PresetInferenceBench)
	return errors.Join(c.errs...)
}

// checker gathers mistakes, so that the user mends them in one go.
type checker struct{ errs []error }

func (c *checker) hold(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checker) list(flag string, values []int, low, high int, example string) {
	c.hold(len(values) > 0, "%s is empty: write it as %s", flag, example)
	c.hold(len(values) <= maxListed, "%s has %d entries: at most %d", flag, len(values), maxListed)
	for _, v := range values {
		c.hold(v >= low && v <= high, "%s %d: must be %d to %d", flag, v, low, high)
	}
}

// oneOf takes the allowed values with the empty one first, which is not named to the user.
func (c *checker) oneOf(flag, value string, allowed ...string) {
	c.hold(slices.Contains(allowed, value), "%s %q: must be one of %q", flag, value, allowed[1:])
}

// normalise sorts and merges the lists, fills in the defaults of empty words and applies the preset.
// The caller's slices are left as they are.
func normalise(cfg Config) Config {
	cfg.Contexts = ascending(cfg.Contexts)
	cfg.Concurrency = ascending(cfg.Concurrency)
	if cfg.Prefill != nil {
		cfg.Prefill = ascending(cfg.Prefill)
	}
	if cfg.Preset == PresetInferenceBench {
		cfg.Prompts, cfg.Start = event.Shared, event.Together
	}
	if cfg.Prompts == "" {
		cfg.Prompts = event.PerStream
	}
	if cfg.Start == "" {
		cfg.Start = event.Staggered
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "chat"
	}
	return cfg
}

// ascending returns a sorted copy without duplicates.
func ascending(values []int) []int {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}
