package simengine

import (
	"fmt"
	"io"
	"net/http"
)

func sglangDialect() dialect {
	return dialect{
		name: SGLang,
		wire: wire{roleApart: true, finishApart: true, usageNull: true, choiceFields: `,"logprobs":null,"matched_stop":null`},
		routes: func(e *Engine, mux *http.ServeMux) {
			mux.HandleFunc("POST /v1/completions", e.generate(kindCompletion))
			mux.HandleFunc("POST /tokenize", e.serveTokenize)
			mux.HandleFunc("POST /v1/tokenize", e.serveTokenize)
			mux.HandleFunc("GET /health", serveHealth)
			mux.HandleFunc("GET /get_server_info", e.sglangInfo)
			mux.HandleFunc("GET /server_info", e.sglangInfo)
			mux.HandleFunc("GET /get_load", e.sglangLoad)
			mux.HandleFunc("POST /abort_request", e.sglangAbort)
			if !e.opt.NoMetrics {
				mux.HandleFunc("GET /metrics", e.serveMetrics(sglangMetrics))
			}
		},
		errorBody:  sglangError,
		openPath:   func(path string) bool { return path == "/metrics" },
		continuous: true,
		keepsOn:    true,
		owner:      "sglang",
	}
}

func sglangError(e *apiError) any {
	if e.status == http.StatusUnauthorized {
		return map[string]any{"error": "Unauthorized"}
	}
	return map[string]any{"object": "error", "message": e.message, "type": e.kind, "param": nil, "code": e.status}
}

// sglangInfo answers with the server's arguments, and among them, as the real one does, the API key.
func (e *Engine) sglangInfo(w http.ResponseWriter, _ *http.Request) {
	var key any
	if e.opt.Key != "" {
		key = e.opt.Key
	}
	kv := e.profile.Limits.KVTokens / BlockTokens * BlockTokens
	writeJSON(w, http.StatusOK, map[string]any{
		"model_path":           e.profile.Model.ID,
		"served_model_name":    e.profile.Model.Served,
		"tokenizer_path":       e.profile.Model.ID,
		"context_length":       e.profile.Limits.MaxModelLen,
		"dtype":                e.profile.Model.DType,
		"quantization":         nil,
		"attention_backend":    "simulated",
		"tp_size":              1,
		"dp_size":              max(e.opt.Ranks, 1),
		"api_key":              key,
		"enable_metrics":       !e.opt.NoMetrics,
		"disable_radix_cache":  e.opt.NoPrefixCache,
		"max_running_requests": e.profile.Limits.MaxRunning,
		"chunked_prefill_size": e.profile.Limits.StepTokens,
		"max_total_num_tokens": kv / max(e.opt.Ranks, 1), // of one rank, as the real one tells
		"status":               "ready",
		"version":              simVersion,
		"internal_states":      []any{map[string]any{"memory_usage": map[string]any{"token_capacity": kv}}},
	})
}

// sglangLoad tells the load as it is now, without the metrics' delay.
func (e *Engine) sglangLoad(w http.ResponseWriter, _ *http.Request) {
	l := e.sched.load()
	tokens := int(l.kvUsage * float64(e.profile.Limits.KVTokens))
	writeJSON(w, http.StatusOK, []any{map[string]any{
		"dp_rank": 0, "num_reqs": l.running + l.waiting, "num_waiting_reqs": l.waiting, "num_tokens": tokens,
	}})
}

// sglangAbort takes the request with the given rid out, or all of them.
func (e *Engine) sglangAbort(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RID      string `json:"rid"`
		AbortAll bool   `json:"abort_all"`
	}
	if fail := decodeSmall(r, &body); fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	if body.RID != "" || body.AbortAll {
		id := body.RID
		if body.AbortAll {
			id = ""
		}
		for _, seq := range e.sched.find(id) {
			e.sched.abort(seq)
		}
	}
	w.WriteHeader(http.StatusOK)
}

func sglangMetrics(e *Engine, w io.Writer, l load) {
	m := metricsWriter{w}
	labels := fmt.Sprintf(`engine_type="unified",model_name=%q,pp_rank="0",tp_rank="0"`, e.profile.Model.Served)
	m.gauge("sglang:num_running_reqs", "The number of running requests.", labels, float64(l.running))
	m.gauge("sglang:num_running_reqs_offline_batch", "The number of running low-priority offline batch requests.", labels, 0)
	m.gauge("sglang:num_queue_reqs", "The number of requests in the waiting queue.", labels, float64(l.waiting))
	m.gauge("sglang:num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", labels, 0)
	m.gauge("sglang:token_usage", "The token usage.", labels, l.kvUsage)
	m.header("sglang:prompt_tokens_total", "counter", "Number of prefill tokens processed.")
	m.value("sglang:prompt_tokens_total", labels, float64(l.counts.promptTokens))
	m.header("sglang:generation_tokens_total", "counter", "Number of generation tokens processed.")
	m.value("sglang:generation_tokens_total", labels, float64(l.counts.outputTokens))
}
