package compare

import (
	"fmt"
	"strconv"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// Method is how a run measured, as far as rates of runs that differ in it must not be divided by each other, nor be best or median of
// one another. Parts are text, "" is not recorded.
type Method struct {
	Version      string // of the measuring method
	Prompts      string // --prompts
	Start        string // --start
	OutputTokens string
	Counting     Counting
}

// Counting is how a run's decode cells counted tokens; "" when none tells, which contradicts no other.
type Counting string

const (
	ByServer Counting = "by the server"
	ByChunks Counting = "one a chunk, an estimate"
)

func methodOf(s *summary.Run) Method {
	r := &s.Facts
	return Method{
		Version: kept(strconv.Itoa(r.Tool.Method)), Prompts: kept(string(r.Method.Prompts)), Start: kept(string(r.Method.Start)),
		OutputTokens: kept(strconv.Itoa(r.Method.OutputTokens)), Counting: counting(s.Decode),
	}
}

// counting is an estimate as soon as one decode cell is.
func counting(decode []summary.Cell) Counting {
	var out Counting
	for i := range decode {
		switch decode[i].TokenSource {
		case event.UsagePerChunk, event.UsageFinal:
			out = ByServer
		case event.ByChunks:
			return ByChunks
		}
	}
	return out
}

// against lists the parts in which two methods differ, as clauses.
func (m Method) against(n Method) []string {
	var out []string
	for _, p := range []struct{ x, y, what string }{
		{m.Version, n.Version, "the version of the method differs: %s and %s"},
		{m.Prompts, n.Prompts, "prompts differ: %s and %s"},
		{m.Start, n.Start, "the start of the streams differs: %s and %s"},
		{m.OutputTokens, n.OutputTokens, "the length of the answers differs: %s and %s tokens"},
	} {
		if p.x != p.y {
			out = append(out, fmt.Sprintf(p.what, known(p.x), known(p.y)))
		}
	}
	if m.Counting != "" && n.Counting != "" && m.Counting != n.Counting {
		out = append(out, fmt.Sprintf("tokens were counted differently: %s and %s", m.Counting, n.Counting))
	}
	return out
}

func known(s string) string {
	if s == "" {
		return "not recorded"
	}
	return s
}
