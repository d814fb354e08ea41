package simengine

// slotCache is the memory of an engine with slots, as llama.cpp's: each slot has its own share of the tokens and keeps
// the last prompt that it served; a request goes to the free slot with the longest common beginning, else to the one that
// was idle longest. Beginnings are compared in whole blocks.
type slotCache struct {
	slots   []slot
	perSlot int // tokens
	clock   int
	share   bool
}

type slot struct {
	user    *sequence // nil when free
	prompt  []uint64  // block hashes of what is in the slot
	lastUse int
}

func newSlotCache(tokens, slots int, prefixCaching bool) *slotCache {
	return &slotCache{slots: make([]slot, slots), perSlot: tokens / slots, share: prefixCaching}
}

func (c *slotCache) fits(tokens int) bool { return tokens <= c.perSlot }

func (c *slotCache) usage() float64 {
	used := 0
	for _, s := range c.slots {
		if s.user != nil {
			used += s.user.promptTokens + s.user.made
		}
	}
	return float64(used) / float64(c.perSlot*len(c.slots))
}

func (c *slotCache) admit(s *sequence) (int, bool) {
	best, bestCommon := -1, 0
	for i := range c.slots {
		if c.slots[i].user != nil {
			continue
		}
		n := 0
		if c.share {
			n = commonPrefix(c.slots[i].prompt, s.blocks)
		}
		if best < 0 || n > bestCommon || n == bestCommon && c.slots[i].lastUse < c.slots[best].lastUse {
			best, bestCommon = i, n
		}
	}
	if best < 0 {
		return 0, false
	}
	c.clock++
	s.slot = best
	c.slots[best] = slot{user: s, prompt: s.blocks[:bestCommon], lastUse: c.clock}
	return min(bestCommon, (s.promptTokens-1)/BlockTokens) * BlockTokens, true
}

func (c *slotCache) computed(s *sequence, tokens int) {
	c.slots[s.slot].prompt = s.blocks[:min(tokens/BlockTokens, len(s.blocks))]
}

func (c *slotCache) release(s *sequence) { c.slots[s.slot].user = nil }

func commonPrefix(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
