package check

import (
	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// Bounds beyond which a number is a mistake, not a fast machine. They are ours, and generous: a stream of 100,000 tok/s
// is a token every 10 us, less than one step of a decoder and its network packet take.
const (
	MaxStreamTokS  = 100_000     // output tokens a second of one request
	MaxTotalTokS   = 10_000_000  // output tokens a second of one window
	MaxPrefillTokS = 100_000_000 // prompt tokens a second until the first token
	fewTokens      = 100         // fewer say nothing about a rate
)

const mendCounts = "restore the file that measure wrote; if the server counts wrongly, say so in notes.md and measure without its usage"

// counts checks the tokens of one row, whose instants are in order.
func (r *report) counts(row int, q *event.Request) {
	sum := q.Tokens()
	usage := q.TokenSource == event.UsagePerChunk || q.TokenSource == event.UsageFinal
	if usage && q.OutputTokens != nil && sum != int64(*q.OutputTokens) {
		r.refuse(requestsFile, "counts", mendCounts, "row %d: the chunks hold %d tokens, the usage says %d", row, sum, *q.OutputTokens)
	}
	// A server may count the stop token that ends a text of the asked length.
	if usage && sum > int64(q.AskedTokens)+1 {
		r.refuse(requestsFile, "counts", mendCounts, "row %d: %d tokens arrived, %d were asked for", row, sum, q.AskedTokens)
	}
	if q.CachedTokens != nil && q.PromptTokens != nil && *q.CachedTokens > *q.PromptTokens {
		r.refuse(requestsFile, "counts", mendCounts, "row %d: %d prompt tokens were cached, of %d", row, *q.CachedTokens, *q.PromptTokens)
	}
	r.rates(row, q, sum)
}

func (r *report) rates(row int, q *event.Request, sum int64) {
	n := len(q.ChunkUS)
	if n == 0 {
		return
	}
	after := sum - int64(q.ChunkTokens[0])
	if span := q.ChunkUS[n-1] - q.ChunkUS[0]; after >= fewTokens && faster(after, span, MaxStreamTokS) {
		r.refuse(requestsFile, "rates", mendCounts, "row %d: %d tokens within %d us are more than %d tok/s", row, after, span, MaxStreamTokS)
	}
	if q.PromptTokens == nil {
		return
	}
	prompt := int64(*q.PromptTokens)
	if q.CachedTokens != nil {
		prompt -= int64(*q.CachedTokens)
	}
	// A server that does not tell what it cached may answer at once: only the bound above it is a mistake.
	if prompt >= fewTokens && q.CachedTokens != nil && faster(prompt, q.ChunkUS[0], MaxPrefillTokS) {
		r.refuse(requestsFile, "rates", mendCounts, "row %d: %d uncached prompt tokens within %d us are more than %d tok/s", row, prompt, q.ChunkUS[0], MaxPrefillTokS)
	}
}

// faster reports whether n within a span of us microseconds is above a bound a second.
func faster(n, us int64, bound float64) bool { return float64(n)*1e6 > bound*float64(us) }

// totals checks what a pass's requests sum up to.
func (r *report) totals(run *event.Run, reqs []event.Request) {
	inWindow := map[eventlog.Step]int64{}
	seen := map[eventlog.Step]bool{}
	passes := passesOf(run)
	for i := range reqs {
		q := &reqs[i]
		step := eventlog.Step{Cell: int(q.Cell), Repeat: int(q.Repeat)}
		seen[step] = true
		p := passes[step]
		for j, us := range q.ChunkUS {
			if at := q.StartUS + us; at > p.WindowStartUS && at <= p.WindowEndUS {
				inWindow[step] += int64(q.ChunkTokens[j])
			}
		}
	}
	for i, c := range run.Cells {
		for _, p := range c.Passes {
			step := eventlog.Step{Cell: i, Repeat: p.Repeat}
			if !seen[step] {
				r.refuse(requestsFile, "totals", mendInstants, "cell %d, repeat %d has a window and not one request", i, p.Repeat)
			}
			if n := inWindow[step]; n > 0 && faster(n, p.WindowEndUS-p.WindowStartUS, MaxTotalTokS) {
				r.refuse(requestsFile, "rates", mendCounts, "cell %d, repeat %d: %d tokens in the window are more than %d tok/s", i, p.Repeat, n, MaxTotalTokS)
			}
		}
	}
}
