package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/client"
)

// replays gives the answer to a whole stream that is sent at once, on a connection of its own for the caller.
func replays(t *testing.T, cfg client.Config, s script) client.Result {
	t.Helper()
	var res client.Result
	synctest.Test(t, func(t *testing.T) {
		cfg.Dial = pipeDial(s)
		cn := open(t, cfg)
		res = cn.Do(t.Context(), client.Request{MaxTokens: 20}, nil)
	})
	return res
}

func TestOllama(t *testing.T) {
	line := func(i int) string {
		return `{"model":"m","created_at":"2026-12-01T10:00:00Z","message":{"role":"assistant","content":"` + word(i) + `"},"done":false}` + "\n"
	}
	last := `{"model":"m","created_at":"2026-12-01T10:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"length",` +
		`"total_duration":1,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":1,"eval_count":20,"eval_duration":1}` + "\n"
	header := "Content-Type: application/x-ndjson\r\n"
	check := func(name string, s script, want string) {
		t.Helper()
		s.header += header
		res := replays(t, client.Config{Endpoint: client.Ollama}, s)
		if got := answer(res, true); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	good := "ok; 20 tokens in 20 chunks (usage-final); finish length" + exact
	check("whole", script{writes: then(reference(line), last)}, good)
	check("last line without its end", script{writes: then(reference(line), strings.TrimSuffix(last, "\n"))}, good)
	check("thinking", script{writes: then(mapped(reference(line), replacing(`"content":`, `"content":"","thinking":`)), last)},
		"ok; 20 tokens in 20 chunks (usage-final); finish length; TTFT 50; TTFO unknown; between tokens 10; end to end 240")
	check("cut", script{writes: reference(line)[:10], end: endClose},
		"truncated: stream ended without a finish reason; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140")
	check("cut inside a line", script{writes: cat(reference(line)[:10], at(150*ms, `{"model":`)), end: endClose},
		"truncated: stream ended without a finish reason; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140")
	check("error inside", script{writes: cat(reference(line)[:10], at(150*ms, `{"error":"llama runner process has terminated"}`+"\n"))},
		"error-in-stream: llama runner process has terminated; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140")
	check("lines split anywhere", script{writes: cat(reference(line)[:19], at(230*ms, line(19)[:30]), at(240*ms, line(19)[30:]+last))}, good)

	var res client.Result
	synctest.Test(t, func(t *testing.T) {
		whole := script{header: header, writes: at(0, line(0)+line(1)+last)}.whole()
		for i := range len(whole) + 1 {
			conn := &splitConn{pieces: []string{whole[:i], whole[i:]}}
			cn := open(t, client.Config{Endpoint: client.Ollama, Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }})
			res = cn.Do(t.Context(), client.Request{}, nil)
			if got, want := answer(res, false), "ok; 20 tokens in 2 chunks (usage-final); finish length"; got != want {
				t.Fatalf("split at %d: %s", i, got)
			}
		}
	})
	if *res.Record.PromptTokens != 26 || *res.Record.OutputTokens != 20 || res.Record.CachedTokens != nil {
		t.Errorf("usage: %+v", res.Record)
	}
}

// What llama.cpp sends: usage and timings in the finish chunk of completions, in a chunk of its own for chat.
func TestLlamaCpp(t *testing.T) {
	timings := `"timings":{"cache_n":11,"prompt_n":1,"prompt_ms":9.4,"predicted_n":20,"predicted_ms":93.1,"predicted_per_second":214.8}`
	usage := `"usage":{"completion_tokens":20,"prompt_tokens":12,"total_tokens":32}`
	text := func(i int) string {
		return `data: {"choices":[{"text":"` + word(i) + `","index":0,"logprobs":null,"finish_reason":null}],"created":1,"model":"m","system_fingerprint":"b1","object":"text_completion","id":"c"}` + "\n\n"
	}
	check := func(endpoint client.Endpoint, s script) {
		t.Helper()
		res := replays(t, client.Config{Endpoint: endpoint}, s)
		if got, want := answer(res, true), "ok; 20 tokens in 20 chunks (usage-final); finish length"+exact; got != want {
			t.Errorf("%s:\n got %s\nwant %s", endpoint, got, want)
		}
		if rec := res.Record; *rec.PromptTokens != 12 || *rec.CachedTokens != 11 || *rec.OutputTokens != 20 {
			t.Errorf("%s: prompt %d, cached %d, output %d", endpoint, *rec.PromptTokens, *rec.CachedTokens, *rec.OutputTokens)
		}
	}
	check(client.Completions, script{writes: then(reference(text),
		`data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],"created":1,"model":"m","object":"text_completion",`+usage+`,"id":"c",`+timings+"}\n\n"+done)})
	check(client.Chat, script{writes: then(reference(plain),
		finish("length")+`data: {"choices":[],"created":1,"id":"c","model":"m","object":"chat.completion.chunk",`+usage+`,`+timings+"}\n\n"+done)})
}

// With timings in every chunk llama.cpp counts each: a stream that is cut has its tokens counted too.
func TestLlamaCppTimingsPerToken(t *testing.T) {
	event := func(i int) string {
		return `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"` + word(i) + `"}}],"created":1,"id":"c","model":"m","object":"chat.completion.chunk",` +
			fmt.Sprintf(`"timings":{"cache_n":11,"prompt_n":1,"prompt_ms":9.4,"predicted_n":%d,"predicted_ms":1.5}}`, 2*(i+1)) + "\n\n"
	}
	res := replays(t, client.Config{TokenTimings: true}, script{writes: reference(event)})
	rec := res.Record
	if rec.TokenSource != "usage-per-chunk" || rec.Tokens() != 40 || rec.CachedTokens == nil || *rec.CachedTokens != 11 {
		t.Errorf("%d tokens by %s, cached %v, want 40 by usage-per-chunk and 11", rec.Tokens(), rec.TokenSource, rec.CachedTokens)
	}
}

func TestCachedTokensOfUsage(t *testing.T) {
	usage := `{"prompt_tokens":12,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":8,"audio_tokens":0}}`
	res := replays(t, client.Config{}, script{writes: at(0, chunkOf(`{"content":"a"}`, "stop", usage)+done)})
	if *res.Record.CachedTokens != 8 || *res.Record.PromptTokens != 12 {
		t.Errorf("cached %d of %d", *res.Record.CachedTokens, *res.Record.PromptTokens)
	}
}

// The server's abort of our own request, asked for by its id, is no failure; another is.
func TestAbortFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cn := open(t, client.Config{Dial: pipeDial(script{writes: at(0, plain(0)+finish("abort")+done)})})
		if got := answer(cn.Do(t.Context(), client.Request{ID: "r1"}, nil), false); got != "stopped; 1 tokens in 1 chunks (chunks); finish abort" {
			t.Error(got)
		}
		if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != "error-in-stream: the server aborted the request; 1 tokens in 1 chunks (chunks); finish abort" {
			t.Error(got)
		}
	})
}

// received runs one request and returns it as the server got it, with its body decoded.
func received(t *testing.T, cfg client.Config, req client.Request) (*http.Request, map[string]any) {
	t.Helper()
	var got *http.Request
	var body map[string]any
	synctest.Test(t, func(t *testing.T) {
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				r, err := http.ReadRequest(bufio.NewReader(theirs))
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(r.Body)
				if err != nil || json.Unmarshal(b, &body) != nil {
					t.Errorf("body %q: %v", b, err)
				}
				got = r
				replay(theirs, func(time.Time) {}, goodScript())
			}()
			return ours, nil
		}
		cn := open(t, cfg)
		cn.Do(t.Context(), req, nil)
		cn.Close()
		time.Sleep(time.Minute) // the server ends
	})
	return got, body
}

func TestRequest(t *testing.T) {
	prompt := "say \"hi\"\n\t\u2028\x01 ü \\ " + strconv.Itoa(1)
	full := client.Request{Prompt: prompt, MaxTokens: 64, Temperature: 0.5, IgnoreEOS: true, ContinuousUsage: true, ID: "run-1"}
	check := func(cfg client.Config, req client.Request, path, want string) {
		t.Helper()
		r, body := received(t, cfg, req)
		if r.Method != "POST" || r.URL.Path != path || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, %v; want path %s", r.Method, r.URL, r.Header, path)
		}
		if got := fmt.Sprint(body); got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
	messages := "messages:[map[content:" + prompt + " role:user]]"
	check(client.Config{}, full, "/v1/chat/completions", "map[ignore_eos:true max_tokens:64 "+messages+
		" min_tokens:64 model:m rid:run-1 stream:true stream_options:map[continuous_usage_stats:true include_usage:true] temperature:0.5]")
	check(client.Config{Endpoint: client.Completions}, client.Request{Prompt: prompt, MaxTokens: 64}, "/v1/completions",
		"map[max_tokens:64 model:m prompt:"+prompt+" stream:true stream_options:map[include_usage:true] temperature:0]")
	check(client.Config{Endpoint: client.Ollama}, full, "/api/chat",
		"map["+messages+" model:m options:map[num_predict:64 temperature:0.5] stream:true]")
	check(client.Config{Endpoint: client.Ollama, BaseURL: "http://server.test/"}, full, "/api/chat",
		"map["+messages+" model:m options:map[num_predict:64 temperature:0.5] stream:true]")

	r, _ := received(t, client.Config{BaseURL: "http://u:p@server.test:81/api/v1/", Header: http.Header{"x-extra": {"1", "2"}}}, full)
	if user, password, _ := r.BasicAuth(); r.Host != "server.test:81" || user != "u" || password != "p" || fmt.Sprint(r.Header["X-Extra"]) != "[1 2]" {
		t.Errorf("host %q, header %v", r.Host, r.Header)
	}
	r, _ = received(t, client.Config{Key: "sk-1"}, full)
	if got := r.Header.Get("Authorization"); got != "Bearer sk-1" {
		t.Errorf("authorization %q", got)
	}
}

func TestPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New(client.Config{BaseURL: "http://server.test/v1", Model: "m", Dial: pipeDial(goodScript())})
		if err != nil {
			t.Fatal(err)
		}
		cn, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer cn.Close()
		req := c.Prepare(client.Request{Prompt: "hello", MaxTokens: 3})
		res := cn.Do(t.Context(), req, nil)
		// sha256("hello") begins 2cf24dba5fb0a30e.
		if res.Record.PromptSHA != "2cf24dba5fb0a30e" || res.Record.AskedTokens != 3 {
			t.Errorf("prompt %q, asked %d", res.Record.PromptSHA, res.Record.AskedTokens)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	check := func(cfg client.Config, want string) {
		t.Helper()
		_, err := client.New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("error tells a secret: %v", err)
		}
	}
	check(client.Config{}, `base URL "" is not of the form http://host:port/v1`)
	check(client.Config{BaseURL: "localhost:8000"}, `base URL "localhost:8000"`)
	check(client.Config{BaseURL: "ftp://u:secret@h/"}, `base URL "ftp://[redacted]@h/"`)
	check(client.Config{BaseURL: "http://h", Endpoint: "embeddings"}, `endpoint "embeddings" is not known; use chat, completions or ollama`)
	check(client.Config{BaseURL: "http://h", Key: "secret\nx"}, `header "Authorization" or its value`)
	check(client.Config{BaseURL: "http://h", Header: http.Header{"A b": {"secret"}}}, `header "A b" or its value`)
}
