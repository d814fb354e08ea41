package simengine

import (
	"io"
	"net/http"
)

func tgiDialect() dialect {
	return dialect{
		name: TGI,
		wire: wire{usageNull: true, choiceFields: `,"logprobs":null`, chunkFields: `,"system_fingerprint":"` + simVersion + `"`},
		routes: func(e *Engine, mux *http.ServeMux) {
			mux.HandleFunc("POST /v1/completions", e.generate(kindCompletion))
			mux.HandleFunc("POST /tokenize", e.tgiTokenize)
			mux.HandleFunc("GET /health", serveHealth)
			mux.HandleFunc("GET /info", e.tgiInfo)
			if !e.opt.NoMetrics {
				mux.HandleFunc("GET /metrics", e.serveMetrics(tgiMetrics))
			}
		},
		errorBody: func(e *apiError) any {
			kind := "validation"
			if e.status >= 500 || e.status == http.StatusTooManyRequests {
				kind = "overloaded"
			}
			return map[string]any{"error": e.message, "error_type": kind}
		},
		openPath: func(path string) bool { return path == "/metrics" },
		anyModel: true,
		owner:    "tgi",
	}
}

func (e *Engine) tgiInfo(w http.ResponseWriter, _ *http.Request) {
	limits := e.profile.Limits
	writeJSON(w, http.StatusOK, map[string]any{
		"model_id":                e.profile.Model.ID,
		"model_sha":               nil,
		"model_dtype":             e.profile.Model.DType,
		"model_device_type":       "simulated",
		"model_pipeline_tag":      "text-generation",
		"max_concurrent_requests": 4 * limits.MaxRunning,
		"max_input_tokens":        limits.MaxModelLen - 1,
		"max_total_tokens":        limits.MaxModelLen,
		"max_batch_total_tokens":  limits.KVTokens / BlockTokens * BlockTokens,
		"max_batch_size":          limits.MaxRunning,
		"waiting_served_ratio":    0.3,
		"max_waiting_tokens":      20,
		"router":                  "text-generation-router",
		"version":                 simVersion,
		"sha":                     nil,
		"docker_label":            nil,
	})
}

// tgiTokenize lists the tokens of "inputs".
func (e *Engine) tgiTokenize(w http.ResponseWriter, r *http.Request) {
	req, fail := readRequest(r, nil)
	if fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	t := newTokenizer(false)
	t.add(req.prompt)
	list := make([]map[string]any, t.count)
	for i := range list {
		list[i] = map[string]any{"id": i}
	}
	writeJSON(w, http.StatusOK, list)
}

func tgiMetrics(_ *Engine, w io.Writer, l load) {
	m := metricsWriter{w}
	m.gauge("tgi_queue_size", "Requests in the queue.", "", float64(l.waiting))
	m.gauge("tgi_batch_current_size", "Requests in the running batch.", "", float64(l.running))
	m.gauge("tgi_batch_current_max_tokens", "Tokens that the running batch may grow to.", "", 0)
}
