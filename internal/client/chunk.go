package client

import "unicode/utf8"

// chunk is what one event of a stream says, whatever the dialect. Decoders fill it; unknown counts are -1.
type chunk struct {
	text    []byte // what was generated: content, reasoning, names and arguments of tool calls. Reused
	visible bool   // some of text is not reasoning
	choice  bool   // the event belongs to a choice; false for usage-only events
	finish  string // the server's finish reason, "" before
	last    bool   // nothing follows (Ollama's done)

	// Where text stands in the event, set by scanners when it is one string without escapes; textEnd is 0 otherwise.
	textAt, textEnd int
	usageAt         int // where the value of a usage begins; 0: there is none

	prompt int32 // tokens of the prompt
	cached int32 // of these, from the prefix cache
	output int32 // tokens made so far

	// What llama.cpp tells in its timings; a usage beside them is believed first.
	timedCached, timedOutput int32

	failed  bool   // the event reports an error
	message string // of that error
}

func (c *chunk) reset() {
	*c = chunk{text: c.text[:0], prompt: -1, cached: -1, output: -1, timedCached: -1, timedOutput: -1}
}

// settleTimings lets timings stand where no usage told.
func (c *chunk) settleTimings() {
	if c.output < 0 {
		c.output = c.timedOutput
	}
	if c.cached < 0 {
		c.cached = c.timedCached
	}
}

func (c *chunk) chars() int { return utf8.RuneCount(c.text) }

// setFinish notes a finish reason without allocating for the usual ones.
func (c *chunk) setFinish(b []byte) {
	switch string(b) {
	case "stop":
		c.finish = "stop"
	case "length":
		c.finish = "length"
	case "tool_calls":
		c.finish = "tool_calls"
	default:
		c.finish = string(b)
	}
}
