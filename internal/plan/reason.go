package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"speedmatrix/internal/event"
)

func from(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}

func capacityReason(needed int64, lim Limits) string {
	return fmt.Sprintf("needs %s tokens, the KV cache holds %s%s", grouped(needed), grouped(*lim.CapacityTokens), from(lim.CapacitySource))
}

func lengthReason(context, output int, lim Limits) string {
	return fmt.Sprintf("context %s and output %s make %s tokens, the model takes %s%s", grouped(int64(context)), grouped(int64(output)),
		grouped(int64(context)+int64(output)), grouped(*lim.Context), from(lim.ContextSource))
}

func prefillLengthReason(context int, lim Limits) string {
	return fmt.Sprintf("a prompt of %s tokens, the model takes %s%s with the answer", grouped(int64(context)), grouped(*lim.Context), from(lim.ContextSource))
}

// SkipReason says why a cell was skipped: telling is the cell of the same row that showed it, status what became
// of it, and ran how many of its requests the server ran at once (queued only).
func SkipReason(telling event.Cell, status event.Status, ran int) string {
	head := fmt.Sprintf("skipped: %d requests at once", telling.Concurrency)
	if telling.Concurrency == 1 {
		head = "skipped: 1 request"
	}
	switch status {
	case event.Queued:
		return fmt.Sprintf("%s already queued (ran %d of %d)", head, ran, telling.Concurrency)
	case event.Unready:
		return head + " already got no token in time"
	case event.Failed:
		return head + " already failed"
	}
	return head + " already was " + string(status)
}

// Above returns the indices of the cells of the same row with a higher concurrency that were to run: those to be
// skipped when the given cell queued, failed or never got ready.
func (p Plan) Above(cell int) []int {
	var out []int
	at := p.Cells[cell]
	for i, c := range p.Cells {
		if c.Phase == at.Phase && c.Context == at.Context && c.Concurrency > at.Concurrency && c.Status == event.Ran {
			out = append(out, i)
		}
	}
	return out
}

// NothingFitsError says that the model's limit rules out every decode cell, and what would fit instead.
type NothingFitsError struct {
	Limit       int64 // longest prompt + output, in tokens
	LimitSource string
	Context     int   // the smallest context asked
	Output      int   // output asked
	FitContexts []int // ascending; empty when the server takes hardly anything
	FitOutput   int
}

func (e *NothingFitsError) Error() string {
	s := fmt.Sprintf("nothing fits this server: the smallest context asked is %s and the output %s tokens, the model takes %s%s for both",
		Label(e.Context), grouped(int64(e.Output)), grouped(e.Limit), from(e.LimitSource))
	if len(e.FitContexts) == 0 {
		return s + "; start it with a longer context"
	}
	return fmt.Sprintf("%s; try --contexts %s --max-tokens %d", s, Labels(e.FitContexts), e.FitOutput)
}

// nothingFits proposes contexts that are powers of two, the four longest that leave room for the output. An output that
// takes more than a quarter of the limit gives way first, to an eighth of it.
func nothingFits(cfg Config, lim Limits) *NothingFitsError {
	e := &NothingFitsError{Limit: *lim.Context, LimitSource: lim.ContextSource, Context: cfg.Contexts[0], Output: cfg.OutputTokens, FitOutput: cfg.OutputTokens}
	if int64(cfg.OutputTokens) > *lim.Context/4 {
		e.FitOutput = max(2, powerOfTwo(int(min(*lim.Context/8, MaxTokens))))
	}
	for c := powerOfTwo(room(*lim.Context, e.FitOutput)); c >= MinContext && len(e.FitContexts) < 4; c /= 2 {
		e.FitContexts = append(e.FitContexts, c)
	}
	slices.Reverse(e.FitContexts)
	return e
}

// powerOfTwo is the largest power of two that is at most n, 0 below 1.
func powerOfTwo(n int) int {
	if n < 1 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}
