package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// tokenizerDialect is how an engine's POST /tokenize is asked.
type tokenizerDialect func(text string) any

// promptTokenizer is the dialect of vLLM and SGLang.
func promptTokenizer(model string) tokenizerDialect {
	return func(text string) any {
		return struct {
			Model   string `json:"model"`
			Prompt  string `json:"prompt"`
			Special bool   `json:"add_special_tokens"`
		}{model, text, false}
	}
}

// contentTokenizer is the dialect of llama.cpp.
func contentTokenizer(text string) any {
	return struct {
		Content string `json:"content"`
		Special bool   `json:"add_special"`
	}{text, false}
}

// tokenizer tries the endpoint once and returns a counter, or nil when there is none.
func (s *session) tokenizer(ctx context.Context, ask tokenizerDialect) func(context.Context, string) (int, error) {
	count := func(ctx context.Context, text string, timeout time.Duration) (int, error) {
		a, err := s.post(ctx, s.root+"/tokenize", ask(text), timeout, countBound)
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		var reply struct {
			Count  *int              `json:"count"`
			Tokens []json.RawMessage `json:"tokens"`
		}
		if !a.decode(&reply) {
			return 0, fmt.Errorf("count tokens: %q %s", shown(s.root+"/tokenize"), describe(a))
		}
		// The list is the thing itself; a count without a list is believed.
		if reply.Tokens == nil && reply.Count != nil && *reply.Count >= 0 {
			return *reply.Count, nil
		}
		return len(reply.Tokens), nil
	}
	if n, err := count(ctx, "one two three", askTimeout); err != nil || n == 0 {
		return nil
	}
	return func(ctx context.Context, text string) (int, error) { return count(ctx, text, countTimeout) }
}
