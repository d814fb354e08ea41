package probe

import (
	"context"

	"speedmatrix/internal/event"
)

// lookGeneric takes any server. Nothing about it is guessed: only a limit that stands in its list of models is used.
func lookGeneric(_ context.Context, s *session, srv *Server) bool {
	srv.limit(s.entry().MaxModelLen, "/v1/models max_model_len")
	srv.limit(s.entry().ContextLength, "/v1/models context_length")
	told := factList{source: event.FromServer}
	addOrigin(&told, s.entry().Root)
	srv.Facts = told.facts
	return true
}
