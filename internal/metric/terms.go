package metric

import "speedmatrix/internal/event"

// Term is a word of the pages that needs a definition.
type Term struct {
	ID         string // as stored or as in run.json
	Name       string // as shown
	Definition string // one or two sentences
	Slug       string // anchor on the methodology page
}

// TTFTKinds returns the kinds of TTFT. A cell shows one of them and names it.
func TTFTKinds() []Term {
	return terms("ttft",
		Term{ID: "cold", Name: "cold", Definition: "Nothing of the prompt is in the server's cache and nothing else runs: the prefill table."},
		Term{ID: "start", Name: "start", Definition: "One of the simultaneous first requests of a cell under --start together, its prompt cached."},
		Term{ID: "restart", Name: "restart", Definition: "One request that joins the other streams of its cell in steady state, its prompt cached, " +
			"while no other request starts or still waits for its first token. A decode cell shows the median of its restarts, those of the window and of the probe " +
			"phase together, 6 or more."},
		Term{ID: "wave", Name: "wave", Definition: "A restart during whose TTFT another request starts or still waits for its first token."},
		Term{ID: "uncached", Name: "uncached", Definition: "The prompt was new (--prompts fresh), or the server says that it took less than 90 % of it from its cache."},
	)
}

// Statuses returns what can become of a cell.
func Statuses() []Term { return terms("status", statuses()...) }

// StatusName returns the name of a status; false for one that this version does not know.
func StatusName(s event.Status) (name string, ok bool) {
	for _, t := range statuses() {
		if t.ID == string(s) {
			return t.Name, true
		}
	}
	return "", false
}

func statuses() []Term {
	return []Term{
		{ID: string(event.Valid), Name: "Valid", Definition: "Measured at the asked concurrency; at most 1 % of its requests failed, or one."},
		{ID: string(event.OverCapacity), Name: "Over capacity", Definition: "Not run, because this many requests at this context would exceed the server's KV cache."},
		{ID: string(event.OverLength), Name: "Over length", Definition: "Not run, because context and output together exceed the longest sequence that the server takes."},
		{ID: string(event.Queued), Name: "Queued", Definition: "Measured, but the server did not run all the requests at once; the figures are those of the requests that ran."},
		{ID: string(event.Unready), Name: "Unready", Definition: "Not measured: no stream got a token in time."},
		{ID: string(event.ClientBound), Name: "Client-bound", Definition: "Measured, but the measuring program was the bottleneck: with kernel stamps it used over 85 % " +
			"of the cores it may use, or over 5 % more of its reads than in calibration merged arrivals of one stream; with process stamps its 99th percentile of lag exceeded 1 ms and 10 % of the time " +
			"between tokens."},
		{ID: string(event.Failed), Name: "Failed", Definition: "More than 1 % of the cell's requests failed, and at least two; or it brought nothing to measure. Kinds and counts are shown."},
		{ID: string(event.Skipped), Name: "Skipped", Definition: "Not run, by the user's wish or because a lower concurrency of the same context was queued, unready or failed."},
		{ID: string(event.NotRun), Name: "Not run", Definition: "The run stopped before this cell was measured."},
	}
}

// TokenSources returns the ways in which tokens are counted, the best first.
func TokenSources() []Term {
	return terms("tokens",
		Term{ID: string(event.UsagePerChunk), Name: "usage in every chunk", Definition: "The server counted every chunk; exact."},
		Term{ID: string(event.UsageFinal), Name: "final usage", Definition: "The server told the total at the end; one token a chunk where that adds up, else spread over the chunks by the length " +
			"of their text. The total is exact."},
		Term{ID: string(event.UnknownTokens), Name: "tokens per character", Definition: "A stream that was cut before its final usage, counted by the tokens per character of the cell's whole streams; an estimate."},
		Term{ID: string(event.ByChunks), Name: "chunks", Definition: "The server told nothing: one token a chunk; an estimate."},
	)
}

// Clocks returns the ways in which an arrival is stamped.
func Clocks() []Term {
	return terms("clock",
		Term{ID: string(event.Kernel), Name: "kernel", Definition: "When the operating system received the bytes, whatever the program was doing."},
		Term{ID: string(event.Process), Name: "process", Definition: "When the program's read returned; later than the arrival by the program's lag."},
	)
}

// Outcomes returns how a request can end.
func Outcomes() []Term {
	return terms("outcome",
		Term{ID: string(event.OK), Name: "ok", Definition: "Ended by the server with a finish reason."},
		Term{ID: string(event.Stopped), Name: "stopped", Definition: "Cut by us at the end of the window or of the probe phase; not a failure."},
		Term{ID: string(event.Truncated), Name: "truncated", Definition: "The stream was closed without a finish reason."},
		Term{ID: string(event.Reset), Name: "reset", Definition: "The connection was reset, or TLS was closed without notice."},
		Term{ID: string(event.Stalled), Name: "stalled", Definition: "No bytes came for the whole time-out, or bytes without a token for ten of them."},
		Term{ID: string(event.ErrorInStream), Name: "error in stream", Definition: "The server sent an error inside a stream that had begun well."},
		Term{ID: string(event.NotAStream), Name: "not a stream", Definition: "The server answered 200 with something other than an event stream."},
		Term{ID: string(event.BadRequest), Name: "bad request", Definition: "HTTP 400, 413, 422 or another 4xx."},
		Term{ID: string(event.Unauthorized), Name: "unauthorized", Definition: "HTTP 401 or 403."},
		Term{ID: string(event.NotFound), Name: "not found", Definition: "HTTP 404."},
		Term{ID: string(event.RateLimited), Name: "rate limited", Definition: "HTTP 429."},
		Term{ID: string(event.ServerError), Name: "server error", Definition: "HTTP 5xx."},
		Term{ID: string(event.Unreachable), Name: "unreachable", Definition: "No connection could be made."},
		Term{ID: string(event.BadProtocol), Name: "bad protocol", Definition: "The answer was not HTTP, or its events were not JSON."},
	)
}

// terms gives each term its anchor, "status-over-capacity".
func terms(prefix string, all ...Term) []Term {
	for i := range all {
		all[i].Slug = prefix + "-" + slug(all[i].ID)
	}
	return all
}
