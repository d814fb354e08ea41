package plan

import (
	"slices"

	"speedmatrix/internal/event"
)

// size is a context after it was held against the model's limit.
type size struct {
	tokens     int
	label      string
	overLength bool
}

// room is the longest prompt that leaves output tokens free below limit, less half a percent for prompts that
// come out longer than aimed at. It may be zero or negative.
func room(limit int64, output int) int {
	free := limit - int64(output)
	if free <= 0 {
		return 0
	}
	return int(min(free*995/1000, MaxTokens))
}

// wholeK floors a room to whole K, the size that a trimmed context gets (123K under 131,072 with 4,096 output).
// A room below 1 K would become nothing, so it stays as it is.
func wholeK(room int) int {
	if room < event.K {
		return room
	}
	return room / event.K * event.K
}

// fitContexts trims the contexts, which are ascending, to the room (METRICS, "Sizes") and merges those that
// become equal. A context that fits as asked is never touched, even between the floored room and the room
// itself; a longer one is trimmed to the floored room when that is at least 90 % of it, else over-length.
func fitContexts(contexts []int, output int, limit *int64) []size {
	var out []size
	seen := map[int]bool{}
	for _, c := range contexts {
		s := size{tokens: c}
		if limit != nil && c > room(*limit, output) {
			if r := wholeK(room(*limit, output)); r >= MinContext && int64(r)*10 >= int64(c)*9 {
				s.tokens = r
			} else {
				s.overLength = true
			}
		}
		s.label = Label(s.tokens)
		if !seen[s.tokens] {
			seen[s.tokens] = true
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b size) int { return a.tokens - b.tokens })
	return out
}

// fitting returns the contexts that the model's limit allows.
func fitting(sizes []size) []size {
	return slices.DeleteFunc(slices.Clone(sizes), func(s size) bool { return s.overLength })
}

// prefillSizes are the contexts that the prefill table asks for: the user's list, else the contexts asked
// together with the trimmed ones.
func prefillSizes(cfg Config, trimmed []size) []int {
	if cfg.Prefill != nil {
		return cfg.Prefill
	}
	all := slices.Clone(cfg.Contexts)
	for _, s := range trimmed {
		all = append(all, s.tokens)
	}
	return ascending(all)
}

// prefillTargets cuts the ascending sizes to min(context, limit - 65). A target keeps its context's label from
// 99.5 % on (131,007 is still "128K"), else it is named by its own size. Of equal targets the first is kept: it
// is the one whose label is nearest.
func prefillTargets(sizes []int, limit *int64) []size {
	var out []size
	for _, c := range sizes {
		s := size{tokens: c, label: Label(c)}
		if limit != nil && int64(c) > *limit-prefillReserve {
			if *limit-prefillReserve < MinContext {
				s.overLength = true
			} else {
				s.tokens = int(*limit - prefillReserve)
			}
			if !s.overLength && int64(s.tokens)*1000 < int64(c)*995 {
				s.label = Label(s.tokens)
			}
		}
		if n := len(out); n == 0 || out[n-1].tokens != s.tokens {
			out = append(out, s)
		}
	}
	return out
}
