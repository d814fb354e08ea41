package plan

import (
	"time"

	"speedmatrix/internal/event"
)

// Config is what the user asked for, before the server's limits are known.
type Config struct {
	Contexts     []int // tokens, as asked; in a Plan trimmed, those that are over-length kept
	Concurrency  []int
	Prefill      []int // nil: as Contexts, together with the trimmed ones; in a Plan the targets
	Duration     time.Duration
	OutputTokens int
	Prompts      event.PromptMode
	Start        event.StartMode
	Repeats      int
	Seed         uint64
	Temperature  float64
	Endpoint     string
	Preset       string // "" or "llm-inference-bench"

	PrefillTokS float64 // expected prefill rate; 0: not known
	SkipPrefill bool
	SkipDecode  bool
}

// Limits is what the server holds. A nil pointer: not known, nothing is ruled out.
type Limits struct {
	CapacityTokens *int64 // KV cache
	CapacitySource string // who said so, e.g. "vllm:cache_config_info"; named in reasons
	Context        *int64 // longest prompt + output
	ContextSource  string
}

// Plan is the whole run, decided before any load. It is a function of Config and Limits alone.
type Plan struct {
	Config Config       // normalised: sorted, trimmed, without duplicates
	Limits Limits       // what it was held against
	Cells  []event.Cell // prefill rows first, then decode: context rows in turn, concurrency ascending in each
	Order  []Step       // what runs, in order: all of repeat 0, then of repeat 1
}

// Step is one pass to run.
type Step struct {
	Cell   int // index into Plan.Cells
	Repeat int
}
