package simengine

import (
	"net/http"
	"strconv"
	"time"
)

func ollamaDialect() dialect {
	return dialect{
		name: Ollama,
		wire: wire{finishApart: true, chunkFields: `,"system_fingerprint":"fp_ollama"`},
		routes: func(e *Engine, mux *http.ServeMux) {
			mux.HandleFunc("POST /v1/completions", e.generate(kindCompletion))
			mux.HandleFunc("POST /api/chat", e.generate(kindOllamaChat))
			mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, http.StatusOK, map[string]any{"version": simVersion})
			})
			mux.HandleFunc("GET /api/tags", e.ollamaModels)
			mux.HandleFunc("GET /api/ps", e.ollamaModels)
			mux.HandleFunc("POST /api/show", e.ollamaShow)
		},
		errorBody: func(e *apiError) any { return map[string]any{"error": e.message} },
		openPath:  func(string) bool { return false },
		slots:     true,
		owner:     "library",
	}
}

func (e *Engine) ollamaDetails() map[string]any {
	return map[string]any{
		"format": "gguf", "family": "simulated", "families": []string{"simulated"}, "parameter_size": "",
		"quantization_level": e.profile.Model.Quantization,
	}
}

// ollamaModels answers /api/tags and /api/ps: one model, always loaded.
func (e *Engine) ollamaModels(w http.ResponseWriter, r *http.Request) {
	model := map[string]any{"name": e.profile.Model.Served, "model": e.profile.Model.Served, "details": e.ollamaDetails()}
	if r.URL.Path == "/api/ps" {
		model["context_length"] = e.limitPerRequest()
		model["expires_at"] = time.Unix(e.created, 0).UTC().AddDate(1, 0, 0).Format(time.RFC3339)
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": []any{model}})
}

func (e *Engine) ollamaShow(w http.ResponseWriter, r *http.Request) {
	var body struct{ Model, Name string }
	if fail := decodeSmall(r, &body); fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	if !e.serves(body.Model) && !e.serves(body.Name) {
		e.dialect.fail(w, &apiError{status: http.StatusNotFound, message: "model '" + body.Model + "' not found"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"details": e.ollamaDetails(),
		"model_info": map[string]any{
			"general.architecture":     "simulated",
			"simulated.context_length": e.profile.Limits.MaxModelLen,
		},
		"parameters":   "num_ctx " + strconv.Itoa(e.limitPerRequest()),
		"capabilities": []string{"completion"},
	})
}

// ollamaChat encodes /api/chat: one JSON object a line.
type ollamaChat struct{ model string }

func newOllamaChat(a *answer) *ollamaChat { return &ollamaChat{quote(a.model)} }

func (o *ollamaChat) contentType() string { return "application/x-ndjson" }

func (o *ollamaChat) open(b []byte, _ *answer) []byte { return b }

func (o *ollamaChat) token(b []byte, _ *answer, text, _ string) []byte {
	b = o.head(b, text)
	b = append(b, `,"done":false`...)
	b = appendStamp(b)
	return append(b, "}\n"...)
}

func (o *ollamaChat) head(b []byte, text string) []byte {
	b = append(b, `{"model":`...)
	b = append(b, o.model...)
	b = append(b, `,"created_at":"`...)
	b = time.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","message":{"role":"assistant","content":"`...)
	b = append(b, text...)
	return append(b, `"}`...)
}

func (o *ollamaChat) close(b []byte, a *answer, finish string) []byte {
	b = o.head(b, "")
	b = o.statistics(b, a, finish)
	b = appendStamp(b)
	return append(b, "}\n"...)
}

// statistics appends what the last object tells; durations are in nanoseconds.
func (o *ollamaChat) statistics(b []byte, a *answer, finish string) []byte {
	field := func(name string, v int64) {
		b = append(b, name...)
		b = strconv.AppendInt(b, v, 10)
	}
	b = append(b, `,"done_reason":`+quote(finish)+`,"done":true`...)
	field(`,"total_duration":`, int64(a.last.Sub(a.started)))
	field(`,"load_duration":`, 0)
	if !a.noUsage {
		field(`,"prompt_eval_count":`, int64(a.promptTokens))
		field(`,"prompt_eval_duration":`, int64(a.first.Sub(a.started)))
		field(`,"eval_count":`, int64(a.made))
		field(`,"eval_duration":`, int64(a.last.Sub(a.first)))
	}
	return b
}

func (o *ollamaChat) whole(b []byte, a *answer, text, finish string) []byte {
	b = o.head(b, text)
	b = o.statistics(b, a, finish)
	return append(b, "}\n"...)
}

func (o *ollamaChat) failure(b []byte, message string) []byte {
	return append(b, `{"error":`+quote(message)+"}\n"...)
}
