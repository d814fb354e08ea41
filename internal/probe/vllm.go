package probe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
)

// lookVLLM knows vLLM by /version together with its metrics or its name in the list of models: /version alone answers
// elsewhere too.
func lookVLLM(ctx context.Context, s *session, srv *Server) bool {
	var version struct {
		Version string `json:"version"`
	}
	if !s.ask(ctx, s.root+"/version", &version) || version.Version == "" {
		return false
	}
	samples := s.metrics(ctx)
	if !hasPrefix(samples, "vllm:") && s.entry().OwnedBy != "vllm" {
		return false
	}
	told := factList{source: event.FromServer}
	told.text("engine", "repository", "github.com/vllm-project/vllm")
	addVersion(&told, version.Version)
	addOrigin(&told, s.entry().Root)
	addCacheConfig(&told, samples)
	srv.Facts = told.facts

	srv.limit(s.entry().MaxModelLen, "vllm:/v1/models max_model_len")
	vllmCapacity(srv, samples)
	srv.StopsOnDisconnect = true
	if _, ok := sum(samples, "vllm:num_requests_running"); ok {
		srv.gauges = s.metricGauges("vllm:num_requests_running", "vllm:num_requests_waiting",
			"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
	}
	srv.count = s.tokenizer(ctx, promptTokenizer(s.model))
	return true
}

const cacheConfig = "vllm:cache_config_info"

// vllmCapacity reads the size of the KV cache from the labels of cache_config_info.
//
// The front end gives every data-parallel engine a label set of its own but fills each with the totals over all of
// them, so equal values are one value told several times; only values that differ are added up.
func vllmCapacity(srv *Server, samples []sample) {
	configs := family(samples, cacheConfig)
	tokens := func(labels map[string]string) float64 { return labelNumber(labels, "kv_cache_size_tokens") }
	if n := combine(configs, tokens); n > 0 {
		srv.capacity(n, cacheConfig+" kv_cache_size_tokens")
		return
	}
	blocks := func(labels map[string]string) float64 {
		return labelNumber(labels, "num_gpu_blocks") * labelNumber(labels, "block_size")
	}
	if n := combine(configs, blocks); n > 0 {
		srv.capacity(n, cacheConfig+" num_gpu_blocks x block_size (an upper bound: up to 18 times too high on hybrid models)")
		return
	}
	srv.Notes = append(srv.Notes, "vLLM does not tell the size of its KV cache; give it with --kv-tokens to rule out cells that cannot fit")
}

func combine(configs []sample, value func(labels map[string]string) float64) float64 {
	first, total, same := 0.0, 0.0, true
	for i, c := range configs {
		v := value(c.labels)
		if i == 0 {
			first = v
		}
		same = same && v == first
		total += v
	}
	if same {
		return first
	}
	return total
}

// labelNumber is 0 for a label that is absent or no number ("None").
func labelNumber(labels map[string]string, name string) float64 {
	v, err := strconv.ParseFloat(labels[name], 64)
	if err != nil || v < 0 {
		return 0
	}
	return v
}

func addCacheConfig(list *factList, samples []sample) {
	configs := family(samples, cacheConfig)
	if len(configs) == 0 {
		return
	}
	labels := configs[0].labels
	list.text("engine", "kv_cache_dtype", labels["cache_dtype"])
	switch labels["enable_prefix_caching"] {
	case "True", "true":
		list.flag("engine", "prefix_caching", true)
	case "False", "false":
		list.flag("engine", "prefix_caching", false)
	}
}

// metrics asks for the Prometheus metrics; nil when there are none.
func (s *session) metrics(ctx context.Context) []sample {
	a, err := s.get(ctx, s.root+"/metrics")
	if err != nil || !a.ok() {
		return nil
	}
	return parseMetrics(string(a.body))
}

func hasPrefix(samples []sample, prefix string) bool {
	for _, s := range samples {
		if strings.HasPrefix(s.name, prefix) {
			return true
		}
	}
	return false
}

// metricGauges reads gauges by their exact names, summed over data-parallel engines. usage names are tried in turn.
func (s *session) metricGauges(running, waiting string, usage ...string) func(context.Context) (Gauges, error) {
	return func(ctx context.Context) (Gauges, error) {
		a, err := s.get(ctx, s.root+"/metrics")
		if err != nil {
			return Gauges{}, fmt.Errorf("read the server's gauges: %w", err)
		}
		samples := parseMetrics(string(a.body))
		r, ok := sum(samples, running)
		if !ok {
			return Gauges{}, fmt.Errorf("read the server's gauges: %s is not in /metrics (status %d)", running, a.status)
		}
		w, hasQueue := sum(samples, waiting)
		return Gauges{Running: r, Waiting: w, NoQueue: !hasQueue, KVUsage: mean(samples, usage...)}, nil
	}
}
