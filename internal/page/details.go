package page

import (
	"fmt"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// kindWords say what a time to first token includes, in one line each.
var kindWords = map[summary.TTFTKind]string{
	summary.Cold:     "nothing of the prompt cached, nothing else running",
	summary.Start:    "all streams starting at once, prompts cached",
	summary.Restart:  "one request joining the others in steady state, prompt cached",
	summary.Wave:     "a restart with another start within its TTFT",
	summary.Uncached: "less than 90 % of the prompt cached",
}

// tokenWords say how tokens were counted.
var tokenWords = map[event.TokenSource]string{
	event.UsagePerChunk: "the server's own count in every chunk",
	event.UsageFinal:    "the server's total, spread over the chunks",
	event.ByChunks:      "one token a chunk: an estimate, the server told nothing",
	event.UnknownTokens: "by the tokens per character of the cell's whole answers",
}

// detailList collects lines that have something to say.
type detailList []Detail

func (d *detailList) add(term string, v Value, note string) {
	if !v.Missing() {
		*d = append(*d, Detail{Term: term, Value: v, Note: note})
	}
}

func (d *detailList) say(term, text string) {
	if text != "" {
		*d = append(*d, Detail{Term: term, Note: text})
	}
}

// newDetails lists what a row's twelve columns have no room for.
func newDetails(s *summary.Run, c *summary.Cell) []Detail {
	var d detailList
	d.say("Why", sentence(Clean(c.Reason)))
	for _, w := range c.Warnings {
		d.say("Warning", sentence(Clean(w.Text)))
	}
	d.say("Failures", failureText(c.Failures))
	if measured(c) {
		d.addMeasured(s, c)
	}
	needed := c.NeededTokens
	if needed > 0 && c.Phase == event.Decode {
		d.add("KV cache needed", tokens(&needed), "")
		d.add("KV cache of the server", tokens(c.CapacityTokens), "")
	}
	return d
}

func (d *detailList) addMeasured(s *summary.Run, c *summary.Cell) {
	d.add("Real prompt tokens", wholeValue(c.PromptTokens), promptNote(c))
	d.say("Total tok/s, 95 % interval", intervalText(c.TokSInterval))
	if c.Phase == event.Decode {
		d.add("Total per stream", value(c.PerStreamTokS, unit.Rate), "tok/s, total over requests at once")
		d.add("Scaling efficiency", value(c.ScalingEfficiency, unit.Percent), "of one stream's speed at this context")
		d.add("Whole-cell tok/s", value(c.WholeCellTokS, unit.Rate), "from the first send to the window's end")
		d.add("Active by the server's gauge", value(c.ServerActive, unit.Decimal), "")
		d.say("Completed requests", sentence(zeroCompleted(s, c)))
	}
	d.say("TTFT", distributionText(c.TTFT, unit.Millis, kindText(c.TTFTKind)))
	for _, k := range c.TTFTOther {
		d.say("TTFT, other kind", distributionText(k.Distribution, unit.Millis, kindText(k.Kind)))
	}
	d.add("TTFO", value(c.TTFOMS, unit.Millis), "to the first token that is not reasoning")
	d.say("Time between tokens", distributionText(c.BetweenTokens, unit.MillisFine, "one value a request"))
	d.say("Time between chunks", distributionText(c.BetweenChunks, unit.MillisFine, chunkNote(c)))
	d.say("End to end", distributionText(c.EndToEnd, unit.Millis, ""))
	d.add("Requests seen", samplesValue(c), "")
	d.say("Stopped early", countText(c.EarlyStops, "answer", "ended before the asked length"))
	d.say("Looped", countText(c.Looped, "stream", "fell into exact repetition"))
	d.say("Tokens counted by", tokenWords[c.TokenSource])
	if c.Clock != "" {
		d.say("Arrivals stamped by", Clean(string(c.Clock)))
	}
}

func tokens(n *int64) Value {
	v := wholeValue(n)
	if !v.Missing() {
		v.Text += " tokens"
	}
	return v
}

func samplesValue(c *summary.Cell) Value {
	if c.Samples == 0 {
		return Value{}
	}
	n := c.Samples
	return wholeValue(&n)
}

func promptNote(c *summary.Cell) string {
	if c.CachedTokens == nil {
		return ""
	}
	return "of which " + unit.Count(c.CachedTokens) + " cached"
}

func chunkNote(c *summary.Cell) string {
	if c.TokensPerChunk == nil || !finite(*c.TokensPerChunk) {
		return "one value a gap"
	}
	return fmt.Sprintf("one value a gap, %.2f tokens a chunk", *c.TokensPerChunk)
}

func countText(n int, noun, what string) string {
	if n == 0 {
		return ""
	}
	return plural(n, noun) + " " + what
}

func kindText(k summary.TTFTKind) string {
	if k == "" {
		return ""
	}
	if w := kindWords[k]; w != "" {
		return string(k) + ": " + w
	}
	return Clean(string(k))
}

// distributionText is "median 6.4 ms, p90 6.6 ms, p99 —, n 16"; "" when there are no values.
func distributionText(d summary.Distribution, format func(*float64) string, note string) string {
	if d.N == 0 || d.Median == nil {
		return ""
	}
	text := fmt.Sprintf("median %s, p90 %s, p99 %s, n %s", format(d.Median), format(d.P90), format(d.P99), unit.Count(&d.N))
	if note != "" {
		text += " (" + note + ")"
	}
	return text
}

func intervalText(i *summary.Interval) string {
	if i == nil || !finite(i.Low) || !finite(i.High) {
		return ""
	}
	from := "within this run"
	if i.Repeats >= 3 {
		from = fmt.Sprintf("from %d repeats", i.Repeats)
	}
	return fmt.Sprintf("%s to %s, %s", unit.Rate(&i.Low), unit.Rate(&i.High), from)
}

func failureText(fs []summary.Count) string {
	var parts []string
	for _, f := range fs {
		n := f.N
		parts = append(parts, unit.Count(&n)+" "+Clean(string(f.Kind)))
	}
	return strings.Join(parts, ", ")
}
