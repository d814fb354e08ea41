package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/redact"
)

// found is what Detect returns for a recorded server, as lines.
func found(s *Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine %s model %s\n", s.Engine, s.Model)
	if s.CapacityTokens != nil {
		fmt.Fprintf(&b, "capacity %d from %s\n", *s.CapacityTokens, s.CapacitySource)
	}
	if s.Limit != nil {
		fmt.Fprintf(&b, "limit %d from %s\n", *s.Limit, s.LimitSource)
	}
	if g, err := s.Gauges(context.Background()); err == nil {
		fmt.Fprintf(&b, "running %g waiting %g", g.Running, g.Waiting)
		if g.NoQueue {
			b.WriteString(" (queue not told)")
		}
		if g.KVUsage != nil {
			fmt.Fprintf(&b, " usage %g", *g.KVUsage)
		}
		b.WriteString("\n")
	}
	if s.HasTokenizer() {
		n, err := s.Count(context.Background(), "text")
		fmt.Fprintf(&b, "counts %d %v\n", n, err)
	}
	fmt.Fprintf(&b, "stops on disconnect %t, needs abort %t, lag %s\n", s.StopsOnDisconnect, s.NeedsAbort(), s.IdleGaugeLag())
	for _, f := range sorted(s.Facts) {
		fmt.Fprintf(&b, "%s.%s = %v (%s)\n", f.Table, f.Key, f.Value, f.Source)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	check := func(file, base, model, want string) {
		t.Helper()
		t.Run(file, func(t *testing.T) {
			srv := serve(t, file, nil)
			s, err := detect(t.Context(), Target{BaseURL: srv.URL + base, Model: model}, nowhere())
			if err != nil {
				t.Fatal(err)
			}
			if got := found(s); got != strings.TrimLeft(want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, want)
			}
		})
	}

	check("vllm/dp2.txtar", "/v1", "", `
engine vllm model gemma
capacity 1599488 from vllm:cache_config_info kv_cache_size_tokens
limit 131072 from vllm:/v1/models max_model_len
running 9 waiting 3 usage 0.5
counts 3 <nil>
stops on disconnect true, needs abort false, lag 0s
engine.commit = deadbeef12 (server)
engine.kv_cache_dtype = fp8 (server)
engine.name = vllm (server)
engine.prefix_caching = true (server)
engine.repository = github.com/vllm-project/vllm (server)
engine.version = 0.21.1rc2.dev17+gdeadbeef12.d20261101 (server)
host.same_machine = false (probe)
model.id = google/gemma-4-E2B-it (server)
model.revision = 0123456789abcdef0123456789abcdef01234567 (server)
model.served = gemma (server)
server.url_host_kind = loopback (server)
`)
	check("vllm/blocks.txtar", "/v1/", "Qwen/Qwen3-32B", `
engine vllm model Qwen/Qwen3-32B
capacity 9168 from vllm:cache_config_info num_gpu_blocks x block_size (an upper bound: up to 18 times too high on hybrid models)
limit 8192 from vllm:/v1/models max_model_len
running 0 waiting 0 usage 0
stops on disconnect true, needs abort false, lag 0s
engine.name = vllm (server)
engine.repository = github.com/vllm-project/vllm (server)
engine.version = 0.8.5 (server)
host.same_machine = false (probe)
model.id = Qwen/Qwen3-32B (server)
model.served = Qwen/Qwen3-32B (server)
server.url_host_kind = loopback (server)
`)
	check("vllm/quiet.txtar", "/v1", "", `
engine vllm model m
limit 4096 from vllm:/v1/models max_model_len
stops on disconnect true, needs abort false, lag 0s
engine.name = vllm (server)
engine.repository = github.com/vllm-project/vllm (server)
engine.version = 0.11.0 (server)
host.same_machine = false (probe)
model.id = m (server)
model.served = m (server)
server.url_host_kind = loopback (server)
note: vLLM does not tell the size of its KV cache; give it with --kv-tokens to rule out cells that cannot fit
`)
	check("sglang/plain.txtar", "/v1", "", `
engine sglang model gemma
capacity 1572864 from sglang:/server_info max_total_num_tokens
limit 131072 from sglang:/server_info context_length
running 14 waiting 2 usage 0.31
counts 3 <nil>
stops on disconnect false, needs abort true, lag 35s
engine.attention_backend = triton (server)
engine.backend = cuda (server)
engine.commit = 1093c501d (server)
engine.name = sglang (server)
engine.prefix_caching = true (server)
engine.repository = github.com/sgl-project/sglang (server)
engine.tp = 2 (server)
engine.version = 0.5.22.dev236+g1093c501d (server)
host.same_machine = false (probe)
model.dtype = bfloat16 (server)
model.id = google/gemma-4-E2B-it (server)
model.served = gemma (server)
server.max_running_requests = 256 (server)
server.url_host_kind = loopback (server)
`)
	check("sglang/dp2.txtar", "/v1", "", `
engine sglang model qwen
capacity 40960 from sglang:/get_server_info max_total_num_tokens x dp_size
limit 32768 from sglang:/v1/models max_model_len
running 11 waiting 3
stops on disconnect false, needs abort true, lag 0s
engine.attention_backend = fa3 (server)
engine.backend = cuda (server)
engine.dp = 2 (server)
engine.name = sglang (server)
engine.prefix_caching = false (server)
engine.quantization = fp8 (server)
engine.repository = github.com/sgl-project/sglang (server)
engine.tp = 1 (server)
engine.version = 0.4.9.post1 (server)
host.same_machine = false (probe)
model.id = qwen/qwen2.5-0.5b-instruct (server)
model.revision = main (server)
model.served = qwen (server)
server.max_running_requests = 128 (server)
server.url_host_kind = loopback (server)
`)
	check("sglang/dcp.txtar", "/v1", "", `
engine sglang model big
limit 1048576 from sglang:/server_info context_length
running 3 waiting 1 usage 0.075
stops on disconnect false, needs abort true, lag 0s
engine.name = sglang (server)
engine.repository = github.com/sgl-project/sglang (server)
engine.tp = 8 (server)
engine.version = 0.6.0 (server)
host.same_machine = false (probe)
model.id = /models/big (server)
model.served = big (server)
server.url_host_kind = loopback (server)
note: SGLang runs with decode context parallelism (8 ranks), where the size it tells is one rank's; give the size of the KV cache with --kv-tokens
`)
	check("llamacpp/metrics.txtar", "/v1", "", `
engine llamacpp model /home/anna/models/tiny.gguf
capacity 16384 from llamacpp:/props n_ctx of a slot x total_slots (an upper bound: the server does not tell whether its slots share one cache)
limit 2048 from llamacpp:/props n_ctx of a slot
running 3 waiting 1
counts 11 <nil>
stops on disconnect true, needs abort false, lag 0s
engine.name = llama.cpp (server)
engine.quantization = F16 (server)
engine.repository = github.com/ggml-org/llama.cpp (server)
host.same_machine = false (probe)
model.id = tiny.gguf (server)
model.parameters = 2524416 (server)
model.served = tiny.gguf (server)
server.max_running_requests = 8 (server)
server.url_host_kind = loopback (server)
`)
	check("llamacpp/slots.txtar", "/v1", "", `
engine llamacpp model qwen
capacity 16384 from llamacpp:/props n_ctx of a slot x total_slots (an upper bound: the server does not tell whether its slots share one cache)
limit 8192 from llamacpp:/props n_ctx of a slot
running 1 waiting 0 (queue not told)
counts 3 <nil>
stops on disconnect true, needs abort false, lag 0s
engine.commit = 4fea119 (server)
engine.name = llama.cpp (server)
engine.quantization = Q4_K - Medium (server)
engine.repository = github.com/ggml-org/llama.cpp (server)
engine.version = b1-4fea119 (server)
host.same_machine = false (probe)
model.id = qwen.gguf (server)
model.parameters = 8190735360 (server)
model.served = qwen (server)
server.max_running_requests = 2 (server)
server.url_host_kind = loopback (server)
note: llama-server tells its queue only when started with --metrics
`)
	check("ollama/loaded.txtar", "/v1", "gemma3", `
engine ollama model gemma3:latest
limit 4096 from ollama:/api/ps context_length
stops on disconnect true, needs abort false, lag 0s
engine.name = ollama (server)
engine.quantization = Q4_K_M (server)
engine.repository = github.com/ollama/ollama (server)
engine.version = 0.12.6 (server)
host.same_machine = false (probe)
model.parameters = 4.3B (server)
model.revision = a2af6cc3eb7fa8be8504abaf9b04e88f17a119ec3f04a3addf55f92841195f5a (server)
model.served = gemma3:latest (server)
server.url_host_kind = loopback (server)
note: Ollama tells neither its KV cache nor its queue: requests beyond OLLAMA_NUM_PARALLEL wait, which only the time to first token shows
`)
	check("tgi/plain.txtar", "/v1", "", `
engine tgi model TinyLlama/TinyLlama-1.1B-Chat-v1.0
capacity 32000 from tgi:/info max_batch_total_tokens
limit 2048 from tgi:/info max_total_tokens
running 8 waiting 3
stops on disconnect true, needs abort false, lag 0s
engine.backend = cuda (server)
engine.build = sha-d2ed52f (server)
engine.commit = d2ed52f531b3ba8b2b1f1e1bc4ec1b0b2a6a2e4d (server)
engine.name = tgi (server)
engine.repository = github.com/huggingface/text-generation-inference (server)
engine.version = 2.4.1 (server)
host.same_machine = false (probe)
model.dtype = float16 (server)
model.id = TinyLlama/TinyLlama-1.1B-Chat-v1.0 (server)
model.revision = fe8a4ea1ffedaf415f4da2f062534de366a451e6 (server)
model.served = TinyLlama/TinyLlama-1.1B-Chat-v1.0 (server)
server.url_host_kind = loopback (server)
`)
	check("tgi/old.txtar", "/v1", "", `
engine tgi model bigscience/bloom-560m
capacity 8192 from tgi:/info max_batch_total_tokens
limit 2560 from tgi:/info max_total_tokens
stops on disconnect true, needs abort false, lag 0s
engine.name = tgi (server)
engine.repository = github.com/huggingface/text-generation-inference (server)
engine.version = 1.0.0 (server)
host.same_machine = false (probe)
model.dtype = float16 (server)
model.id = bigscience/bloom-560m (server)
model.served = bigscience/bloom-560m (server)
server.url_host_kind = loopback (server)
`)
	// An engine that is not recognised is generic, never another one with all its figures at zero.
	check("generic/lmstudio.txtar", "/v1", "", `
engine generic model qwen3-8b
stops on disconnect false, needs abort false, lag 0s
host.same_machine = false (probe)
model.served = qwen3-8b (server)
server.url_host_kind = loopback (server)
`)
	check("generic/router.txtar", "/api/v1", "b/two", `
engine generic model b/two
limit 32768 from /v1/models context_length
stops on disconnect false, needs abort false, lag 0s
host.same_machine = false (probe)
model.served = b/two (server)
server.url_host_kind = loopback (server)
`)
}

func TestSimulated(t *testing.T) {
	srv := serve(t, "simulated/rtx.txtar", http.Header{SimulatedHeader: {"rtx-pro-6000"}})
	s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1"}, listening(t, srv.URL, "measure", "simulate"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Simulated != "rtx-pro-6000" {
		t.Errorf("Simulated = %q", s.Simulated)
	}
	// Its process is here, yet this machine's hardware has nothing to do with it.
	if s.SameMachine() {
		t.Error("SameMachine is true for a simulated engine")
	}
	if got := s.Launch().Command; got != "measure simulate" {
		t.Errorf("launch command %q", got)
	}
	var run event.Run
	Merge(&run, s.Facts, redact.Redactor{})
	if !run.Simulated() || run.Engine.Text("profile") != "rtx-pro-6000" {
		t.Errorf("engine = %v", run.Engine)
	}
	wantHardware := event.Facts{"gpu": "Simulated engine", "vram_gb": int64(96), "step_ms": 6.5}
	if fmt.Sprint(run.Hardware) != fmt.Sprint(wantHardware) {
		t.Errorf("hardware = %v, want %v", run.Hardware, wantHardware)
	}
	if run.Sources["hardware.gpu"] != event.FromServer {
		t.Errorf("source of hardware.gpu = %q", run.Sources["hardware.gpu"])
	}
	// Neither a later probe nor the user can relabel it.
	Merge(&run, []event.Fact{
		{Table: "hardware", Key: "gpu", Value: "H200", Source: event.FromProbe},
		{Table: "engine", Key: "simulated", Value: false, Source: event.FromUser},
	}, redact.Redactor{})
	if !run.Simulated() || run.Hardware.Text("gpu") != "Simulated engine" {
		t.Errorf("relabelled: %v %v", run.Engine, run.Hardware)
	}
}

// SGLang's answer holds its keys: none of them may be in anything that is kept.
func TestSGLangKeysAreNotKept(t *testing.T) {
	srv := serve(t, "sglang/plain.txtar", nil)
	const key = "sk-server-key-000"
	s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1", Key: key}, nowhere())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(struct {
		Server *Server
		Launch event.Launch
	}{s, s.Launch()})
	if err != nil {
		t.Fatal(err)
	}
	text := string(kept) + fmt.Sprint(s.Facts, s.Notes)
	for _, secret := range []string{key, "sk-admin-key-111", "keyfile-pass"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is kept in %s", secret, text)
		}
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if len(srv.keys) != 1 || !srv.keys["Bearer "+key] {
		t.Errorf("keys sent: %v, want the bearer on every request", srv.keys)
	}
}

func TestAbort(t *testing.T) {
	srv := serve(t, "sglang/plain.txtar", nil)
	s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1"}, nowhere())
	if err != nil {
		t.Fatal(err)
	}
	// The recorded server has no such path, which is an error that names the request.
	if err := s.Abort(t.Context(), "req-1"); err == nil || !strings.Contains(err.Error(), `"req-1"`) {
		t.Errorf("Abort = %v", err)
	}
	srv.mu.Lock()
	if !slices.Contains(srv.asked, `POST /abort_request {"rid":"req-1"}`) {
		t.Errorf("asked %q", srv.asked)
	}
	srv.mu.Unlock()

	other, err := detect(t.Context(), Target{BaseURL: serve(t, "vllm/dp2.txtar", nil).URL + "/v1"}, nowhere())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Abort(t.Context(), "req-1"); err != nil {
		t.Errorf("Abort where none is needed = %v", err)
	}
}

func TestForcedEngine(t *testing.T) {
	srv := serve(t, "generic/lmstudio.txtar", nil)
	s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1", Engine: SGLang}, nowhere())
	if err != nil {
		t.Fatal(err)
	}
	if s.Engine != SGLang || s.CapacityTokens != nil || s.HasGauges() {
		t.Errorf("forced engine: %s", found(s))
	}
	if !slices.Contains(s.Facts, event.Fact{Table: "engine", Key: "name", Value: "sglang", Source: event.FromUser}) {
		t.Errorf("facts %v lack the user's word", s.Facts)
	}
	if _, err := s.Gauges(t.Context()); !errors.Is(err, ErrNoGauges) {
		t.Errorf("Gauges = %v", err)
	}
	if _, err := s.Count(t.Context(), "x"); !errors.Is(err, ErrNoTokenizer) {
		t.Errorf("Count = %v", err)
	}
	s, err = detect(t.Context(), Target{BaseURL: serve(t, "vllm/dp2.txtar", nil).URL + "/v1", Engine: Generic}, nowhere())
	if err != nil || s.Engine != Generic || s.HasGauges() {
		t.Errorf("forced generic: %v %v", s, err)
	}
	if _, err = detect(t.Context(), Target{BaseURL: "http://localhost:1/v1", Engine: "lammacpp"}, nowhere()); err == nil ||
		!strings.Contains(err.Error(), `"lammacpp"`) {
		t.Errorf("unknown engine: %v", err)
	}
}

// Each way in which a server cannot be used has its type, and one line that says what, which value and how to mend it.
func TestUnusable(t *testing.T) {
	const key = "sk-very-secret"
	check := func(name string, target Target, handler http.HandlerFunc, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			base := "http://" + closedPort(t)
			if handler != nil {
				srv := httptest.NewServer(handler)
				t.Cleanup(srv.Close)
				base = srv.URL
			}
			target.BaseURL = base + target.BaseURL
			_, err := detect(t.Context(), target, nowhere())
			if err == nil {
				t.Fatal("no error")
			}
			if !Unusable(err) {
				t.Errorf("%v is not said to be unusable", err)
			}
			if got := strings.ReplaceAll(err.Error(), base, "BASE"); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has a key or several lines: %q", err)
			}
		})
	}
	body := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}

	check("refused", Target{BaseURL: "/v1", Key: key}, nil,
		`cannot reach "BASE/v1/models": connection refused; check --url and that the server is up`)
	check("HTML", Target{BaseURL: "/v1"}, body(200, "<!doctype html>\n<title>Grafana</title> "+strings.Repeat("x", 99)),
		`"BASE/v1/models" is not an OpenAI-compatible API: answered HTML beginning "<!doctype html> <title>Grafana</title> xxxxxxxxxxxxxxxxxxxx…"; give the base URL of an OpenAI-compatible API, e.g. http://localhost:8000/v1`)
	check("echoes the key", Target{BaseURL: "/v1", Key: key}, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad "+r.Header.Get("Authorization"), 500)
	}, `"BASE/v1/models" is not an OpenAI-compatible API: answered status 500 Internal Server Error beginning "bad Bearer <redacted>"; give the base URL of an OpenAI-compatible API, e.g. http://localhost:8000/v1`)
	check("without /v1", Target{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
	}, `"BASE/models" is not an OpenAI-compatible API: answered status 404 Not Found beginning "404 page not found"; use --url BASE/v1`)
	check("redirect", Target{BaseURL: "/v1"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example.com/", http.StatusFound)
	}, `"BASE/v1/models" is not an OpenAI-compatible API: redirects (status 302) to "https://login.example.com/" beginning "<a href=\"https://login.example.com/\">Found</a>."; give the base URL of an OpenAI-compatible API, e.g. http://localhost:8000/v1`)
	check("no key", Target{BaseURL: "/v1"}, body(401, `{"error":"no"}`),
		`"BASE/v1/models" wants a key (status 401); give one with --api-key-env or --api-key-file`)
	check("wrong key", Target{BaseURL: "/v1", Key: key}, body(403, `{"error":"no"}`),
		`"BASE/v1/models" refused the key (status 403); check the key that --api-key-env or --api-key-file names`)
	check("wrong model", Target{BaseURL: "/v1", Model: "c"}, body(200, `{"data":[{"id":"a"},{"id":"b"}]}`),
		`model "c" is not served; choose one with --model: "a", "b"`)
	check("several models", Target{BaseURL: "/v1"}, body(200, `{"data":[{"id":"a"},{"id":"b"}]}`),
		`the server serves 2 models; choose one with --model: "a", "b"`)
	check("no model", Target{BaseURL: "/v1"}, body(200, `{"data":[]}`),
		`the server lists no model; load one, or name it with --model`)

	for _, bad := range []string{"", "localhost:8000", "ftp://x/", "http://", "http://a:" + key + "@[::1"} {
		_, err := Detect(t.Context(), Target{BaseURL: bad, Key: key})
		if err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("base URL %q: %v", bad, err)
		}
	}
}

// closedPort is an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A context that ends is not a fault of the server.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	_, err := detect(ctx, Target{BaseURL: srv.URL + "/v1"}, nowhere())
	if !errors.Is(err, context.Canceled) || Unusable(err) {
		t.Errorf("err = %v", err)
	}
}

// A server that answers without end is cut off.
func TestEndlessAnswer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat("x", 64<<10))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	start := time.Now()
	_, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1"}, nowhere())
	var notAPI *NotAPIError
	if !errors.As(err, &notAPI) {
		t.Errorf("err = %v", err)
	}
	if time.Since(start) > time.Minute {
		t.Error("the answer was read on and on")
	}
}
