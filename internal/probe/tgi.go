package probe

import (
	"context"

	"speedmatrix/internal/event"
)

// tgiInfo is what is used of text-generation-inference's GET /info.
type tgiInfo struct {
	Version       string  `json:"version"`
	Commit        string  `json:"sha"`
	Image         string  `json:"docker_label"`
	ModelID       string  `json:"model_id"`
	ModelRevision string  `json:"model_sha"`
	DType         string  `json:"model_dtype"`
	Device        string  `json:"model_device_type"`
	MaxTotal      float64 `json:"max_total_tokens"`       // prompt + output of one request
	MaxBatchTotal float64 `json:"max_batch_total_tokens"` // of all running requests
}

// lookTGI knows TGI by /info.
func lookTGI(ctx context.Context, s *session, srv *Server) bool {
	var info tgiInfo
	if !s.ask(ctx, s.root+"/info", &info) || info.ModelID == "" || info.MaxTotal == 0 {
		return false
	}
	told := factList{source: event.FromServer}
	told.text("engine", "repository", "github.com/huggingface/text-generation-inference")
	addVersion(&told, info.Version)
	told.text("engine", "commit", info.Commit)
	told.text("engine", "build", info.Image)
	told.text("engine", "backend", info.Device)
	addOrigin(&told, info.ModelID)
	told.text("model", "revision", info.ModelRevision)
	told.text("model", "dtype", info.DType)
	srv.Facts = told.facts

	if srv.Model == "" && s.target.Model == "" {
		srv.Model = info.ModelID // older versions have no list of models and take any name
	}
	srv.limit(info.MaxTotal, "tgi:/info max_total_tokens")
	srv.capacity(info.MaxBatchTotal, "tgi:/info max_batch_total_tokens")
	srv.StopsOnDisconnect = true
	if _, ok := sum(s.metrics(ctx), "tgi_batch_current_size"); ok {
		srv.gauges = s.metricGauges("tgi_batch_current_size", "tgi_queue_size")
	}
	return true
}
