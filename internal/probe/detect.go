package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"speedmatrix/internal/event"
)

// Server is what a server told of itself. It is safe for concurrent use once Detect has returned.
type Server struct {
	Engine string   // one of the names in target.go, never Auto
	Model  string   // the served name to ask for
	Models []string // all served names; nil when the server has no list
	Facts  []event.Fact

	CapacityTokens *int64 // KV cache in tokens, over all data-parallel engines; nil: not told
	CapacitySource string // where the figure comes from, and how far to trust it; "" when nil
	Limit          *int64 // longest prompt + output in tokens; nil: not told
	LimitSource    string

	Simulated string   // profile of the simulated engine; "" for a real server
	HostKind  string   // where it answered: "loopback", "private", "public"; "" when not known
	Notes     []string // for the user, a sentence each: what could not be found out and how to mend it

	StopsOnDisconnect bool // closing the connection is known to end the request

	sameMachine bool
	launch      event.Launch

	session *session
	gauges  func(ctx context.Context) (Gauges, error)        // nil: none
	count   func(ctx context.Context, t string) (int, error) // nil: no tokenizer
	abort   func(ctx context.Context, id string) error       // nil: closing the connection is enough
	lag     time.Duration
}

// Gauges is what the server says of itself at one instant.
type Gauges struct {
	Running float64  // requests it runs, over all data-parallel engines
	Waiting float64  // requests in its queue; 0 and meaningless when NoQueue
	KVUsage *float64 // share of the KV cache in use, 0..1; nil: not told
	NoQueue bool     // the server does not tell Waiting
}

// engine is one kind of server. look asks the server and fills in what it finds; false: it is not of this kind.
type engine struct {
	name  string
	title string // the fact engine.name; "" for generic, of which nothing is known
	look  func(ctx context.Context, s *session, srv *Server) bool
}

// engines are tried in this order: those that are told apart by the surest sign first.
func engines() []engine {
	return []engine{
		{SGLang, "sglang", lookSGLang},
		{VLLM, "vllm", lookVLLM},
		{LlamaCpp, "llama.cpp", lookLlamaCpp},
		{TGI, "tgi", lookTGI},
		{Ollama, "ollama", lookOllama},
		{Generic, "", lookGeneric},
	}
}

// Detect finds out what answers at t.BaseURL. Its errors are *UnreachableError, *NotAPIError, *UnauthorizedError and
// *ModelError (see Unusable), that of ctx, or a mistake in t.
func Detect(ctx context.Context, t Target) (*Server, error) {
	return detect(ctx, t, thisMachine())
}

func detect(ctx context.Context, t Target, m machine) (*Server, error) {
	s, err := newSession(t)
	if err != nil {
		return nil, err
	}
	tried := engines()
	if t.Engine != "" && t.Engine != Auto {
		tried = slices.DeleteFunc(tried, func(e engine) bool { return e.name != t.Engine })
		if len(tried) == 0 {
			return nil, fmt.Errorf("engine %q is not known; use auto, vllm, sglang, llamacpp, ollama, tgi or generic", t.Engine)
		}
	}
	s.detecting = true
	defer func() { s.detecting = false }()

	listErr := s.listModels(ctx)
	if listErr != nil && (!isNotAPI(listErr) || ctx.Err() != nil) {
		return nil, listErr
	}
	if listErr == nil {
		if s.model, err = choose(t.Model, s.entries); err != nil {
			return nil, err
		}
	}
	srv := &Server{session: s, Model: s.model}
	for _, e := range tried {
		found := Server{session: s, Model: s.model, Engine: e.name}
		name := event.Fact{Table: "engine", Key: "name", Value: e.title, Source: event.FromServer}
		if !e.look(ctx, s, &found) {
			// An engine that the user named is believed though it does not show itself: a proxy may hide its endpoints.
			if len(tried) > 1 {
				continue
			}
			name.Source = event.FromUser
		}
		if srv = &found; e.title != "" {
			srv.Facts = append(srv.Facts, name)
		}
		break
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if listErr != nil && (srv.Engine == "" || srv.Engine == Generic) {
		return nil, listErr
	}
	if err := s.finish(ctx, srv); err != nil {
		return nil, err
	}
	srv.process(s.redact, m)
	return srv, nil
}

// finish adds what does not depend on the engine.
func (s *session) finish(ctx context.Context, srv *Server) error {
	if srv.Model == "" {
		srv.Model = s.target.Model
	}
	if srv.Model == "" {
		return &ModelError{}
	}
	for _, e := range s.entries {
		srv.Models = append(srv.Models, e.ID)
	}
	srv.HostKind = hostKind(s.peer)

	told := factList{source: event.FromServer}
	served := srv.Model
	if path.IsAbs(served) {
		served = path.Base(served) // llama-server without an alias serves the file's path: this machine's business
	}
	told.text("model", "served", served)
	told.text("server", "url_host_kind", srv.HostKind)
	srv.Facts = append(told.facts, srv.Facts...)
	if s.simulated != "" {
		srv.Simulated = s.simulated
		srv.Facts = append(srv.Facts, s.profileFacts(ctx)...)
	}
	return nil
}

// Gauges reads the server's running and waiting requests. ErrNoGauges when the engine has none.
func (s *Server) Gauges(ctx context.Context) (Gauges, error) {
	if s.gauges == nil {
		return Gauges{}, ErrNoGauges
	}
	return s.gauges(ctx)
}

// HasGauges reports whether Gauges can answer.
func (s *Server) HasGauges() bool { return s.gauges != nil }

// IdleGaugeLag is how long the gauges of an idle server may go on telling of work that is done.
func (s *Server) IdleGaugeLag() time.Duration { return s.lag }

// Count returns the tokens of text, without special tokens or chat template, as the server's tokenizer counts them.
// ErrNoTokenizer when it has none.
func (s *Server) Count(ctx context.Context, text string) (int, error) {
	if s.count == nil {
		return 0, ErrNoTokenizer
	}
	return s.count(ctx, text)
}

// HasTokenizer reports whether Count can answer.
func (s *Server) HasTokenizer() bool { return s.count != nil }

// Abort tells the server to give up a request that was sent with this id, while its stream is still open. It does
// nothing for engines where closing the connection is enough.
func (s *Server) Abort(ctx context.Context, requestID string) error {
	if s.abort == nil {
		return nil
	}
	return s.abort(ctx, requestID)
}

// NeedsAbort reports whether a request goes on after its connection is closed unless Abort is called before.
func (s *Server) NeedsAbort() bool { return s.abort != nil }

// modelEntry is one entry of GET /v1/models; engines add different fields to it.
type modelEntry struct {
	ID            string  `json:"id"`
	Root          string  `json:"root"`           // vLLM: the path it was loaded from
	OwnedBy       string  `json:"owned_by"`       // often the engine's name
	MaxModelLen   float64 `json:"max_model_len"`  // vLLM, SGLang
	ContextLength float64 `json:"context_length"` // OpenRouter
	Meta          struct {
		Params float64 `json:"n_params"` // llama.cpp
	} `json:"meta"`
}

// listModels asks for the models at the base URL.
func (s *session) listModels(ctx context.Context) error {
	url := s.base + "/models"
	a, err := s.get(ctx, url)
	if err != nil {
		return err
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
		return &UnauthorizedError{URL: shown(url), Status: a.status, Keyed: s.target.Key != ""}
	}
	if entries, ok := parseModels(a); ok {
		s.entries = entries
		return nil
	}
	fail := &NotAPIError{URL: shown(url), Why: describe(a), Begin: s.begin(a)}
	if strings.HasSuffix(s.base, "/v1") {
		return fail
	}
	// The commonest slip: a base URL without /v1.
	if b, err := s.get(ctx, s.base+"/v1/models"); err == nil {
		_, ok := parseModels(b)
		if ok || b.status == http.StatusUnauthorized || b.status == http.StatusForbidden {
			fail.Suggest = shown(s.base) + "/v1"
		}
	}
	return fail
}

func isNotAPI(err error) bool {
	e, ok := err.(*NotAPIError)
	// With a suggestion at hand the base URL is simply wrong, whatever engine is behind it.
	return ok && e.Suggest == ""
}

// parseModels accepts a list with the field data, which may be empty.
func parseModels(a answer) ([]modelEntry, bool) {
	var list struct {
		Data *[]json.RawMessage `json:"data"`
	}
	if !a.decode(&list) || list.Data == nil {
		return nil, false
	}
	entries := make([]modelEntry, 0, len(*list.Data))
	for _, raw := range *list.Data {
		var e modelEntry
		if lenient(raw, &e) && e.ID != "" {
			entries = append(entries, e)
		}
	}
	return entries, true
}

// describe says what kind of answer came instead of an API's.
func describe(a answer) string {
	trimmed := bytes.TrimSpace(a.body)
	switch {
	case a.status >= 300 && a.status < 400:
		return fmt.Sprintf("redirects (status %d) to %q", a.status, shown(a.header.Get("Location")))
	case !a.ok():
		return strings.TrimSpace(fmt.Sprintf("answered status %d %s", a.status, http.StatusText(a.status)))
	case len(trimmed) == 0:
		return "answered nothing"
	case trimmed[0] == '<':
		return "answered HTML"
	case json.Valid(trimmed):
		return "answered JSON without a list of models"
	}
	return "answered something that is not JSON"
}

// choose picks the model to measure.
func choose(want string, entries []modelEntry) (string, error) {
	served := make([]string, len(entries))
	for i, e := range entries {
		served[i] = e.ID
	}
	switch {
	case want == "" && len(served) == 1:
		return served[0], nil
	case want == "":
		return "", &ModelError{Served: served}
	case len(served) == 0 || slices.Contains(served, want):
		return want, nil
	case slices.Contains(served, want+":latest"): // Ollama's default tag
		return want + ":latest", nil
	}
	return "", &ModelError{Want: want, Served: served}
}

// entry is the chosen model's line in the server's list; zero when it has none.
func (s *session) entry() modelEntry {
	for _, e := range s.entries {
		if e.ID == s.model {
			return e
		}
	}
	return modelEntry{}
}

// limit stores the longest prompt + output, when told.
func (srv *Server) limit(tokens float64, source string) {
	if srv.Limit == nil {
		if n, ok := whole(tokens); ok {
			srv.Limit, srv.LimitSource = &n, source
		}
	}
}

// capacity stores the size of the KV cache, when told.
func (srv *Server) capacity(tokens float64, source string) {
	if n, ok := whole(tokens); ok {
		srv.CapacityTokens, srv.CapacitySource = &n, source
	}
}

// whole turns a positive number of tokens into an integer; false for what cannot be one.
func whole(v float64) (int64, bool) {
	if !(v >= 1 && v < 1<<53) {
		return 0, false
	}
	return int64(math.Floor(v)), true
}

// hostKind says from where to where an address is reached.
func hostKind(addr netip.Addr) string {
	switch {
	case !addr.IsValid():
		return ""
	case addr.IsLoopback():
		return "loopback"
	case addr.IsPrivate(), addr.IsLinkLocalUnicast(), netip.MustParsePrefix("100.64.0.0/10").Contains(addr):
		return "private"
	}
	return "public"
}
