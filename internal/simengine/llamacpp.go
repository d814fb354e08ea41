package simengine

import (
	"io"
	"net/http"
	"time"
)

func llamacppDialect() dialect {
	return dialect{
		name: LlamaCPP,
		wire: wire{roleApart: true, finishApart: true, usageInLast: true, timings: true, chunkFields: `,"system_fingerprint":"b0-simulated"`},
		routes: func(e *Engine, mux *http.ServeMux) {
			mux.HandleFunc("POST /v1/completions", e.generate(kindCompletion))
			mux.HandleFunc("POST /tokenize", e.llamacppTokenize)
			mux.HandleFunc("POST /apply-template", e.llamacppTemplate)
			mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
			})
			mux.HandleFunc("GET /props", e.llamacppProps)
			mux.HandleFunc("GET /slots", e.llamacppSlots)
			if !e.opt.NoMetrics {
				mux.HandleFunc("GET /metrics", e.serveMetrics(llamacppMetrics))
			}
		},
		errorBody: llamacppError,
		openPath:  func(path string) bool { return path == "/v1/models" },
		slots:     true,
		anyModel:  true,
		pings:     time.Second,
		owner:     "llamacpp",
	}
}

func llamacppError(e *apiError) any {
	kind := "invalid_request_error"
	switch {
	case e.status == http.StatusUnauthorized:
		kind = "authentication_error"
	case e.status >= 500:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"code": e.status, "message": e.message, "type": kind}}
}

// llamacppTokenize counts "content", without a chat template.
func (e *Engine) llamacppTokenize(w http.ResponseWriter, r *http.Request) {
	req, fail := readRequest(r, nil)
	if fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	t := newTokenizer(false)
	t.add(req.prompt)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(appendIDs([]byte(`{"tokens":`), t.count), '}')) // the client may be gone
}

// llamacppTemplate renders messages to the prompt that the chat endpoint would make of them.
func (e *Engine) llamacppTemplate(w http.ResponseWriter, r *http.Request) {
	req, fail := readRequest(r, nil)
	if fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"prompt": string(render(req.messages))})
}

// llamacppProps tells the context of one slot, not of all.
func (e *Engine) llamacppProps(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{
			"id": 0, "id_task": -1, "n_ctx": e.limitPerRequest(), "speculative": false, "is_processing": false,
			"params": map[string]any{"n_predict": -1, "temperature": 0.8, "seed": 4294967295},
		},
		"total_slots":   e.profile.Limits.MaxRunning,
		"model_alias":   e.profile.Model.Served,
		"model_path":    e.profile.Model.ID,
		"chat_template": templateStart + "{% for m in messages %}" + turnOpen + "{{ m.role }}\n{{ m.content }}" + turnClose + "{% endfor %}" + templateEnd,
		"build_info":    "b0-simulated",
	})
}

func (e *Engine) llamacppSlots(w http.ResponseWriter, _ *http.Request) {
	busy := e.sched.busySlots()
	slots := make([]any, len(busy))
	for i, b := range busy {
		slots[i] = map[string]any{"id": i, "n_ctx": e.limitPerRequest(), "speculative": false, "is_processing": b}
	}
	writeJSON(w, http.StatusOK, slots)
}

func llamacppMetrics(_ *Engine, w io.Writer, l load) {
	m := metricsWriter{w}
	m.header("llamacpp:prompt_tokens_total", "counter", "Number of prompt tokens processed.")
	m.value("llamacpp:prompt_tokens_total", "", float64(l.counts.promptTokens-l.counts.cachedTokens))
	m.header("llamacpp:tokens_predicted_total", "counter", "Number of generation tokens processed.")
	m.value("llamacpp:tokens_predicted_total", "", float64(l.counts.outputTokens))
	m.gauge("llamacpp:requests_processing", "Number of requests processing.", "", float64(l.running))
	m.gauge("llamacpp:requests_deferred", "Number of requests deferred.", "", float64(l.waiting))
}
