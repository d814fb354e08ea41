package client

import (
	"strconv"
	"strings"
)

// ollama is Ollama's own POST /api/chat: one JSON object a line. It knows none of the optional fields.
func ollama() dialect {
	return dialect{
		path:   func(base string) string { return strings.TrimSuffix(base, "/v1") + "/api/chat" },
		accept: "application/x-ndjson",
		lines:  true,
		scan:   scanOllama,
		decode: decodeOllama,
		body: func(b []byte, model string, r Request, _ fields) []byte {
			b = append(b, `{"model":`...)
			b = appendQuoted(b, model)
			b = append(b, `,"messages":[{"role":"user","content":`...)
			b = appendQuoted(b, r.Prompt)
			b = append(b, `}],"stream":true,"options":{"num_predict":`...)
			b = strconv.AppendInt(b, int64(r.MaxTokens), 10)
			b = append(b, `,"temperature":`...)
			b = strconv.AppendFloat(b, r.Temperature, 'g', -1, 64)
			return append(b, "}}"...)
		},
	}
}

// scanOllama reads the usual line of a stream, one that is not the last, into c.
func scanOllama(data []byte, c *chunk) bool {
	s := scanner{b: data}
	if !s.accept('{') {
		return false
	}
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok {
			return false
		}
		if key == nil {
			return s.end()
		}
		switch string(key) {
		case "message":
			ok = seen.once(0) && s.ollamaMessage(c)
		case "done":
			ok = seen.once(1) && s.accept('f') && s.literal("alse")
		case "error", "done_reason", "eval_count", "prompt_eval_count", "object":
			ok = false
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) ollamaMessage(c *chunk) bool {
	if !s.accept('{') {
		return false
	}
	c.choice = true
	var seen seenKeys
	for first := true; ; first = false {
		key, ok := s.field(first)
		if !ok || key == nil {
			return ok
		}
		switch string(key) {
		case "content":
			ok = seen.once(0) && s.generated(c, true)
		case "thinking":
			ok = seen.once(1) && s.generated(c, false)
		case "tool_calls":
			ok = seen.once(2) && s.null()
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// decodeOllama reads any line of a stream into c; the error says that it is not a JSON object.
func decodeOllama(data []byte, c *chunk) error {
	o, err := decodeObject(data)
	if err != nil {
		return err
	}
	if message, failed := errorOf(o); failed {
		c.failed, c.message = true, message
		return nil
	}
	if message := o.object("message"); message != nil {
		c.choice = true
		c.say(message.text("thinking"), false)
		c.say(message.text("content"), true)
		for _, call := range message.objects("tool_calls") {
			decodeFunction(call.object("function"), c)
		}
	}
	o.count("prompt_eval_count", &c.prompt)
	o.count("eval_count", &c.output)
	if done, _ := o["done"].(bool); done {
		c.last = true
		if c.finish = o.text("done_reason"); c.finish == "" {
			c.finish = "stop" // versions before 0.1.39 gave no reason
		}
	}
	return nil
}
