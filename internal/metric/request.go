package metric

import "speedmatrix/internal/event"

// TTFT returns the time to first token in microseconds, f - s: from just before the request was written to the arrival of
// the first chunk with a token of any kind. False when no chunk arrived.
func TTFT(r *event.Request) (int64, bool) {
	if len(r.ChunkUS) == 0 {
		return 0, false
	}
	return r.ChunkUS[0], true
}

// TTFO returns the time to first output in microseconds, v - s: to the first token that is not reasoning. False when
// there was none, or when it is not known.
func TTFO(r *event.Request) (int64, bool) {
	if r.VisibleUS == nil {
		return 0, false
	}
	return *r.VisibleUS, true
}

// EndToEnd returns l - s in microseconds: to the arrival of the last token, however long the server kept the stream open
// after it. False when no chunk arrived.
func EndToEnd(r *event.Request) (int64, bool) {
	if len(r.ChunkUS) == 0 {
		return 0, false
	}
	return r.ChunkUS[len(r.ChunkUS)-1], true
}

// PrefillTokS returns the prompt tokens that the server read a second: (prompt_tokens - cached_tokens) / TTFT, as the
// server counted them; a server that says nothing of its cache cached nothing. It means something for a cold request
// only. False when the server told no prompt length, cached all of it, or no token came.
func PrefillTokS(r *event.Request) (float64, bool) {
	ttft, ok := TTFT(r)
	if !ok || ttft <= 0 || r.PromptTokens == nil {
		return 0, false
	}
	read := int64(*r.PromptTokens)
	if r.CachedTokens != nil {
		read -= int64(*r.CachedTokens)
	}
	if read <= 0 {
		return 0, false
	}
	return float64(read) / (float64(ttft) / 1e6), true
}

// Cached reports whether the server took at least 90 % of the prompt from its cache. A server that does not tell is
// believed to have done so: its requests are told apart by how they were sent alone.
func Cached(r *event.Request) bool {
	if r.PromptTokens == nil || r.CachedTokens == nil {
		return true
	}
	return 10*int64(*r.CachedTokens) >= 9*int64(*r.PromptTokens)
}

// StoppedEarly reports whether the model ended its answer by itself before the tokens asked for.
func StoppedEarly(r *event.Request) bool {
	if r.Outcome != event.OK || r.FinishReason == nil || *r.FinishReason != "stop" {
		return false
	}
	got := r.Tokens()
	if r.OutputTokens != nil {
		got = int64(*r.OutputTokens)
	}
	return got < int64(r.AskedTokens)
}
