package simengine

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func vllmDialect() dialect {
	return dialect{
		name:       VLLM,
		wire:       wire{roleApart: true, choiceFields: `,"logprobs":null`},
		routes:     vllmRoutes,
		errorBody:  vllmError,
		openPath:   func(path string) bool { return !strings.HasPrefix(path, "/v1") }, // its key guards only the API
		continuous: true,
		owner:      "vllm",
	}
}

func vllmRoutes(e *Engine, mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/completions", e.generate(kindCompletion))
	mux.HandleFunc("POST /tokenize", e.serveTokenize)
	mux.HandleFunc("GET /health", serveHealth)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"version": simVersion})
	})
	if !e.opt.NoMetrics {
		mux.HandleFunc("GET /metrics", e.serveMetrics(vllmMetrics))
	}
}

func vllmError(e *apiError) any {
	if e.status == http.StatusUnauthorized {
		return map[string]any{"error": "Unauthorized"}
	}
	return openAIError(e)
}

// serveTokenize counts a prompt or messages, as vLLM and SGLang do. Token ids are the tokens' positions.
func (e *Engine) serveTokenize(w http.ResponseWriter, r *http.Request) {
	req, fail := readRequest(r, nil)
	if fail != nil {
		e.dialect.fail(w, fail)
		return
	}
	t := newTokenizer(false)
	switch {
	case req.messages != nil:
		t.chat(req.messages)
	case req.prompt != nil:
		t.add(req.prompt)
	default:
		e.dialect.fail(w, badRequest("prompt", "prompt or messages is missing"))
		return
	}
	b := fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":`, t.count, e.profile.Limits.MaxModelLen)
	b = append(appendIDs(b, t.count), `,"token_strs":null}`...)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client may be gone
}

// appendIDs appends a JSON list of n token ids.
func appendIDs(b []byte, n int) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i), 10)
	}
	return append(b, ']')
}

// serveMetrics answers GET /metrics in Prometheus' text format.
func (e *Engine) serveMetrics(write func(*Engine, io.Writer, load)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		write(e, w, e.gauges())
	}
}

// gauges is the load as the metrics tell it: with Options.StaleGauges an engine that has just gone idle still shows
// its last load.
func (e *Engine) gauges() load {
	l := e.sched.load()
	if l.running == 0 && l.waiting == 0 && e.opt.StaleGauges > 0 && l.sinceBusy < e.opt.StaleGauges {
		l.running, l.waiting = l.lastRunning, 0
	}
	return l
}

// vllmMetrics writes vLLM's names. Beside those that count stand some that only begin like them, as in the real one.
func vllmMetrics(e *Engine, w io.Writer, l load) {
	m := metricsWriter{w}
	ranks := max(e.opt.Ranks, 1)
	blocks := e.profile.Limits.KVTokens / BlockTokens
	each := func(name, kind, help string, value func(rank int) float64) {
		m.header(name, kind, help)
		for rank := range ranks {
			m.value(name, fmt.Sprintf(`engine="%d",model_name=%q`, rank, e.profile.Model.Served), value(rank))
		}
	}
	part := func(n int) func(int) float64 {
		return func(rank int) float64 { return float64((n + ranks - 1 - rank) / ranks) }
	}
	first := func(n int64) func(int) float64 {
		return func(rank int) float64 { return float64((n + int64(ranks-1-rank)) / int64(ranks)) }
	}
	each("vllm:num_requests_running", "gauge", "Number of requests in model execution batches.", part(l.running))
	each("vllm:num_requests_waiting", "gauge", "Number of requests waiting to be processed.", part(l.waiting))
	m.header("vllm:num_requests_waiting_by_reason", "gauge", "Number of requests waiting, by reason.")
	for rank := range ranks {
		m.value("vllm:num_requests_waiting_by_reason", fmt.Sprintf(`engine="%d",model_name=%q,reason="capacity"`, rank, e.profile.Model.Served), part(l.waiting)(rank))
	}
	each("vllm:kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", func(int) float64 { return l.kvUsage })
	each("vllm:prefix_cache_queries_total", "counter", "Prefix cache queries, in tokens.", first(l.counts.promptTokens))
	each("vllm:prefix_cache_hits_total", "counter", "Prefix cache hits, in tokens.", first(l.counts.cachedTokens))
	each("vllm:prompt_tokens_total", "counter", "Number of prefill tokens processed.", first(l.counts.promptTokens))
	each("vllm:generation_tokens_total", "counter", "Number of generation tokens processed.", first(l.counts.outputTokens))
	m.header("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
	for rank := range ranks {
		// The labels are of the whole deployment, the same for every rank.
		m.value("vllm:cache_config_info", fmt.Sprintf(`block_size="%d",cache_dtype="auto",enable_prefix_caching=%q,engine="%d",`+
			`gpu_memory_utilization="0.9",kv_cache_size_tokens="%d",num_gpu_blocks="%d"`,
			BlockTokens, pythonBool(!e.opt.NoPrefixCache), rank, blocks*BlockTokens, blocks), 1)
	}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// metricsWriter writes Prometheus' text format.
type metricsWriter struct{ w io.Writer }

func (m metricsWriter) header(name, kind, help string) {
	fmt.Fprintf(m.w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (m metricsWriter) value(name, labels string, v float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(m.w, "%s%s %s\n", name, labels, strconv.FormatFloat(v, 'f', -1, 64))
}

// gauge writes a metric of one value.
func (m metricsWriter) gauge(name, help, labels string, v float64) {
	m.header(name, "gauge", help)
	m.value(name, labels, v)
}
