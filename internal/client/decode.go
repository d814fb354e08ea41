package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// object is a decoded JSON object. Its methods answer with a zero value for what is absent or of another kind:
// servers differ, and a field that we cannot read is one that we do not have.
type object map[string]any

// decodeObject decodes data, which must be exactly one JSON object.
func decodeObject(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("null")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return o, nil
}

func (o object) object(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// objects returns the objects of an array.
func (o object) objects(key string) []object {
	list, _ := o[key].([]any)
	var out []object
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// count sets dst when the member is a number that can count tokens.
func (o object) count(key string, dst *int32) {
	n, ok := o[key].(json.Number)
	if !ok {
		return
	}
	if f, err := n.Float64(); err == nil && f >= 0 && f <= math.MaxInt32 && f == math.Trunc(f) {
		*dst = int32(f)
	}
}

// decodeOpenAI reads one event of a chat or completions stream into c, which was reset. It understands whatever
// scanOpenAI does, and more; the error says that the event is not a JSON object.
func decodeOpenAI(data []byte, c *chunk) error {
	o, err := decodeObject(data)
	if err != nil {
		return err
	}
	if message, failed := errorOf(o); failed {
		c.failed, c.message = true, message
		return nil
	}
	for _, choice := range o.objects("choices") {
		c.choice = true
		decodeDelta(choice.object("delta"), c)
		c.say(choice.text("text"), true)
		if r := choice.text("finish_reason"); r != "" {
			c.finish = r
		}
	}
	usage := o.object("usage")
	usage.count("prompt_tokens", &c.prompt)
	usage.count("completion_tokens", &c.output)
	timings := o.object("timings")
	timings.count("cache_n", &c.timedCached)
	timings.count("predicted_n", &c.timedOutput)
	usage.count("prompt_cache_hit_tokens", &c.cached)
	usage.object("prompt_tokens_details").count("cached_tokens", &c.cached)
	c.settleTimings()
	return nil
}

func decodeDelta(delta object, c *chunk) {
	reasoning := delta.text("reasoning_content")
	if reasoning == "" {
		reasoning = delta.text("reasoning")
	}
	c.say(reasoning, false)
	c.say(delta.text("content"), true)
	for _, part := range delta.objects("content") { // Mistral: a list of texts and thoughts
		c.say(part.text("text"), true)
		for _, thought := range part.objects("thinking") {
			c.say(thought.text("text"), false)
		}
	}
	c.say(delta.text("refusal"), true)
	for _, call := range delta.objects("tool_calls") {
		decodeFunction(call.object("function"), c)
	}
	decodeFunction(delta.object("function_call"), c)
}

// decodeFunction reads the name and arguments of a tool call; Ollama gives the arguments as an object.
func decodeFunction(f object, c *chunk) {
	c.say(f.text("name"), true)
	switch args := f["arguments"].(type) {
	case string:
		c.say(args, true)
	case map[string]any:
		if b, err := json.Marshal(args); err == nil {
			c.say(string(b), true)
		}
	}
}

func (c *chunk) say(text string, visible bool) {
	c.text = append(c.text, text...)
	c.visible = c.visible || (visible && text != "")
}

// errorOf finds the error that an answer reports, in the forms that servers use: {"error":{"message":…}},
// {"error":"…"}, {"object":"error","message":…}.
func errorOf(o object) (message string, failed bool) {
	if e, ok := o["error"]; ok && e != nil {
		return messageOf(e), true
	}
	if o.text("object") == "error" {
		return messageOf(map[string]any(o)), true
	}
	return "", false
}

// messageOf finds the text of an error value: the value itself, its message, or FastAPI's detail.
func messageOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"message", "error", "detail", "msg"} {
			if inner, ok := v[key]; ok && inner != nil {
				return messageOf(inner)
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
