package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// Run is what is compared of a run: small enough to keep thousands in memory.
type Run struct {
	ID        string
	Title     string
	Started   time.Time
	Simulated bool
	Method    Method
	Facts     []Fact // sorted by key
	Cells     []Cell // prefill, then decode, in the order of the plan
}

// Fact is one thing known about a run; Key is "hardware.gpu", "method.prompts", "launch.command".
type Fact struct{ Key, Value string }

// Cell is one cell of a run. Numbers are unrounded; nil does not exist.
type Cell struct {
	Phase       event.Phase
	Context     int
	Label       string
	Concurrency int
	Status      event.Status
	TokS        *float64
	Interval    *summary.Interval
	PerRequest  *float64
	TTFTMS      *float64
	TTFTKind    summary.TTFTKind
	BetweenMS   *float64
}

// Of takes from a summary what a comparison needs.
func Of(s *summary.Run) Run {
	r := &s.Facts
	out := Run{
		ID: kept(r.ID), Title: kept(s.Title), Started: r.Started.UTC(), Simulated: r.Simulated(), Method: methodOf(s), Facts: facts(r),
		Cells: make([]Cell, 0, len(s.Prefill)+len(s.Decode)),
	}
	for _, cells := range [][]summary.Cell{s.Prefill, s.Decode} {
		for i := range cells {
			c := &cells[i]
			out.Cells = append(out.Cells, Cell{
				Phase: kept(c.Phase), Context: c.Context, Label: kept(c.Label), Concurrency: c.Concurrency, Status: kept(c.Status), TokS: number(c.TokS),
				Interval: interval(c.TokSInterval), PerRequest: number(c.PerRequestTokS), TTFTMS: number(c.TTFTMS), TTFTKind: kept(c.TTFTKind),
				BetweenMS: number(c.BetweenTokensMS),
			})
		}
	}
	return out
}

// kept is a string without the memory around it (those of a run are parts of its files), one copy for all runs that have it: a site keeps this
// of every run.
func kept[T ~string](s T) T { return T(unique.Make(string(s)).Value()) }

func number(v *float64) *float64 {
	if v == nil || !finite(*v) {
		return nil
	}
	own := *v
	return &own
}

func interval(i *summary.Interval) *summary.Interval {
	if i == nil || !finite(i.Low) || !finite(i.High) || i.Low > i.High {
		return nil
	}
	own := *i
	return &own
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// facts lists everything that was recorded, as text, by key. What differs in every run (its id, its flags' order) is left out.
func facts(r *event.Run) []Fact {
	var out []Fact
	add := func(key, value string) {
		if value != "" {
			out = append(out, Fact{kept(key), kept(value)})
		}
	}
	for _, t := range []struct {
		name  string
		facts event.Facts
	}{{"hardware", r.Hardware}, {"engine", r.Engine}, {"model", r.Model}, {"server", r.Server}, {"host", r.Host}} {
		for k, v := range t.facts {
			add(t.name+"."+k, text(v))
		}
	}
	m := &r.Method
	add("method.contexts", ints(m.Contexts))
	add("method.concurrency", ints(m.Concurrency))
	add("method.prefill", ints(m.Prefill))
	add("method.duration_s", text(m.DurationS))
	add("method.output_tokens", strconv.Itoa(m.OutputTokens))
	add("method.prompts", string(m.Prompts))
	add("method.start", string(m.Start))
	add("method.repeats", strconv.Itoa(m.Repeats))
	add("method.temperature", text(m.Temperature))
	add("method.endpoint", m.Endpoint)
	add("method.prompt_sizing", m.PromptSizing)
	add("method.dropped_fields", strings.Join(m.Dropped, ", "))
	add("tool.version", strings.TrimSpace(r.Tool.Name+" "+r.Tool.Version))
	add("tool.method", strconv.Itoa(r.Tool.Method))
	add("tool.preset", r.Tool.Preset)
	if r.Capacity.Tokens != nil {
		add("capacity.tokens", strconv.FormatInt(*r.Capacity.Tokens, 10))
	}
	if r.Capacity.Limit != nil {
		add("capacity.limit", strconv.FormatInt(*r.Capacity.Limit, 10))
	}
	add("launch.command", r.Launch.Command)
	slices.SortFunc(out, func(a, b Fact) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// text is a fact as words. Numbers are written as run.json and browsers write them, in the precision that those have: the page for any
// two runs and this package say the same.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return decimal(v)
	case int64:
		if exact := int64(1 << 53); v < -exact || v > exact {
			return decimal(float64(v))
		}
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprint(v)
}

// decimal is a number as ECMAScript writes it, "" for none.
func decimal(v float64) string {
	if v == 0 {
		return "0" // without the sign of a zero
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // not a number
	}
	return string(b)
}

func ints(v []int) string {
	var parts []string
	for _, n := range v {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}

// fact returns the value of a key, "" when it was not recorded.
func (r *Run) fact(key string) string {
	i, ok := slices.BinarySearchFunc(r.Facts, key, func(f Fact, key string) int { return strings.Compare(f.Key, key) })
	if !ok {
		return ""
	}
	return r.Facts[i].Value
}
