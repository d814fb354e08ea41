package load

import (
	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// settleCutStreams counts the tokens of streams that were cut before the server told their number, where
// other streams of the cell were told theirs: by those streams' tokens per character (METRICS, "Counting
// tokens", 4). Their source becomes UnknownTokens, which marks the cell.
func settleCutStreams(results []client.Result) {
	var tokens, chars int64
	for i := range results {
		r := &results[i]
		if r.Record.TokenSource == event.UsageFinal {
			tokens += r.Record.Tokens()
			for _, c := range r.ChunkChars {
				chars += int64(c)
			}
		}
	}
	if tokens == 0 || chars == 0 {
		return
	}
	for i := range results {
		r := &results[i]
		if r.Record.TokenSource == event.ByChunks && r.Record.Outcome != event.OK {
			spreadByChars(r, float64(tokens)/float64(chars))
			r.Record.TokenSource = event.UnknownTokens
		}
	}
}

// spreadByChars gives each chunk the tokens that its text stands for; the running sum is rounded, so that the
// total is off by less than one token.
func spreadByChars(r *client.Result, perChar float64) {
	var chars, given int64
	for i, c := range r.ChunkChars {
		chars += int64(c)
		due := int64(float64(chars)*perChar + 0.5)
		r.Record.ChunkTokens[i] = int32(due - given)
		given = due
	}
}
