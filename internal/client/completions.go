package client

// completions is POST {base}/completions: the prompt as it is, without a chat template.
func completions() dialect {
	return dialect{
		path:   func(base string) string { return base + "/completions" },
		accept: "text/event-stream",
		scan:   scanOpenAI,
		decode: decodeOpenAI,
		body: func(b []byte, model string, r Request, f fields) []byte {
			b = append(b, `{"model":`...)
			b = appendQuoted(b, model)
			b = append(b, `,"prompt":`...)
			b = appendQuoted(b, r.Prompt)
			return appendOptions(b, r, f)
		},
	}
}
