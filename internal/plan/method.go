package plan

import (
	"time"

	"speedmatrix/internal/metric"
)

// Figures of the measuring method that both the plan's estimate and the load generator go by.
const (
	PrefillSamples      = metric.MinPrefillSamples // cold requests of a prefill row, each a new prompt
	PrefillBudget       = 60 * time.Second         // no further cold sample of a row once this much is spent on it
	PrefillOutputTokens = 16                       // output asked of a cold sample: enough for engines that hold the first tokens back

	ScoutOutputTokens = 1                  // output asked of a scout
	ReadyFor          = 3 * time.Second    // how long readiness must hold before the window opens
	ProbeRestarts     = metric.MinRestarts // restarts that a decode cell needs, of its window and its probe phase together
	ProbeBudget       = 15 * time.Second   // the probe phase is over after this
)

// PresetInferenceBench is the --preset for comparing with pages made by llm-inference-bench. It sets shared
// prompts and a common start, and rules cells out by that tool's worst case: every request is counted with a
// context of its own, C x (context + output), though the server shares the one context between them.
const PresetInferenceBench = "llm-inference-bench"

// Bounds of what may be asked. They keep every sum of tokens within int64 and refuse slips of the keyboard.
const (
	MinContext     = 64      // below this a prompt has no room for its tag, body and instruction
	MaxTokens      = 1 << 24 // of one context or one answer
	MaxConcurrency = 1 << 14
	MaxRepeats     = 1000
	maxListed      = 64 // entries of one list
)

// prefillReserve is kept free below the model's limit in a prefill row: 64 tokens for a chat template that
// grows, one for the answer (METRICS, "Sizes").
const prefillReserve = 65
