package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
)

// prefillModeKey is a key of the server table by which an imported run may say how its prefill was measured.
const prefillModeKey = "prefill_mode"

// methodFacts lists how the run was done: the rest of the Run block, after the model's own facts.
func methodFacts(r *event.Run) []Fact {
	var out []Fact
	add := func(term, text string) { out = appendFact(out, term, Clean(text), "") }
	add("Benchmark tool", strings.TrimSpace(r.Tool.Name+" "+version(r.Tool.Version)))
	add("Preset", r.Tool.Preset)
	add("Decode test", "Fixed duration")
	mode := r.Server.Text(prefillModeKey)
	if mode == "" && len(r.Method.Prefill) > 0 {
		mode = "Cold, one request at a time"
	}
	add("Prefill mode", mode)
	if r.Method.DurationS > 0 {
		add("Time per measurement", number(r.Method.DurationS)+" s")
	}
	if r.Method.OutputTokens > 0 {
		add("Max output", count(float64(r.Method.OutputTokens)).Text+" tokens")
	}
	add("Prompts", promptWords[r.Method.Prompts])
	add("Start", startWords[r.Method.Start])
	if r.Method.Repeats > 0 {
		add("Repeats", strconv.Itoa(r.Method.Repeats))
	}
	add("Temperature", number(r.Method.Temperature))
	add("Endpoint", r.Method.Endpoint)
	add("Prompt length by", sizingWords[r.Method.PromptSizing])
	add("Request fields the server refused", strings.Join(r.Method.Dropped, ", "))
	if r.Method.AllowBusy {
		add("Server at the start", "busy, and measured all the same")
	}
	if r.Method.Resumed > 0 {
		add("Resumed", plural(r.Method.Resumed, "time"))
	}
	out = append(out, capacityFacts(r.Capacity)...)
	add("Seed", strconv.FormatUint(r.Seed, 10))
	if r.Tool.Method > 0 {
		add("Method version", strconv.Itoa(r.Tool.Method))
	}
	return out
}

// capacityFacts tells what the server can hold, and who said so.
func capacityFacts(c event.Capacity) []Fact {
	var out []Fact
	add := func(term string, n *int64, src string) {
		if n == nil {
			return
		}
		f := Fact{Term: term, Text: count(float64(*n)).Text + " tokens"}
		if src != "" {
			f.Note = "from " + clip(Clean(src), 120)
		}
		out = append(out, f)
	}
	add("KV cache", c.Tokens, c.Source)
	add("Longest prompt and output", c.Limit, c.LimitSource)
	return out
}

var promptWords = map[event.PromptMode]string{
	event.PerStream: "Per stream: each stream has its own context and sends it again",
	event.Shared:    "Shared: all streams send one prompt",
	event.Fresh:     "Fresh: every request has a new prompt",
}

var startWords = map[event.StartMode]string{
	event.Staggered: "Staggered: streams start at spread positions",
	event.Together:  "Together: all streams start at once",
}

var sizingWords = map[string]string{
	"tokenize":   "the server's tokenizer",
	"calibrated": "calibration on the server's token counts",
}

// ownTool begins the name of this project's measuring program.
const ownTool = "speedmatrix"

// version puts a "v" before a version that begins with a digit.
func version(v string) string {
	if v != "" && v[0] >= '0' && v[0] <= '9' {
		return "v" + v
	}
	return v
}

// withoutOverrides drops the keys of the server table that already stand in the Run block.
func withoutOverrides(f event.Facts) event.Facts {
	if _, ok := f[prefillModeKey]; !ok {
		return f
	}
	out := event.Facts{}
	for k, v := range f {
		if k != prefillModeKey {
			out[k] = v
		}
	}
	return out
}

// reproduce gives the commands that take the run again, without the places of files on the machine that took it, or nil when the run does not record its flags or is another tool's.
func reproduce(r *event.Run) []string {
	if len(r.Tool.Flags) == 0 || !strings.HasPrefix(r.Tool.Name, ownTool) {
		return nil
	}
	var out []string
	if r.Simulated() {
		out = append(out, simulateCommand(r))
	}
	words := []string{"measure", "run"}
	for i, f := range r.Tool.Flags {
		if i == 0 && f == "run" || ofItsMachine(f) {
			continue
		}
		words = append(words, shellQuote(Clean(f)))
	}
	return append(out, strings.Join(words, " "))
}

// ofItsMachine reports whether a flag names a file or folder of the machine that took the run, and nothing of how it was taken.
func ofItsMachine(flag string) bool {
	name, _, _ := strings.Cut(flag, "=")
	return name == "--out" || name == "--info"
}

// simulateCommand starts the simulated engine as it was started, else with its profile. A port that the system chose is
// replaced by the one that the run asked.
func simulateCommand(r *event.Run) string {
	if _, rest, ok := strings.Cut(r.Launch.Command, " simulate "); ok {
		return "measure simulate " + strings.Replace(Clean(rest), "127.0.0.1:0", askedHost(r.Tool.Flags), 1)
	}
	return "measure simulate --profile " + shellQuote(Clean(r.Engine.Text("profile")))
}

// askedHost is the host and port of a run's --url, "127.0.0.1:0" without one.
func askedHost(flags []string) string {
	for _, f := range flags {
		if address, ok := strings.CutPrefix(f, "--url="); ok {
			if u, err := url.Parse(address); err == nil && u.Port() != "" {
				return shellQuote(Clean(u.Host))
			}
		}
	}
	return "127.0.0.1:0"
}

// shellQuote quotes a word for a POSIX shell when it needs it.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// instrument is the line about the measuring program's own error at one concurrency.
type instrument struct {
	Streams, Instant, TTFT, Between, Rate, CPU, Merged, Clock string
}

// Instrument is the table of calibration results beside the method.
type Instrument struct {
	Rows []instrument
}

func newInstrument(cs []event.Calibration) Instrument {
	var t Instrument
	for _, c := range cs {
		pair := func(a, b float64) string { return signed(a) + " / " + signed(b) }
		t.Rows = append(t.Rows, instrument{
			Streams: strconv.Itoa(c.Streams), Instant: pair(c.InstantP50US, c.InstantP99US),
			TTFT: pair(c.TTFTP50US, c.TTFTP99US), Between: signed(c.BetweenTokensUS),
			Rate: fmt.Sprintf("%s %%", signed2(c.RatePercent)), CPU: number1(c.CPUPerTokenUS),
			Merged: percent(c.MergedShare), Clock: Clean(string(c.Clock)),
		})
	}
	return t
}
