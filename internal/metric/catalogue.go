package metric

import "strings"

// ID names a metric for programs; where run.json has the number, its key is the ID.
type ID string

// The metrics, in the order of Catalogue.
const (
	IDTTFT              ID = "ttft_ms"
	IDTTFO              ID = "ttfo_ms"
	IDPrefillTokS       ID = "prefill_tok_s"
	IDTokS              ID = "tok_s"
	IDBetweenTokens     ID = "time_between_tokens_ms"
	IDPerRequestTokS    ID = "per_request_tok_s"
	IDPerStreamTokS     ID = "per_stream_tok_s"
	IDBetweenChunks     ID = "time_between_chunks_ms"
	IDTokensPerChunk    ID = "tokens_per_chunk"
	IDActiveRequests    ID = "active_requests"
	IDServerActive      ID = "server_active_requests"
	IDCompletedRequests ID = "completed_requests"
	IDFailedRequests    ID = "failed_requests"
	IDEarlyStops        ID = "early_stops"
	IDOutputTokens      ID = "output_tokens"
	IDMeasured          ID = "measured_s"
	IDWholeCellTokS     ID = "whole_cell_tok_s"
	IDEndToEnd          ID = "end_to_end_ms"
	IDScalingEfficiency ID = "scaling_efficiency"
	IDPromptTokens      ID = "prompt_tokens"
	IDCachedTokens      ID = "cached_tokens"
	IDInterval          ID = "tok_s_interval"
)

// Better says which values are good.
type Better string

const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = "neither" // a circumstance, not a merit
)

// Scope says what one value belongs to.
type Scope string

const (
	OfRequest Scope = "request" // a cell shows the median over its requests, and the distribution in its details
	OfCell    Scope = "cell"
	OfRun     Scope = "run"
)

// Metric is one published number.
type Metric struct {
	ID         ID
	Name       string // the page's column header
	Unit       string // as shown; "" for a plain number
	Better     Better
	Scope      Scope
	Definition string // one or two sentences: from what instant to what instant, over what
	Formula    string // in the notation of Notation
	Slug       string // anchor on the methodology page
}

// Symbol is one letter of the notation that formulas use.
type Symbol struct{ Letter, Meaning string }

// Notation returns the symbols of the formulas.
func Notation() []Symbol {
	return []Symbol{
		{"s", "start of a request: just before it is written, its connection being open"},
		{"f", "arrival of the first chunk with a token of any kind; reasoning counts, an empty or role-only chunk does not"},
		{"v", "arrival of the first token that is not reasoning"},
		{"l", "arrival of the last token"},
		{"N", "output tokens of a request"},
		{"C", "requests asked for at once"},
		{"(a, b]", "the measured window; what arrives at a is outside, at b inside"},
		{"K", "1,024 tokens in sizes that are typed or stand in labels; 1,000 in rates"},
	}
}

// Catalogue returns every metric, in the order of the methodology page.
func Catalogue() []Metric {
	all := entries()
	for i := range all {
		all[i].Slug = slug(all[i].Name)
	}
	return all
}

// entries is the catalogue without slugs, which take longer than all else of it.
func entries() []Metric {
	return []Metric{
		{ID: IDTTFT, Name: "TTFT", Unit: "ms", Better: Lower, Scope: OfRequest, Formula: "f - s",
			Definition: "Time to first token: from just before the request is written on an open connection to the arrival of the " +
				"first chunk with a token of any kind, reasoning included. Its kinds (cold, start, restart, wave, uncached) are never mixed: " +
				"a cell shows the median of one kind and names it."},
		{ID: IDTTFO, Name: "TTFO", Unit: "ms", Better: Lower, Scope: OfRequest, Formula: "v - s",
			Definition: "Time to first output: from the start of the request to the arrival of the first token that is not reasoning. " +
				"Shown only where it differs from TTFT."},
		{ID: IDPrefillTokS, Name: "Prefill tok/s", Unit: "tok/s", Better: Higher, Scope: OfRequest,
			Formula: "(prompt_tokens - cached_tokens) / TTFT",
			Definition: "Prompt tokens that the server read for a cold request, as the server counts them, divided by that request's TTFT. " +
				"The row shows the median of its samples, each with a new prompt and nothing else running."},
		{ID: IDTokS, Name: "Total tok/s", Unit: "tok/s", Better: Higher, Scope: OfCell, Formula: "tokens in (a, b] / (b - a)",
			Definition: "Output tokens of all streams that arrived inside the measured window, divided by its length. " +
				"Every stream of the cell counts, whether its request began before the window or was cut after it."},
		{ID: IDBetweenTokens, Name: "Time between tokens", Unit: "ms", Better: Lower, Scope: OfRequest,
			Formula: "(last - first) / (tokens after the first chunk), over the chunks of a request in (a, b]",
			Definition: "For each request, from its first to its last chunk inside the window, divided by the tokens after the first of these chunks; " +
				"the cell shows the median over requests. It does not exist for a request with fewer than two chunks in the window. " +
				"This is vLLM's TPOT restricted to the window."},
		{ID: IDPerRequestTokS, Name: "Per request tok/s", Unit: "tok/s", Better: Higher, Scope: OfRequest, Formula: "1 / time between tokens",
			Definition: "The speed that one reader sees: the median over requests of one divided by the request's time between tokens. " +
				"It is not the total divided by the number of streams; that is \"Total per stream\"."},
		{ID: IDPerStreamTokS, Name: "Total per stream", Unit: "tok/s", Better: Higher, Scope: OfCell, Formula: "total / C",
			Definition: "Total tok/s divided by the requests asked for at once: unlike per request tok/s it includes the time that a stream waits " +
				"for its next first token."},
		{ID: IDBetweenChunks, Name: "Time between chunks", Unit: "ms", Better: Lower, Scope: OfRequest,
			Formula: "arrival - arrival before, within a request, both in (a, b]",
			Definition: "The distribution of the gaps between neighbouring chunks of a request, as they arrived; what vLLM calls ITL. " +
				"With speculative decoding a chunk carries several tokens, so tokens per chunk stand beside it."},
		{ID: IDTokensPerChunk, Name: "Tokens per chunk", Unit: "", Better: Neither, Scope: OfCell, Formula: "tokens in (a, b] / chunks in (a, b]",
			Definition: "Output tokens divided by the chunks that brought them, inside the window."},
		{ID: IDActiveRequests, Name: "Average active requests", Unit: "", Better: Neither, Scope: OfCell,
			Formula: "time average over (a, b] of the requests with f passed and l not",
			Definition: "The time average over the window of the requests that have had a first token and are not finished, from this program's own events. " +
				"A request that was cut or that failed counts until its stream ended."},
		{ID: IDServerActive, Name: "Server's active requests", Unit: "", Better: Neither, Scope: OfCell,
			Formula:    "mean over (a, b] of the server's running gauge",
			Definition: "The mean over the window of the server's own gauge of running requests, summed over its engines, where it has one."},
		{ID: IDCompletedRequests, Name: "Completed requests", Unit: "", Better: Neither, Scope: OfCell,
			Formula: "requests with l in (a, b] and a finish reason",
			Definition: "Requests whose last token arrived inside the window and that the server ended with a finish reason of its own. " +
				"0 means that an answer takes longer than the window. In a prefill row: the samples that count."},
		{ID: IDFailedRequests, Name: "Failed requests", Unit: "", Better: Lower, Scope: OfCell, Formula: "requests that failed up to b",
			Definition: "Requests of the cell that ended neither well nor by our own hand, up to the end of the window; each was replaced by a new one. " +
				"They count in no latency."},
		{ID: IDEarlyStops, Name: "Early stops", Unit: "", Better: Neither, Scope: OfCell,
			Formula:    "requests that finished by \"stop\" with N below the tokens asked for",
			Definition: "Requests that the model ended by itself before the length asked for; the stream started a new one at once."},
		{ID: IDOutputTokens, Name: "Output tokens", Unit: "", Better: Neither, Scope: OfCell, Formula: "tokens in (a, b]",
			Definition: "Output tokens of all streams that arrived inside the window, over all repeats."},
		{ID: IDMeasured, Name: "Measured for", Unit: "s", Better: Neither, Scope: OfCell, Formula: "b - a",
			Definition: "The length of the measured window, over all repeats. It is the asked duration, or up to four times that " +
				"until each stream has brought 100 tokens."},
		{ID: IDWholeCellTokS, Name: "Whole-cell tok/s", Unit: "tok/s", Better: Higher, Scope: OfCell,
			Formula: "tokens up to b / (b - first send)",
			Definition: "All output tokens from the first send after the scouts to the end of the window, over that time: " +
				"the start of the cell included, beside the steady figure."},
		{ID: IDEndToEnd, Name: "End to end", Unit: "ms", Better: Lower, Scope: OfRequest, Formula: "l - s",
			Definition: "From just before the request is written to the arrival of its last token, over the completed requests of the window that asked for the " +
				"full output. The time until the server closes the stream is not part of it."},
		{ID: IDScalingEfficiency, Name: "Scaling efficiency", Unit: "%", Better: Higher, Scope: OfCell, Formula: "total(C) / (C x total(1))",
			Definition: "Total tok/s divided by C times the total tok/s of one request alone, at the same context: 100 % where a stream among " +
				"C is as fast as one alone."},
		{ID: IDPromptTokens, Name: "Prompt tokens", Unit: "", Better: Neither, Scope: OfRequest, Formula: "usage.prompt_tokens",
			Definition: "The length of the prompt as the server counts it, chat template included; the median over the requests of the cell. " +
				"The lengthened first requests of a staggered start are left out."},
		{ID: IDCachedTokens, Name: "Cached prompt tokens", Unit: "", Better: Neither, Scope: OfRequest, Formula: "usage.prompt_tokens_details.cached_tokens",
			Definition: "How much of the prompt the server says that it took from its prefix cache; the median over the same requests."},
		{ID: IDInterval, Name: "95 % interval", Unit: "tok/s", Better: Neither, Scope: OfCell,
			Formula: "mean ± t s / sqrt(n) over repeats, else block bootstrap",
			Definition: "Of a rate: from the repeats when there are 3 or more (Student's t), else by a seeded bootstrap over blocks of one second or ten " +
				"times between tokens, whichever is longer; that one is labelled \"within this run\" and does not cover the noise between runs."},
	}
}

// Lookup returns the metric with that id.
func Lookup(id ID) (Metric, bool) {
	for _, m := range entries() {
		if m.ID == id {
			m.Slug = slug(m.Name)
			return m, true
		}
	}
	return Metric{}, false
}

// slug returns a name as an anchor: lower-case letters and digits, one hyphen for all that stands between.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-") && c != '\'':
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
