package simengine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/simengine"
)

// object decodes a JSON answer.
func (s *served) object(method, path, body string) map[string]any {
	s.t.Helper()
	status, text := s.do(method, path, body, "")
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != 200 {
		s.t.Errorf("%s %s: %d %.200s: %v", method, path, status, text, err)
	}
	return v
}

// at digs into nested objects and lists.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (s *served) want(v any, want any, path ...any) {
	s.t.Helper()
	if got := at(v, path...); got != want {
		s.t.Errorf("%v = %v (%T), want %v", path, got, got, want)
	}
}

func (s *served) lines(path string, wants ...string) {
	s.t.Helper()
	_, text := s.get(path)
	lines := strings.Split(text, "\n")
	for _, want := range wants {
		if !slices.Contains(lines, want) {
			s.t.Errorf("%s has no line %s:\n%s", path, want, text)
		}
	}
}

func TestEveryDialectCountsAndFinishes(t *testing.T) {
	for _, name := range simengine.Dialects() {
		withEngine(t, "tiny", simengine.Options{Dialect: simengine.Dialect(name)}, func(s *served) {
			s.want(s.object("GET", "/v1/models", ""), "tiny", "data", 0, "id")
			r := s.chat(s.t.Context(), "one two three", 6, nil)
			last := r.last().Usage
			if len(r.tokens()) != 6 || !r.done || last == nil || last.CompletionTokens != 6 || last.PromptTokens != 14 {
				t.Errorf("%s: %d tokens, done %v, usage %+v: want 6 and 14", name, len(r.tokens()), r.done, last)
			}
			finishes := 0
			for _, e := range r.events {
				if e.finish() == "length" {
					finishes++
				}
				if e.Speedmatrix.SentNS == 0 {
					t.Errorf("%s: no stamp in %s", name, e.raw)
				}
			}
			if finishes != 1 {
				t.Errorf("%s: %d finish reasons, want 1", name, finishes)
			}
			whole := s.object("POST", "/v1/chat/completions", `{"model":"tiny","messages":[{"role":"user","content":"one two three"}],"max_tokens":3}`)
			s.want(whole, 3.0, "usage", "completion_tokens")
			s.want(whole, "length", "choices", 0, "finish_reason")
			if text, _ := at(whole, "choices", 0, "message", "content").(string); simengine.CountTokens(text) != 3 {
				t.Errorf("%s: text %q is not of 3 tokens", name, text)
			}
		})
	}
}

func TestCompletionsOfEveryDialect(t *testing.T) {
	for _, name := range simengine.Dialects() {
		withEngine(t, "tiny", simengine.Options{Dialect: simengine.Dialect(name)}, func(s *served) {
			r := s.stream(s.t.Context(), "/v1/completions", fields{
				"model": "tiny", "prompt": "one two three", "max_tokens": 5, "stream": true, "stream_options": fields{"include_usage": true},
			})
			if name == string(simengine.Generic) {
				if r.status != 404 {
					t.Errorf("generic: status %d, want 404", r.status)
				}
				return
			}
			if len(r.tokens()) != 5 || r.last().Usage == nil || r.last().Usage.PromptTokens != 4 || !r.done {
				t.Errorf("%s: %d tokens, last event %s", name, len(r.tokens()), r.last().raw)
			}
			// llama.cpp tells the usage in the chunk with the finish reason, the others in one of its own.
			if got, want := r.last().finish() != "", name == string(simengine.LlamaCPP); got != want {
				t.Errorf("%s: usage beside the finish reason %v, want %v", name, got, want)
			}
		})
	}
}

func TestProfileIsToldAsSimulated(t *testing.T) {
	withEngine(t, seedProfile, simengine.Options{}, func(s *served) {
		p := s.object("GET", "/speedmatrix/profile", "")
		s.want(p, seedProfile, "profile")
		s.want(p, "Simulated engine (profile rtx-pro-6000-gemma-4-e2b)", "facts", "hardware.gpu")
		s.want(p, "google/gemma-4-E2B-it", "facts", "model.id")
	})
}

func TestVLLM(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Ranks: 2}, func(s *served) {
		s.want(s.object("GET", "/v1/models", ""), 8192.0, "data", 0, "max_model_len")
		s.want(s.object("GET", "/version", ""), "0.0.0+simulated", "version")
		s.want(s.object("POST", "/tokenize", `{"model":"tiny","prompt":"one twelve"}`), 3.0, "count")
		chat := s.object("POST", "/tokenize", `{"model":"tiny","messages":[{"role":"user","content":"one twelve"}]}`)
		s.want(chat, 13.0, "count")
		if ids, _ := chat["tokens"].([]any); len(ids) != 13 {
			t.Errorf("%d token ids, want 13", len(ids))
		}
		done := make(chan result)
		for i := range 3 {
			go func() { done <- s.chat(s.t.Context(), prompt(fmt.Sprint(i), 100), 50, nil) }()
		}
		time.Sleep(100 * time.Millisecond)
		s.lines("/metrics",
			`vllm:num_requests_running{engine="0",model_name="tiny"} 2`,
			`vllm:num_requests_running{engine="1",model_name="tiny"} 1`,
			`vllm:num_requests_waiting{engine="1",model_name="tiny"} 0`,
			`vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="1",gpu_memory_utilization="0.9",kv_cache_size_tokens="32768",num_gpu_blocks="2048"} 1`)
		for range 3 {
			<-done
		}
	})
}

func TestVLLMRefusals(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Key: "sk-right", RejectFields: []string{"ignore_eos", "continuous_usage_stats"}}, func(s *served) {
		check := func(body, key string, status int, want string) {
			t.Helper()
			got, text := s.do("POST", "/v1/chat/completions", body, key)
			if got != status || !strings.Contains(text, want) {
				t.Errorf("%s: %d %s, want %d with %q", body, got, text, status, want)
			}
			if strings.Contains(text, "sk-right") {
				t.Errorf("the answer holds the key: %s", text)
			}
		}
		const ok = `{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":1`
		check(ok+`}`, "sk-right", 200, `"completion_tokens":1`)
		check(ok+`}`, "sk-wrong", 401, "Unauthorized")
		check(ok+`}`, "", 401, "Unauthorized")
		check(ok+`,"ignore_eos":true}`, "sk-right", 400, `"param":"ignore_eos"`)
		check(ok+`,"stream_options":{"continuous_usage_stats":true}}`, "sk-right", 400, "continuous_usage_stats")
		check(`{"model":"other","messages":[{"role":"user","content":"hi"}]}`, "sk-right", 404, "The model `other` does not exist.")
		check(`{"model":"tiny","messages":[]}`, "sk-right", 400, "messages is missing or empty")
		check(`{"model":"tiny","messages":[{"role":"user","content":7}]}`, "sk-right", 400, "messages[0]")
		check(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":8190}`, "sk-right", 400, "maximum context length is 8192 tokens")
		check(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":0}`, "sk-right", 400, "max_tokens must be at least 1")
		check(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"temperature":-1}`, "sk-right", 400, "temperature")
		check(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":2,"min_tokens":3}`, "sk-right", 400, "min_tokens")
		check(`{"model":`, "sk-right", 400, "not valid")
		check(`{"model":"tiny","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":2}`, "sk-right", 200, `"prompt_tokens":11`)
		if status, _ := s.do("POST", "/tokenize", `{"prompt":"hi"}`, ""); status != 200 {
			t.Errorf("/tokenize without a key: %d, want 200 as in vLLM", status)
		}
	})
}

func TestNoMetrics(t *testing.T) {
	for _, name := range simengine.Dialects() {
		withEngine(t, "tiny", simengine.Options{Dialect: simengine.Dialect(name), NoMetrics: true}, func(s *served) {
			if status, _ := s.get("/metrics"); status != 404 {
				t.Errorf("%s: /metrics gives %d, want 404", name, status)
			}
		})
	}
}

func TestSGLang(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.SGLang, MaxRunning: 2, StaleGauges: 30 * time.Second}, func(s *served) {
		for _, path := range []string{"/get_server_info", "/server_info"} {
			info := s.object("GET", path, "")
			s.want(info, 32768.0, "max_total_num_tokens")
			s.want(info, 8192.0, "context_length")
			s.want(info, "0.0.0+simulated", "version")
			s.want(info, "speedmatrix/tiny", "model_path")
			s.want(info, 2.0, "max_running_requests")
			s.want(info, nil, "api_key")
		}
		const labels = `{engine_type="unified",model_name="tiny",pp_rank="0",tp_rank="0"} `
		done := make(chan result)
		ctx, cancel := context.WithCancel(s.t.Context())
		for i := range 3 {
			go func() { done <- s.chat(ctx, prompt(fmt.Sprint(i), 100), 2000, fields{"rid": fmt.Sprintf("r%d", i)}) }()
		}
		time.Sleep(100 * time.Millisecond)
		s.lines("/metrics", "sglang:num_running_reqs"+labels+"2", "sglang:num_queue_reqs"+labels+"1")

		// The clients leave, but the engine goes on until it is told to abort.
		cancel()
		for range 3 {
			<-done
		}
		time.Sleep(100 * time.Millisecond)
		s.lines("/metrics", "sglang:num_running_reqs"+labels+"2", "sglang:num_queue_reqs"+labels+"1")
		for i := range 3 {
			if status, _ := s.do("POST", "/abort_request", fmt.Sprintf(`{"rid":"r%d"}`, i), ""); status != 200 {
				t.Errorf("/abort_request: %d", status)
			}
		}
		time.Sleep(100 * time.Millisecond)
		// Idle now; the gauges say so only after a while, the load endpoint at once.
		if _, text := s.get("/get_load"); !strings.Contains(text, `"num_reqs":0`) {
			t.Errorf("/get_load: %s", text)
		}
		s.lines("/metrics", "sglang:num_running_reqs"+labels+"2")
		time.Sleep(31 * time.Second)
		s.lines("/metrics", "sglang:num_running_reqs"+labels+"0", "sglang:num_queue_reqs"+labels+"0")
		for _, sv := range s.truth.Served() {
			if sv.Finish != "abort" || !strings.HasPrefix(sv.ID, "r") {
				t.Errorf("truth: %s %s, want abort of r0 to r2", sv.ID, sv.Finish)
			}
		}
	})
}

func TestSGLangAbortEndsAnOpenStream(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.SGLang}, func(s *served) {
		done := make(chan result)
		go func() { done <- s.chat(s.t.Context(), "hi", 2000, fields{"rid": "mine"}) }()
		time.Sleep(time.Second)
		s.do("POST", "/abort_request", `{"rid":"mine"}`, "")
		r := <-done
		if n := len(r.tokens()); n < 100 || n > 300 || !r.done || r.last().Usage.CompletionTokens != n {
			t.Errorf("%d tokens, done %v, usage %+v", n, r.done, r.last().Usage)
		}
	})
}

func TestSGLangInfoHoldsTheKey(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.SGLang, Key: "sk-secret"}, func(s *served) {
		if status, _ := s.get("/get_server_info"); status != 401 {
			t.Errorf("without the key: %d, want 401", status)
		}
		if _, text := s.do("GET", "/get_server_info", "", "sk-secret"); !strings.Contains(text, `"api_key":"sk-secret"`) {
			t.Errorf("the trap is not there: %s", text)
		}
	})
}

func TestLlamaCPP(t *testing.T) {
	withEngine(t, "llama-cpu", simengine.Options{}, func(s *served) {
		props := s.object("GET", "/props", "")
		s.want(props, 8192.0, "default_generation_settings", "n_ctx")
		s.want(props, 4.0, "total_slots")
		s.want(props, "b0-simulated", "build_info")

		// A chat counts as its rendered template.
		rendered := s.object("POST", "/apply-template", `{"messages":[{"role":"user","content":"one twelve"}]}`)
		body, err := json.Marshal(map[string]any{"content": rendered["prompt"]})
		if err != nil {
			t.Fatal(err)
		}
		if ids, _ := s.object("POST", "/tokenize", string(body))["tokens"].([]any); len(ids) != 13 {
			t.Errorf("%d tokens of the rendered chat, want 13", len(ids))
		}

		// 60 prompt tokens a second; comments while it works; timings at the end.
		text := prompt("a", 502)
		r := s.chat(s.t.Context(), text, 3, nil)
		if (r.ttft()-8600*time.Millisecond).Abs() > time.Microsecond || r.comments < 8 {
			t.Errorf("TTFT %v with %d comments, want 8.6 s and 8 or more", r.ttft(), r.comments)
		}
		if got := r.last().Timings; got["prompt_n"] != 512 || got["predicted_n"] != 3 || got["prompt_ms"] == 0 {
			t.Errorf("timings %v", got)
		}
		again := s.chat(s.t.Context(), text, 3, nil)
		if c := again.last().Usage.Details.Cached; c != 496 {
			t.Errorf("%d tokens cached in the slot, want 496", c)
		}

		ctx, cancel := context.WithCancel(s.t.Context())
		for i := range 5 {
			go s.chat(ctx, prompt(fmt.Sprint(i), 50), 100, nil)
		}
		time.Sleep(2 * time.Second)
		s.lines("/metrics", "llamacpp:requests_processing 4", "llamacpp:requests_deferred 1")
		if _, slots := s.get("/slots"); strings.Count(slots, `"is_processing":true`) != 4 {
			t.Errorf("slots: %s", slots)
		}
		cancel()
		time.Sleep(20 * time.Second) // the step under way ends first
		s.lines("/metrics", "llamacpp:requests_processing 0", "llamacpp:requests_deferred 0")
	})
}

func TestSlotKeepsOnlyItsLastPrompt(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.LlamaCPP, MaxRunning: 2}, func(s *served) {
		check := func(tag string, want int) {
			t.Helper()
			got := s.chat(s.t.Context(), prompt(tag, 150), 1, nil).last().Usage.Details.Cached
			if got != want {
				t.Errorf("prompt %s: %d cached, want %d", tag, got, want)
			}
		}
		// Every chat begins with the same 5 tokens of template: less than a block, so nothing is common.
		check("a", 0)
		check("b", 0)
		check("a", 144) // the longest common beginning chooses the slot
		check("c", 0)   // goes to b's slot, idle longest
		check("a", 144)
		check("b", 0)
	})
}

func TestTGI(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.TGI}, func(s *served) {
		info := s.object("GET", "/info", "")
		s.want(info, 32768.0, "max_batch_total_tokens")
		s.want(info, 8192.0, "max_total_tokens")
		s.want(info, "0.0.0+simulated", "version")
		s.lines("/metrics", "tgi_queue_size 0", "tgi_batch_current_size 0")
		if _, text := s.do("POST", "/tokenize", `{"inputs":"one twelve"}`, ""); strings.Count(text, `"id"`) != 3 {
			t.Errorf("/tokenize: %s, want 3 tokens", text)
		}
		if status, text := s.do("POST", "/v1/chat/completions", `{"model":"x","messages":[]}`, ""); status != 422 || !strings.Contains(text, "error_type") {
			t.Errorf("an invalid request gives %d %s, want 422", status, text)
		}
	})
}

func TestOllama(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Dialect: simengine.Ollama, MaxRunning: 2}, func(s *served) {
		s.want(s.object("GET", "/api/version", ""), "0.0.0+simulated", "version")
		show := s.object("POST", "/api/show", `{"model":"tiny:latest"}`)
		s.want(show, 8192.0, "model_info", "simulated.context_length")
		s.want(s.object("GET", "/api/ps", ""), 8192.0, "models", 0, "context_length")
		if status, text := s.do("POST", "/api/show", `{"model":"other"}`, ""); status != 404 || !strings.Contains(text, "not found") {
			t.Errorf("/api/show of another model: %d %s", status, text)
		}

		_, text := s.do("POST", "/api/chat", `{"model":"tiny","messages":[{"role":"user","content":"hi"}],"options":{"num_predict":4}}`, "")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(lines) != 5 {
			t.Fatalf("%d lines, want 5:\n%s", len(lines), text)
		}
		var last map[string]any
		if err := json.Unmarshal([]byte(lines[4]), &last); err != nil {
			t.Fatal(err)
		}
		s.want(last, true, "done")
		s.want(last, "length", "done_reason")
		s.want(last, 4.0, "eval_count")
		s.want(last, 11.0, "prompt_eval_count")
		whole := s.object("POST", "/api/chat", `{"model":"tiny","stream":false,"messages":[{"role":"user","content":"hi"}],"options":{"num_predict":4}}`)
		s.want(whole, 4.0, "eval_count")

		// The queue shows only in the time to first token.
		late := 0
		for _, r := range s.together(4, 100, 100) {
			if r.ttft() > 300*time.Millisecond {
				late++
			}
		}
		if status, _ := s.get("/metrics"); late != 2 || status != 404 {
			t.Errorf("%d of 4 waited, /metrics gives %d: want 2 and 404", late, status)
		}
	})
}

func TestNewSaysAllThatIsWrong(t *testing.T) {
	_, err := simengine.New(simengine.Profile{}, simengine.Options{
		Dialect: "x", EarlyStop: 2, Speed: -1, KVTokens: -1, Usage: "y", Faults: simengine.Faults{Rate: 3},
	})
	for _, want := range []string{`dialect "x"`, "early stop 2", "speed -1", "kv tokens -1", `usage "y"`, "fault rate 3", "name is empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}
