package plan

import (
	"time"

	"speedmatrix/internal/event"
)

// Expectation is what a run will cost, as far as that can be said before it.
type Expectation struct {
	Steps []StepExpectation // one for each of Plan.Order, in that order

	// NewTokens are prompt tokens that the server has not seen before and must prefill.
	NewTokens int64
	// SentTokens are all prompt tokens sent, those in the prefix cache included: what a paid endpoint counts. A
	// lower bound: how often streams start again within a window depends on the server's speed.
	SentTokens int64
	// Duration is the expected time of all steps.
	Duration time.Duration
	// PrefillUnknown says that no prefill rate was known and Duration leaves prefill out.
	PrefillUnknown bool
	// AtLeast says that NewTokens is a lower bound too: with fresh prompts every restart brings a new one.
	AtLeast bool
}

// StepExpectation is one step's share of an Expectation.
type StepExpectation struct {
	NewTokens  int64
	SentTokens int64
	Duration   time.Duration
}

// Estimate adds up what the plan sends and how long it takes at a prefill rate in tokens a second; 0 when not
// known. A decode pass takes its scouts at that rate, the readiness, the window and the whole probe phase.
func Estimate(p Plan, prefillTokS float64) Expectation {
	e := Expectation{PrefillUnknown: prefillTokS <= 0 && len(p.Order) > 0, AtLeast: p.Config.Prompts == event.Fresh && !p.Config.SkipDecode}
	warm := warmStreams{}
	for _, step := range p.Order {
		var s StepExpectation
		if cell := p.Cells[step.Cell]; cell.Phase == event.Prefill {
			s = prefillStep(cell, prefillTokS)
		} else {
			s = decodeStep(p.Config, cell, warm.add(p.Config.Prompts, cell, step.Repeat), prefillTokS)
		}
		e.Steps = append(e.Steps, s)
		e.NewTokens += s.NewTokens
		e.SentTokens += s.SentTokens
		e.Duration = min(e.Duration+s.Duration, century)
	}
	return e
}

// prefillStep takes cold samples until there are enough or their time is spent.
func prefillStep(cell event.Cell, rate float64) StepExpectation {
	var s StepExpectation
	for range PrefillSamples {
		s.NewTokens += int64(cell.Context)
		s.Duration = prefillTime(s.NewTokens, rate)
		if s.Duration >= PrefillBudget {
			break
		}
	}
	s.SentTokens = s.NewTokens
	return s
}

// decodeStep counts scouts contexts to be prefilled first, then the first request of each stream, and as many
// restarts as the cell must have.
func decodeStep(cfg Config, cell event.Cell, scouts int, rate float64) StepExpectation {
	ctx, c := int64(cell.Context), int64(cell.Concurrency)
	requests := (c + ProbeRestarts) * ctx
	s := StepExpectation{NewTokens: int64(scouts) * ctx, SentTokens: int64(scouts)*ctx + requests}
	if cfg.Prompts == event.Fresh {
		s.NewTokens = requests
	}
	if cfg.Start == event.Staggered {
		// The offsets average one half, so the first requests carry C x output / 2 tokens more.
		extra := c * int64(cfg.OutputTokens) / 2
		s.NewTokens += extra
		s.SentTokens += extra
	}
	s.Duration = prefillTime(s.NewTokens, rate) + ReadyFor + cfg.Duration + ProbeBudget
	return s
}

// century caps expected times, which overflow after three of them.
const century = 100 * 365 * 24 * time.Hour

// prefillTime is 0 when the rate is not known.
func prefillTime(tokens int64, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(min(float64(tokens)/rate, century.Seconds()) * float64(time.Second))
}

// warmStreams remembers how many streams of each row already have their context in the server's cache.
type warmStreams map[warmRow]int

type warmRow struct{ context, repeat int }

// add returns the scouts that this pass needs: one for each stream that the row has not had yet; one for the
// whole row when the prompt is shared; none when every request is cold anyway.
func (w warmStreams) add(mode event.PromptMode, cell event.Cell, repeat int) int {
	streams := cell.Concurrency
	switch mode {
	case event.Fresh:
		return 0
	case event.Shared:
		streams = 1
	}
	row := warmRow{cell.Context, repeat}
	scouts := max(0, streams-w[row])
	w[row] += scouts
	return scouts
}
