package client

// scanOpenAI reads one event of a chat or completions stream into c, which was reset. False: the event is not of
// the usual form; c is then spoiled, and decodeOpenAI has to read it.
func scanOpenAI(data []byte, c *chunk) bool {
	s := scanner{b: data}
	return s.accept('{') && s.members(c, 0, true)
}

// members reads the members of an event from here to its end; first says that none came before, seen which known ones did.
func (s *scanner) members(c *chunk, seen seenKeys, first bool) bool {
	for ; ; first = false {
		key, ok := s.field(first)
		if !ok {
			return false
		}
		if key == nil {
			c.settleTimings()
			return s.end()
		}
		switch string(key) {
		case "choices":
			ok = seen.once(0) && s.choices(c)
		case "usage":
			c.usageAt = s.i
			ok = seen.once(1) && s.usage(c)
		case "error":
			ok = seen.once(2) && s.null()
		case "object":
			ok = seen.once(3) && s.object()
		case "timings":
			ok = seen.once(4) && s.timings(c) // llama.cpp
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// seenKeys notes which known keys of an object came: which of two counts is left to encoding/json.
type seenKeys uint8

// allKeys are all known keys: none may come again.
const allKeys = ^seenKeys(0)

func (k *seenKeys) once(bit int) bool {
	fresh := *k&(1<<bit) == 0
	*k |= 1 << bit
	return fresh
}

// object takes the kind of the event; vLLM once sent errors as objects of their own kind.
func (s *scanner) object() bool {
	raw, plain, ok := s.str()
	return ok && plain && string(raw) != "error"
}

func (s *scanner) choices(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('[') {
		return false
	}
	for first := true; ; first = false {
		more, ok := s.element(first)
		if !ok || !more {
			return ok
		}
		if !s.accept('{') || !s.choice(c) {
			return false
		}
		c.choice = true
	}
}

func (s *scanner) choice(c *chunk) bool {
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "delta":
			ok = seen.once(0) && s.delta(c)
		case "text":
			ok = seen.once(1) && s.generated(c, true)
		case "finish_reason":
			ok = seen.once(2) && s.finish(c)
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) delta(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "content":
			ok = seen.once(0) && s.generated(c, true)
		case "reasoning_content":
			ok = seen.once(1) && s.generated(c, false)
		case "reasoning":
			ok = seen.once(2) && s.generated(c, false)
		case "refusal":
			ok = seen.once(3) && s.generated(c, true)
		case "tool_calls":
			ok = seen.once(4) && s.toolCalls(c)
		case "function_call":
			ok = seen.once(5) && s.null()
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// generated takes generated text. A second one in the same event (two choices, or the same reasoning under two
// names) is left to decodeOpenAI.
func (s *scanner) generated(c *chunk, visible bool) bool {
	before := len(c.text)
	text, ok := s.text(c.text)
	c.text = text
	if len(text) == before {
		return ok
	}
	c.visible = visible
	if end := s.i - 1; s.plain {
		c.textAt, c.textEnd = end-len(text), end
	}
	return ok && before == 0
}

func (s *scanner) toolCalls(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('[') {
		return false
	}
	for first := true; ; first = false {
		more, ok := s.element(first)
		if !ok || !more {
			return ok
		}
		if !s.accept('{') || !s.toolCall(c) {
			return false
		}
	}
}

func (s *scanner) toolCall(c *chunk) bool {
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		if string(key) == "function" {
			ok = seen.once(0) && s.function(c)
		} else {
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) function(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "name":
			ok = seen.once(0) && s.generated(c, true)
		case "arguments":
			ok = seen.once(1) && s.generated(c, true)
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) finish(c *chunk) bool {
	if s.null() {
		return true
	}
	raw, plain, ok := s.str()
	if !ok || !plain || c.finish != "" {
		return false
	}
	for _, b := range raw {
		if b >= 0x80 {
			return false
		}
	}
	c.setFinish(raw)
	return true
}

func (s *scanner) usage(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "prompt_tokens":
			ok = seen.once(0) && s.count(&c.prompt)
		case "completion_tokens":
			ok = seen.once(1) && s.count(&c.output)
		case "prompt_tokens_details":
			ok = seen.once(2) && s.details(c)
		case "prompt_cache_hit_tokens":
			ok = false // DeepSeek's name, only where the other is absent
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) timings(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "cache_n":
			ok = seen.once(0) && s.count(&c.timedCached)
		case "predicted_n":
			ok = seen.once(1) && s.count(&c.timedOutput)
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) details(c *chunk) bool {
	if s.null() {
		return true
	}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		if string(key) == "cached_tokens" {
			ok = seen.once(0) && s.count(&c.cached)
		} else {
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}
