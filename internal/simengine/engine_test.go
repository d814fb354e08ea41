package simengine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/simengine"
)

// served is an engine behind Pipe, with a client for it.
type served struct {
	t      *testing.T
	client *http.Client
	truth  *simengine.Recorder
	model  string
}

// withEngine runs body in virtual time against an engine.
func withEngine(t *testing.T, profile string, opt simengine.Options, body func(s *served)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, err := simengine.LoadProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		s := &served{t: t, truth: &simengine.Recorder{}, model: p.Model.Served}
		opt.Truth = s.truth.Add
		e, err := simengine.New(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		listener, dial := simengine.Pipe()
		tr := &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 1000}
		s.client = &http.Client{Transport: tr}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Serve(ctx, listener) }()
		body(s)
		tr.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
}

// prompt is text of n tokens: with a tag that makes it a prompt of its own.
func prompt(tag string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%02x ", tag, i%256)
	}
	return b.String()
}

// event is what a test reads from a streamed chunk, of any dialect.
type event struct {
	at      time.Duration // since the request
	Choices []struct {
		Text  string
		Delta struct {
			Role, Content string
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
		Details          *struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Timings     map[string]float64
	Error       any
	Speedmatrix struct {
		SentNS int64 `json:"sent_ns"`
	}
	raw string
}

func (e event) text() string {
	if len(e.Choices) == 0 {
		return ""
	}
	return e.Choices[0].Text + e.Choices[0].Delta.Content
}

func (e event) finish() string {
	if len(e.Choices) == 0 {
		return ""
	}
	return e.Choices[0].FinishReason
}

// result is one streamed answer.
type result struct {
	status   int
	events   []event
	comments int
	done     bool // [DONE] came
	err      error
	body     string // when the status is not 200
}

// tokens returns the events that carry text.
func (r result) tokens() []event {
	var got []event
	for _, e := range r.events {
		if e.text() != "" {
			got = append(got, e)
		}
	}
	return got
}

func (r result) ttft() time.Duration {
	if len(r.tokens()) == 0 {
		return -1
	}
	return r.tokens()[0].at
}

func (r result) last() event { return r.events[len(r.events)-1] }

// fields are a request's JSON.
type fields map[string]any

func (s *served) chat(ctx context.Context, text string, tokens int, more fields) result {
	body := fields{
		"model": s.model, "messages": []fields{{"role": "user", "content": text}}, "max_tokens": tokens, "stream": true,
		"stream_options": fields{"include_usage": true, "continuous_usage_stats": true},
	}
	for k, v := range more {
		body[k] = v
	}
	return s.stream(ctx, "/v1/chat/completions", body)
}

func (s *served) stream(ctx context.Context, path string, body fields) result {
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Error(err)
	}
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://engine"+path, strings.NewReader(string(text)))
	if err != nil {
		s.t.Error(err)
		return result{}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return result{err: err}
	}
	defer resp.Body.Close()
	r := result{status: resp.StatusCode}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		r.body = string(b)
		return r
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case strings.HasPrefix(line, ":"):
			r.comments++
		case data == "[DONE]":
			r.done = true
		case ok || strings.HasPrefix(line, "{"):
			e := event{at: time.Since(start), raw: data}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				s.t.Errorf("event %q: %v", data, err)
			}
			r.events = append(r.events, e)
		}
	}
	r.err = lines.Err()
	return r
}

// get returns the status and body of a GET.
func (s *served) get(path string) (int, string) {
	return s.do("GET", path, "", "")
}

func (s *served) do(method, path, body, key string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, "http://engine"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("X-Speedmatrix-Simulated") == "" {
		s.t.Errorf("%s %s: no X-Speedmatrix-Simulated header", method, path)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// latency is the profile's latency model, to say what a test expects.
func latency(t *testing.T, profile string) simengine.Latency {
	t.Helper()
	p, err := simengine.LoadProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	return simengine.NewLatency(p)
}

func TestColdRequestTakesThePrefillsTime(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{}, func(s *served) {
		// 1,014 tokens of text and 10 of template: the profile's 1,024 take 24 ms to the first token.
		r := s.chat(s.t.Context(), prompt("a", 1014), 20, nil)
		if got, want := r.ttft(), 24*time.Millisecond; (got - want).Abs() > time.Microsecond {
			t.Errorf("TTFT = %v, want %v", got, want)
		}
		if u := r.last().Usage; u == nil || u.PromptTokens != 1024 || u.CompletionTokens != 20 || u.TotalTokens != 1044 || u.Details.Cached != 0 {
			t.Errorf("usage = %+v, want 1024 prompt, 20 completion, 0 cached", u)
		}
		if !r.done || len(r.tokens()) != 20 || r.tokens()[19].finish() != "length" {
			t.Errorf("%d tokens, done %v: want 20 and a finish reason", len(r.tokens()), r.done)
		}
		// Each step after the first is that of one sequence of the length it has by then.
		l, toks := latency(t, "tiny"), r.tokens()
		for i := 1; i < len(toks); i++ {
			if got, want := toks[i].at-toks[i-1].at, l.Decode(1, float64(1024+i)); got != want {
				t.Fatalf("gap before token %d = %v, want %v", i, got, want)
			}
		}
	})
}
