package simengine

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Dialect is the API that the engine speaks, named after the engine whose formats it follows.
type Dialect string

const (
	VLLM     Dialect = "vllm"
	SGLang   Dialect = "sglang"
	LlamaCPP Dialect = "llamacpp"
	TGI      Dialect = "tgi"
	Ollama   Dialect = "ollama"
	Generic  Dialect = "generic" // only /v1/models and /v1/chat/completions
)

// simVersion is what the engine gives as its version: no real engine has it.
const simVersion = "0.0.0+simulated"

// dialect holds how one engine's API differs from the others.
type dialect struct {
	name       Dialect
	wire       wire
	routes     func(*Engine, *http.ServeMux)
	errorBody  func(*apiError) any
	openPath   func(path string) bool // needs no API key
	continuous bool                   // knows continuous_usage_stats
	keepsOn    bool                   // goes on generating when the client leaves, until it is told to abort
	slots      bool                   // its KV cache is in slots
	anyModel   bool                   // does not look at the request's model
	pings      time.Duration          // interval of comments in a stream; 0: none
	owner      string                 // owned_by in /v1/models
}

// dialects lists all of them, in the order of the documentation.
func dialects() []dialect {
	return []dialect{vllmDialect(), sglangDialect(), llamacppDialect(), tgiDialect(), ollamaDialect(), genericDialect()}
}

// Dialects lists the names.
func Dialects() []string {
	var names []string
	for _, d := range dialects() {
		names = append(names, string(d.name))
	}
	return names
}

func findDialect(name Dialect) (dialect, error) {
	for _, d := range dialects() {
		if d.name == name {
			return d, nil
		}
	}
	return dialect{}, fmt.Errorf("dialect %q is not known: use one of %s", name, strings.Join(Dialects(), ", "))
}

func (d dialect) guarded(path string) bool {
	return path != "/speedmatrix/profile" && path != "/health" && !d.openPath(path)
}

func (d dialect) fail(w http.ResponseWriter, e *apiError) {
	status := e.status
	if d.name == TGI && status == http.StatusBadRequest {
		status = http.StatusUnprocessableEntity
	}
	writeJSON(w, status, d.errorBody(e))
}

func (d dialect) encoder(k kind, a *answer) encoder {
	if k == kindOllamaChat {
		return newOllamaChat(a)
	}
	return newOpenAI(d.wire, k, a)
}

// openAIError is the body of an error as OpenAI and vLLM have it.
func openAIError(e *apiError) any {
	var param any
	if e.param != "" {
		param = e.param
	}
	return map[string]any{"error": map[string]any{"message": e.message, "type": e.kind, "param": param, "code": e.status}}
}

func genericDialect() dialect {
	return dialect{
		name:      Generic,
		wire:      wire{roleApart: true, finishApart: true, usageNull: true, choiceFields: `,"logprobs":null`},
		routes:    func(*Engine, *http.ServeMux) {},
		errorBody: openAIError,
		openPath:  func(string) bool { return false },
		owner:     "organization",
	}
}

// serveModels answers GET /v1/models; each dialect tells what its engine tells there.
func (e *Engine) serveModels(w http.ResponseWriter, _ *http.Request) {
	model := map[string]any{"id": e.profile.Model.Served, "object": "model", "created": e.created, "owned_by": e.dialect.owner}
	switch e.dialect.name {
	case VLLM:
		model["root"], model["parent"], model["max_model_len"] = e.profile.Model.ID, nil, e.profile.Limits.MaxModelLen
	case SGLang:
		model["root"], model["max_model_len"] = e.profile.Model.Served, e.profile.Limits.MaxModelLen
	case LlamaCPP:
		model["meta"] = map[string]any{"n_ctx_train": e.profile.Limits.MaxModelLen}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
}

// serveHealth answers as most engines do: 200 without a body.
func serveHealth(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
