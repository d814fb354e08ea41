package client

// chat is POST {base}/chat/completions.
func chat() dialect {
	return dialect{
		path:   func(base string) string { return base + "/chat/completions" },
		accept: "text/event-stream",
		scan:   scanOpenAI,
		decode: decodeOpenAI,
		body: func(b []byte, model string, r Request, f fields) []byte {
			b = append(b, `{"model":`...)
			b = appendQuoted(b, model)
			b = append(b, `,"messages":[{"role":"user","content":`...)
			b = appendQuoted(b, r.Prompt)
			b = append(b, `}]`...)
			return appendOptions(b, r, f)
		},
	}
}
