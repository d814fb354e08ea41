package probe

import (
	"context"
	"fmt"
	"time"

	"speedmatrix/internal/event"
)

// sglangInfo is what is used of SGLang's server info. The answer holds all launch arguments, the API key and the admin
// key among them: only the fields named here are ever read, and the answer itself is never kept.
type sglangInfo struct {
	Version       string   `json:"version"`
	MaxTotal      *float64 `json:"max_total_num_tokens"` // KV cache of one data-parallel rank
	ContextLength float64  `json:"context_length"`       // null unless set at launch
	ModelPath     string   `json:"model_path"`
	Revision      string   `json:"revision"`
	DType         string   `json:"dtype"`
	Quantization  string   `json:"quantization"`
	KVCacheDType  string   `json:"kv_cache_dtype"`
	Attention     string   `json:"attention_backend"`
	Device        string   `json:"device"`
	TP            float64  `json:"tp_size"`
	DP            float64  `json:"dp_size"`
	PP            float64  `json:"pp_size"`
	DCP           float64  `json:"dcp_size"`                     // decode context parallelism, by the names
	DCPLong       float64  `json:"decode_context_parallel_size"` // that versions and forks use
	MaxRunning    float64  `json:"max_running_requests"`
	NoRadixCache  *bool    `json:"disable_radix_cache"`
	Speculative   string   `json:"speculative_algorithm"`
}

// sglangIdleLag is how long gauges of an idle server go on telling of finished work: they are refreshed with its log
// line, about every 30 s when idle.
const sglangIdleLag = 35 * time.Second

// lookSGLang knows SGLang by its server info. A server that merely answers the path is not SGLang: the size of the KV
// cache must be in it.
func lookSGLang(ctx context.Context, s *session, srv *Server) bool {
	info, path := sglangInfo{}, ""
	for _, p := range []string{"/server_info", "/get_server_info"} {
		var got sglangInfo
		if s.ask(ctx, s.root+p, &got) && got.MaxTotal != nil {
			info, path = got, p
			break
		}
	}
	if path == "" {
		return false
	}
	srv.Facts = sglangFacts(info)
	srv.limit(info.ContextLength, "sglang:"+path+" context_length")
	srv.limit(s.entry().MaxModelLen, "sglang:/v1/models max_model_len")
	sglangCapacity(srv, info, path)

	srv.abort = s.sglangAbort
	srv.gauges, srv.lag = s.sglangGauges(ctx)
	if srv.gauges == nil {
		srv.Notes = append(srv.Notes, "SGLang tells its running and waiting requests only when started with --enable-metrics")
	}
	srv.count = s.tokenizer(ctx, promptTokenizer(s.model))
	return true
}

func sglangFacts(info sglangInfo) []event.Fact {
	told := factList{source: event.FromServer}
	told.text("engine", "repository", "github.com/sgl-project/sglang")
	addVersion(&told, info.Version)
	told.text("engine", "quantization", info.Quantization)
	told.text("engine", "kv_cache_dtype", info.KVCacheDType)
	told.text("engine", "attention_backend", info.Attention)
	told.text("engine", "backend", info.Device)
	told.text("engine", "speculative_algorithm", info.Speculative)
	told.positive("engine", "tp", info.TP)
	if info.DP > 1 {
		told.number("engine", "dp", info.DP)
	}
	if info.PP > 1 {
		told.number("engine", "pp", info.PP)
	}
	if info.NoRadixCache != nil {
		told.flag("engine", "prefix_caching", !*info.NoRadixCache)
	}
	addOrigin(&told, info.ModelPath)
	told.text("model", "revision", info.Revision)
	told.text("model", "dtype", info.DType)
	told.positive("server", "max_running_requests", info.MaxRunning)
	return told.facts
}

// sglangCapacity multiplies by the data-parallel ranks, each of which has a cache of its own. Under decode context
// parallelism the figure is one rank's share of a cache that several hold together, in a way that depends on the
// version: it is not used.
func sglangCapacity(srv *Server, info sglangInfo, path string) {
	if dcp := max(info.DCP, info.DCPLong); dcp > 1 {
		srv.Notes = append(srv.Notes, fmt.Sprintf(
			"SGLang runs with decode context parallelism (%g ranks), where the size it tells is one rank's; give the size of the KV cache with --kv-tokens", dcp))
		return
	}
	source := "sglang:" + path + " max_total_num_tokens"
	if info.DP > 1 {
		srv.capacity(*info.MaxTotal*info.DP, source+" x dp_size")
		return
	}
	srv.capacity(*info.MaxTotal, source)
}

// sglangAbort ends a request by its id. It must come while the stream is open: SGLang forgets the id with the connection
// and goes on generating.
func (s *session) sglangAbort(ctx context.Context, id string) error {
	a, err := s.post(ctx, s.root+"/abort_request", map[string]string{"rid": id}, askTimeout, answerBound)
	if err != nil {
		return fmt.Errorf("abort request %q: %w", id, err)
	}
	if !a.ok() {
		return fmt.Errorf("abort request %q: the server answered status %d", id, a.status)
	}
	return nil
}

// sglangLoad is one data-parallel rank's entry of the load endpoints.
type sglangLoad struct {
	Running *float64 `json:"num_running_reqs"` // /v1/loads
	Total   *float64 `json:"num_reqs"`         // /get_load: running and waiting together
	Waiting *float64 `json:"num_waiting_reqs"`
	Usage   *float64 `json:"token_usage"`
}

// sglangGauges prefers the load endpoints, which ask the scheduler and are never stale; then the metrics.
func (s *session) sglangGauges(ctx context.Context) (gauges func(context.Context) (Gauges, error), lag time.Duration) {
	for _, path := range []string{"/v1/loads", "/get_load"} {
		read := func(ctx context.Context) (Gauges, error) { return s.sglangLoads(ctx, path) }
		if _, err := read(ctx); err == nil {
			return read, 0
		}
	}
	if _, ok := sum(s.metrics(ctx), "sglang:num_running_reqs"); ok {
		return s.metricGauges("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"), sglangIdleLag
	}
	return nil, 0
}

func (s *session) sglangLoads(ctx context.Context, path string) (Gauges, error) {
	a, err := s.get(ctx, s.root+path)
	if err != nil {
		return Gauges{}, fmt.Errorf("read the server's load: %w", err)
	}
	var wrapped struct {
		Loads []sglangLoad `json:"loads"`
	}
	var loads []sglangLoad
	if a.decode(&wrapped) {
		loads = wrapped.Loads
	} else if !a.decode(&loads) {
		return Gauges{}, fmt.Errorf("read the server's load: %q %s", shown(s.root+path), describe(a))
	}
	var g Gauges
	var usage float64
	told := 0
	for _, l := range loads {
		switch {
		case l.Waiting == nil || l.Running == nil && l.Total == nil:
			return Gauges{}, fmt.Errorf("read the server's load: %q lacks num_waiting_reqs or num_running_reqs", shown(s.root+path))
		case l.Running != nil:
			g.Running += *l.Running
		default:
			g.Running += max(0, *l.Total-*l.Waiting)
		}
		g.Waiting += *l.Waiting
		if l.Usage != nil {
			usage += *l.Usage
			told++
		}
	}
	if len(loads) == 0 {
		return Gauges{}, fmt.Errorf("read the server's load: %q lists no rank", shown(s.root+path))
	}
	if told == len(loads) {
		usage /= float64(told)
		g.KVUsage = &usage
	}
	return g, nil
}
