package main

import (
	"os"
	"runtime/debug"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

// What a measurement is expected to hold, in bytes. Far from a hard bound: it only decides when collections become
// frequent.
const (
	baseMemory      = 112 << 20 // the program, its dictionaries, the events of a cell and their encoding
	memoryPerStream = 64 << 10
	memoryPerToken  = 32 // of prompts in flight: text and request body, of the request under way and of the next
)

// tuneCollector sets when the collector runs: seldom while memory is small, since a collection in the middle of a window
// takes a core that reads tokens, and more often beyond what so many streams and prompt tokens should need. GOGC and
// GOMEMLIMIT in the environment win.
func tuneCollector(streams, promptTokens int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(baseMemory + memoryPerStream*int64(streams) + memoryPerToken*int64(promptTokens))
	}
}

// maxPromptTokens is the most prompt tokens that a plan has in flight at once.
func maxPromptTokens(p plan.Plan) int {
	n := 0
	for _, c := range p.Cells {
		if c.Status == event.Ran {
			n = max(n, c.Concurrency*c.Context)
		}
	}
	return n
}
