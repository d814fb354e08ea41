package simengine

import "container/list"

// kvCache is the memory of the engine: what the scheduler asks of it. It is not safe for concurrent use.
type kvCache interface {
	// admit reserves room for the sequence's prompt and output, and says how many prompt tokens need not be computed.
	// False when there is not enough room now.
	admit(s *sequence) (cached int, ok bool)
	// computed tells that the sequence's first tokens prompt tokens are in the cache.
	computed(s *sequence, tokens int)
	// release gives the sequence's room back; what was computed stays cached until it is evicted.
	release(s *sequence)
	// fits reports whether a request of so many tokens could ever be admitted.
	fits(tokens int) bool
	// usage is the share of the cache that running sequences hold, 0 to 1.
	usage() float64
}

// blockCache is a paged KV cache as vLLM's: blocks of BlockTokens, shared by hash, evicted least recently used first.
// Blocks of output are not kept after release, which leaves a little more room for prompts than vLLM has.
type blockCache struct {
	total  int
	free   int // blocks that hold nothing worth keeping
	blocks map[uint64]*block
	idle   *list.List // of *block with no users, least recently used first
	share  bool       // prefix caching is on
}

// block is one block of prompt tokens that is keyed by its hash.
type block struct {
	hash  uint64
	users int
	idle  *list.Element // nil while in use
}

// holding is what a sequence has in a blockCache.
type holding struct {
	shared    []*block // keyed blocks, in prompt order
	anonymous int      // blocks without a key: not computed yet, duplicates, or output
	done      int      // full prompt blocks that were computed or found
}

func newBlockCache(tokens int, prefixCaching bool) *blockCache {
	n := tokens / BlockTokens
	return &blockCache{total: n, free: n, blocks: map[uint64]*block{}, idle: list.New(), share: prefixCaching}
}

func blocksFor(tokens int) int { return (tokens + BlockTokens - 1) / BlockTokens }

func (c *blockCache) fits(tokens int) bool { return blocksFor(tokens) <= c.total }

func (c *blockCache) usage() float64 {
	return 1 - float64(c.free+c.idle.Len())/float64(c.total)
}

func (c *blockCache) admit(s *sequence) (int, bool) {
	found := c.match(s)
	idleFound := 0
	for _, b := range found {
		if b.users == 0 {
			idleFound++
		}
	}
	need := blocksFor(s.promptTokens+s.maxTokens) - len(found)
	if need > c.free+c.idle.Len()-idleFound {
		return 0, false
	}
	for _, b := range found {
		c.use(b)
	}
	c.take(need)
	s.held = holding{shared: found, anonymous: need, done: len(found)}
	return len(found) * BlockTokens, true
}

// match finds the longest cached prefix in whole blocks. The last prompt token is always computed, as it gives the
// first output token.
func (c *blockCache) match(s *sequence) []*block {
	if !c.share {
		return nil
	}
	var found []*block
	for _, h := range s.blocks[:min(len(s.blocks), (s.promptTokens-1)/BlockTokens)] {
		b := c.blocks[h]
		if b == nil {
			break
		}
		found = append(found, b)
	}
	return found
}

func (c *blockCache) use(b *block) {
	if b.users == 0 {
		c.idle.Remove(b.idle)
		b.idle = nil
	}
	b.users++
}

// take makes n blocks anonymous, evicting as needed; the caller has checked that there are enough.
func (c *blockCache) take(n int) {
	for c.free < n {
		b := c.idle.Remove(c.idle.Front()).(*block)
		delete(c.blocks, b.hash)
		c.free++
	}
	c.free -= n
}

func (c *blockCache) computed(s *sequence, tokens int) {
	if !c.share {
		return
	}
	full := min(tokens/BlockTokens, len(s.blocks))
	for ; s.held.done < full; s.held.done++ {
		h := s.blocks[s.held.done]
		if c.blocks[h] != nil {
			continue // another sequence computed the same meanwhile: this copy stays anonymous
		}
		b := &block{hash: h, users: 1}
		c.blocks[h] = b
		s.held.shared = append(s.held.shared, b)
		s.held.anonymous--
	}
}

func (c *blockCache) release(s *sequence) {
	c.free += s.held.anonymous
	// The end of a prompt goes first to eviction: without its beginning it is of no use.
	for i := len(s.held.shared) - 1; i >= 0; i-- {
		b := s.held.shared[i]
		if b.users--; b.users == 0 {
			b.idle = c.idle.PushBack(b)
		}
	}
	s.held = holding{}
}
