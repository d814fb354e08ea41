package probe

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
)

// lookOllama knows Ollama by /api/version together with its list of models: other programs copy one or the other.
func lookOllama(ctx context.Context, s *session, srv *Server) bool {
	var version struct {
		Version string `json:"version"`
	}
	var tags struct {
		Models *[]ollamaModel `json:"models"`
	}
	if !s.ask(ctx, s.root+"/api/version", &version) || version.Version == "" ||
		!s.ask(ctx, s.root+"/api/tags", &tags) || tags.Models == nil {
		return false
	}
	told := factList{source: event.FromServer}
	told.text("engine", "repository", "github.com/ollama/ollama")
	addVersion(&told, version.Version)
	for _, m := range *tags.Models {
		if m.Name == s.model && m.Digest != "" {
			// Tags move; the digest is the model itself.
			told.text("model", "revision", m.Digest)
		}
	}
	s.ollamaShow(ctx, srv, &told)
	srv.Facts = told.facts
	srv.StopsOnDisconnect = true
	srv.Notes = append(srv.Notes, "Ollama tells neither its KV cache nor its queue: requests beyond OLLAMA_NUM_PARALLEL wait, which only the time to first token shows")
	return true
}

type ollamaModel struct {
	Name          string  `json:"name"`
	Digest        string  `json:"digest"`
	ContextLength float64 `json:"context_length"` // of a loaded model: what was allotted to one request
}

// ollamaTrained is the source of a limit that holds for the model, while the server may allot less.
const ollamaTrained = "ollama:/api/show context_length (the model's own: the server may allot less)"

var numCtx = regexp.MustCompile(`(?m)^\s*num_ctx\s+(\d+)\s*$`)

// ollamaShow reads the model's details, and its limit: as allotted when it is loaded, as its own settings say, or at
// most what the model was trained for.
func (s *session) ollamaShow(ctx context.Context, srv *Server, told *factList) {
	var running struct {
		Models []ollamaModel `json:"models"`
	}
	s.ask(ctx, s.root+"/api/ps", &running)
	for _, m := range running.Models {
		if m.Name == s.model {
			srv.limit(m.ContextLength, "ollama:/api/ps context_length")
		}
	}
	var show struct {
		Parameters string `json:"parameters"`
		Details    struct {
			Size  string `json:"parameter_size"`
			Quant string `json:"quantization_level"`
		} `json:"details"`
		Info map[string]any `json:"model_info"` // "gemma3.context_length": …, "general.parameter_count": …
	}
	a, err := s.post(ctx, s.root+"/api/show", map[string]string{"model": s.model}, askTimeout, answerBound)
	if err != nil || !a.decode(&show) {
		return
	}
	told.text("engine", "quantization", show.Details.Quant)
	told.text("model", "parameters", show.Details.Size)
	if m := numCtx.FindStringSubmatch(show.Parameters); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		srv.limit(n, "ollama:/api/show num_ctx")
	}
	architecture, _ := show.Info["general.architecture"].(string)
	trained, _ := show.Info[strings.TrimSpace(architecture)+".context_length"].(float64)
	srv.limit(trained, ollamaTrained)
}

// ollamaCapacity reads the number of parallel slots from the environment of the server's process. Only that variable is
// looked at: the rest may hold secrets.
func ollamaCapacity(srv *Server, environ string) {
	if srv.Limit == nil || srv.LimitSource == ollamaTrained {
		return
	}
	for _, variable := range strings.Split(environ, "\x00") {
		if n, ok := strings.CutPrefix(variable, "OLLAMA_NUM_PARALLEL="); ok {
			srv.capacity(float64(*srv.Limit)*leadingNumber(n), "ollama: num_ctx x OLLAMA_NUM_PARALLEL")
		}
	}
}
