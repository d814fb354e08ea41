package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// llamaProps is what is used of llama-server's GET /props.
type llamaProps struct {
	Build    string  `json:"build_info"` // "b6123-4fea119"
	Path     string  `json:"model_path"`
	FileType string  `json:"model_ftype"` // newer servers: "Q4_K - Medium"
	Slots    float64 `json:"total_slots"`
	Defaults *struct {
		Context float64 `json:"n_ctx"` // of one slot
	} `json:"default_generation_settings"`
}

var llamaBuild = regexp.MustCompile(`^b\d+-([0-9a-f]{7,40})$`)

// lookLlamaCpp knows llama.cpp's server by /props.
func lookLlamaCpp(ctx context.Context, s *session, srv *Server) bool {
	var props llamaProps
	if !s.ask(ctx, s.root+"/props", &props) || props.Defaults == nil || props.Slots == 0 && props.Build == "" {
		return false
	}
	told := factList{source: event.FromServer}
	told.text("engine", "repository", "github.com/ggml-org/llama.cpp")
	if !strings.HasSuffix(props.Build, "-unknown") { // built outside git
		told.text("engine", "version", props.Build)
	}
	if m := llamaBuild.FindStringSubmatch(props.Build); m != nil {
		told.text("engine", "commit", m[1])
	}
	told.text("engine", "quantization", props.FileType)
	if props.Path != "" {
		// The file's name is what people know the model by; the folder is this machine's business.
		told.text("model", "id", path.Base(strings.ReplaceAll(props.Path, `\`, "/")))
	}
	told.positive("model", "parameters", s.entry().Meta.Params)
	told.positive("server", "max_running_requests", props.Slots)
	srv.Facts = told.facts

	srv.limit(props.Defaults.Context, "llamacpp:/props n_ctx of a slot")
	srv.capacity(props.Defaults.Context*props.Slots, llamaSlotsTimes+" (an upper bound: the server does not tell whether its slots share one cache)")
	srv.StopsOnDisconnect = true
	srv.gauges = s.llamaGauges(ctx, srv)
	srv.count = s.tokenizer(ctx, contentTokenizer)
	return true
}

// llamaGauges prefers /metrics (needs --metrics); /slots tells what runs but not what waits.
func (s *session) llamaGauges(ctx context.Context, srv *Server) func(context.Context) (Gauges, error) {
	if _, ok := sum(s.metrics(ctx), "llamacpp:requests_processing"); ok {
		return s.metricGauges("llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:kv_cache_usage_ratio")
	}
	if _, err := s.llamaSlots(ctx); err == nil {
		srv.Notes = append(srv.Notes, "llama-server tells its queue only when started with --metrics")
		return s.llamaSlots
	}
	srv.Notes = append(srv.Notes, "llama-server tells its running and waiting requests only when started with --metrics")
	return nil
}

func (s *session) llamaSlots(ctx context.Context) (Gauges, error) {
	a, err := s.get(ctx, s.root+"/slots")
	if err != nil {
		return Gauges{}, fmt.Errorf("read the server's slots: %w", err)
	}
	var slots []struct {
		Processing *bool           `json:"is_processing"`
		State      json.RawMessage `json:"state"` // older servers: 0 idle, 1 processing
	}
	if !a.decode(&slots) || len(slots) == 0 {
		return Gauges{}, fmt.Errorf("read the server's slots: %q %s", shown(s.root+"/slots"), describe(a))
	}
	g := Gauges{NoQueue: true}
	for _, slot := range slots {
		switch {
		case slot.Processing != nil && *slot.Processing, slot.Processing == nil && string(slot.State) == "1":
			g.Running++
		}
	}
	return g, nil
}

const llamaSlotsTimes = "llamacpp:/props n_ctx of a slot x total_slots"

// llamaCapacity settles by the command line what /props leaves open: whether each slot has a cache of its own, or all
// share one of n_ctx tokens, as they do with --kv-unified and when the number of slots is left to the server.
func llamaCapacity(srv *Server, args []string) {
	if srv.Limit == nil {
		return
	}
	given := func(names ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			return slices.Contains(names, name)
		})
	}
	switch {
	case given("-no-kvu", "--no-kv-unified"), given("-np", "--parallel") && !given("-kvu", "--kv-unified"):
		srv.CapacitySource = llamaSlotsTimes
	default:
		srv.capacity(float64(*srv.Limit), "llamacpp:/props n_ctx (one cache for all slots, by the command line)")
	}
}
