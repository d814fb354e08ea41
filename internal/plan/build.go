package plan

import (
	"errors"

	"speedmatrix/internal/event"
)

// Build decides the run: every cell of the matrix with the KV cache it needs and, where the server cannot take
// it, the reason; then the order of the passes. Cells outlive their exclusion, so that a page shows the whole
// matrix.
//
// It returns Validate's error for a config that makes no sense, and a *NothingFitsError when the model's limit
// rules out every decode cell.
func Build(cfg Config, lim Limits) (Plan, error) {
	if err := Validate(cfg); err != nil {
		return Plan{}, err
	}
	if err := checkLimits(lim); err != nil {
		return Plan{}, err
	}
	cfg = normalise(cfg)
	p := Plan{Config: cfg, Limits: lim}

	contexts := fitContexts(cfg.Contexts, cfg.OutputTokens, lim.Context)
	if !cfg.SkipDecode && len(fitting(contexts)) == 0 {
		return Plan{}, nothingFits(cfg, lim)
	}
	p.Config.Contexts = nil
	for _, c := range contexts {
		p.Config.Contexts = append(p.Config.Contexts, c.tokens)
	}

	p.Config.Prefill = nil
	if !cfg.SkipPrefill {
		for _, t := range prefillTargets(prefillSizes(cfg, contexts), lim.Context) {
			p.Config.Prefill = append(p.Config.Prefill, t.tokens)
			p.Cells = append(p.Cells, prefillCell(t, lim))
		}
	}
	if !cfg.SkipDecode {
		for _, ctx := range contexts {
			for _, c := range cfg.Concurrency {
				p.Cells = append(p.Cells, decodeCell(cfg, ctx, c, lim))
			}
		}
	}
	p.Order = order(p.Cells, cfg.Repeats)
	return p, nil
}

// checkLimits refuses what no server holds; a probe that could not tell leaves nil.
func checkLimits(lim Limits) error {
	var c checker
	if t := lim.CapacityTokens; t != nil {
		c.hold(*t > 0, "KV cache of %d tokens%s: must be positive; give --kv-tokens", *t, from(lim.CapacitySource))
	}
	if t := lim.Context; t != nil {
		c.hold(*t > 0, "model limit of %d tokens%s: must be positive; give --max-model-len", *t, from(lim.ContextSource))
	}
	return errors.Join(c.errs...)
}

// prefillCell is one cold row: a single request on an otherwise idle server.
func prefillCell(t size, lim Limits) event.Cell {
	cell := event.Cell{
		Phase: event.Prefill, Context: t.tokens, Label: t.label, Concurrency: 1,
		NeededTokens: int64(t.tokens) + PrefillOutputTokens,
	}
	if t.overLength {
		cell.Status, cell.Reason = event.OverLength, prefillLengthReason(t.tokens, lim)
		return cell
	}
	return judgeCapacity(cell, lim)
}

// decodeCell is one square of the matrix. The model's limit speaks before the cache: a request that is too long
// for the model is so at every concurrency.
func decodeCell(cfg Config, ctx size, concurrency int, lim Limits) event.Cell {
	cell := event.Cell{
		Phase: event.Decode, Context: ctx.tokens, Label: ctx.label, Concurrency: concurrency,
		NeededTokens: neededTokens(cfg, ctx.tokens, concurrency),
	}
	if ctx.overLength {
		cell.Status, cell.Reason = event.OverLength, lengthReason(ctx.tokens, cfg.OutputTokens, lim)
		return cell
	}
	return judgeCapacity(cell, lim)
}

// neededTokens is the KV cache that a decode cell fills at its fullest (METRICS, "How a cell runs", 2):
// C x (context + output) when each request has a context of its own, context + C x output when they share it.
// The preset counts as its tool does, by the worst case, although its prompts are shared.
func neededTokens(cfg Config, context, concurrency int) int64 {
	ctx, out, c := int64(context), int64(cfg.OutputTokens), int64(concurrency)
	if cfg.Prompts == event.Shared && cfg.Preset != PresetInferenceBench {
		return ctx + c*out
	}
	return c * (ctx + out)
}

func judgeCapacity(cell event.Cell, lim Limits) event.Cell {
	if lim.CapacityTokens != nil && cell.NeededTokens > *lim.CapacityTokens {
		cell.Status, cell.Reason = event.OverCapacity, capacityReason(cell.NeededTokens, lim)
	}
	return cell
}

// order lists the passes: all cells of repeat 0 in the plan's order, then all of repeat 1, so that a slow drift
// of the machine falls on every cell alike.
func order(cells []event.Cell, repeats int) []Step {
	var steps []Step
	for r := range repeats {
		for i, c := range cells {
			if c.Status == event.Ran {
				steps = append(steps, Step{Cell: i, Repeat: r})
			}
		}
	}
	return steps
}
