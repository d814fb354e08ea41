package simengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds a request's body.
const maxBody = 64 << 20

// kind is what a request asks for.
type kind int

const (
	kindChat kind = iota
	kindCompletion
	kindOllamaChat
)

// request is a parsed request, of any endpoint that takes a prompt.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Prompt        json.RawMessage `json:"prompt"`
	Content       json.RawMessage `json:"content"` // llama.cpp's /tokenize
	Inputs        json.RawMessage `json:"inputs"`  // TGI's /tokenize
	Stream        *bool           `json:"stream"`
	StreamOptions struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens           *int     `json:"max_tokens"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	MinTokens           int      `json:"min_tokens"`
	IgnoreEOS           bool     `json:"ignore_eos"`
	Temperature         *float64 `json:"temperature"`
	RID                 string   `json:"rid"` // SGLang's request id
	Options             struct { // Ollama's
		NumPredict *int `json:"num_predict"`
	} `json:"options"`

	messages []message
	prompt   []byte // nil when the request has none
}

// apiError is an error as the API tells it.
type apiError struct {
	status  int
	kind    string // the error's "type"
	param   string // the field that is wrong; ""
	message string
}

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(format, args...)}
}

// readRequest reads and decodes a body; rejected names fields that this engine does not know (Options.RejectFields).
func readRequest(r *http.Request, rejected []string) (*request, *apiError) {
	var buf bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength <= maxBody {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if n, err := buf.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, badRequest("", "read body: %v", err)
	} else if n > maxBody {
		return nil, &apiError{http.StatusRequestEntityTooLarge, "BadRequestError", "", fmt.Sprintf("the body is over %d bytes", maxBody)}
	}
	doc, err := lift(buf.Bytes())
	if err != nil {
		return nil, badRequest("", "%v", err)
	}
	var req request
	if err := json.Unmarshal(doc.skeleton, &req); err != nil {
		return nil, badRequest("", "request body is not valid: %v", err)
	}
	for _, field := range rejected {
		if hasField(doc.skeleton, field) {
			return nil, badRequest(field, "Unrecognized request argument supplied: %s", field)
		}
	}
	return &req, req.texts(doc)
}

// decodeSmall decodes a short JSON body.
func decodeSmall(r *http.Request, v any) *apiError {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(v); err != nil {
		return badRequest("", "request body is not valid: %v", err)
	}
	return nil
}

// hasField reports whether the document has the field at its top or in stream_options.
func hasField(skeleton []byte, field string) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(skeleton, &top) != nil {
		return false
	}
	var nested map[string]json.RawMessage
	_ = json.Unmarshal(top["stream_options"], &nested) // absent: no nested fields
	return top[field] != nil || nested[field] != nil
}

func (req *request) texts(doc lifted) *apiError {
	for i, m := range req.Messages {
		text, err := doc.contentText(m.Content)
		if err != nil {
			return badRequest("messages", "messages[%d]: %v", i, err)
		}
		req.messages = append(req.messages, message{m.Role, text})
	}
	for _, raw := range []json.RawMessage{req.Prompt, req.Content, req.Inputs} {
		if raw == nil {
			continue
		}
		text, err := doc.promptText(raw)
		if err != nil {
			return badRequest("prompt", "%v", err)
		}
		req.prompt = append([]byte{}, text...)
	}
	return nil
}

// tokens counts and hashes what the request brings: its messages under the chat template, or its prompt as it is.
func (req *request) tokens(k kind) (*tokenizer, *apiError) {
	t := newTokenizer(true)
	switch {
	case k == kindCompletion && req.prompt != nil:
		t.add(req.prompt)
	case k != kindCompletion && len(req.messages) > 0:
		t.chat(req.messages)
	case k == kindCompletion:
		return nil, badRequest("prompt", "prompt is missing")
	default:
		return nil, badRequest("messages", "messages is missing or empty")
	}
	if t.count == 0 {
		return nil, badRequest("prompt", "the prompt has no tokens")
	}
	return t, nil
}

// output is the number of tokens asked for; 0 when the request leaves it open.
func (req *request) output(k kind) int {
	for _, n := range []*int{req.MaxCompletionTokens, req.MaxTokens, req.Options.NumPredict} {
		if n != nil && (k == kindOllamaChat || n != req.Options.NumPredict) {
			return max(*n, 0)
		}
	}
	return 0
}

// check returns what is wrong with the request's values.
func (req *request) check() *apiError {
	if n := req.MaxTokens; n != nil && *n < 1 {
		return badRequest("max_tokens", "max_tokens must be at least 1, got %d.", *n)
	}
	if t := req.Temperature; t != nil && *t < 0 {
		return badRequest("temperature", "temperature must be non-negative, got %v.", *t)
	}
	if n := req.output(kindChat); n > 0 && req.MinTokens > n {
		return badRequest("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", n, req.MinTokens)
	}
	return nil
}

// serves reports whether the engine knows the model by this name.
func (e *Engine) serves(model string) bool {
	base, _, _ := strings.Cut(model, ":")
	return model == e.profile.Model.Served || e.dialect.anyModel || e.dialect.name == Ollama && base == e.profile.Model.Served
}
