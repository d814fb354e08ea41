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

func TestCachedPromptCostsOnlyItsTail(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{}, func(s *served) {
		text := prompt("a", 2038) // 2,048 tokens in all: 128 blocks, of which the last is computed again
		s.chat(s.t.Context(), text, 1, nil)
		r := s.chat(s.t.Context(), text, 2, nil)
		if got := r.last().Usage.Details.Cached; got != 2032 {
			t.Errorf("cached = %d, want 2032", got)
		}
		l := latency(t, "tiny")
		want := l.FrontEnd(2048, 1) + max(l.Prefill(2032, 2048), l.Decode(1, 2048))
		if got := r.ttft(); got != want {
			t.Errorf("TTFT = %v, want %v", got, want)
		}
	})
}

func TestWithoutPrefixCacheNothingIsCached(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{NoPrefixCache: true}, func(s *served) {
		text := prompt("a", 1014)
		s.chat(s.t.Context(), text, 1, nil)
		r := s.chat(s.t.Context(), text, 1, nil)
		if got := r.last().Usage.Details.Cached; got != 0 || (r.ttft()-24*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("cached %d, TTFT %v: want 0 and 24 ms", got, r.ttft())
		}
	})
}

// together sends n requests at once, each with its own prompt, and waits for all.
func (s *served) together(n, promptTokens, output int) []result {
	results := make([]result, n)
	done := make(chan struct{})
	for i := range n {
		go func() {
			results[i] = s.chat(s.t.Context(), prompt(fmt.Sprintf("%c", 'a'+i), promptTokens-10), output, nil)
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
	return results
}

func TestRunningLimitQueuesTheRest(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{MaxRunning: 9}, func(s *served) {
		go func() {
			time.Sleep(time.Second)
			_, text := s.get("/metrics")
			for _, want := range []string{
				`vllm:num_requests_running{engine="0",model_name="tiny"} 9` + "\n",
				`vllm:num_requests_waiting{engine="0",model_name="tiny"} 7` + "\n",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("no line %q in\n%s", want, text)
				}
			}
		}()
		results := s.together(16, 512, 300)
		early := 0
		for _, r := range results {
			if len(r.tokens()) != 300 {
				t.Errorf("%d tokens, want 300", len(r.tokens()))
			}
			if r.ttft() < time.Second {
				early++
			}
		}
		if early != 9 {
			t.Errorf("%d requests had a token within a second, want 9 of 16", early)
		}
		late := 0
		for _, sv := range s.truth.Served() {
			if time.Duration(sv.AdmittedNS-sv.ArrivedNS) > time.Second {
				late++
			}
		}
		if late != 7 {
			t.Errorf("%d requests waited for a place, want 7", late)
		}
	})
}

func TestBatchSharesLongerSteps(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{}, func(s *served) {
		results := s.together(8, 512, 100)
		l := latency(t, "tiny")
		gap := results[0].tokens()[50].at - results[0].tokens()[49].at
		low, high := l.Decode(8, 512+40), l.Decode(8, 512+60)
		if gap < low || gap > high {
			t.Errorf("gap with 8 streams = %v, want between %v and %v", gap, low, high)
		}
	})
}

func TestPrefillSlowsDecode(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{}, func(s *served) {
		got := make(chan result)
		go func() { got <- s.chat(s.t.Context(), prompt("a", 502), 400, nil) }()
		time.Sleep(500 * time.Millisecond)
		s.chat(s.t.Context(), prompt("b", 4086), 1, nil)
		toks := (<-got).tokens()
		longest := time.Duration(0)
		for i := 1; i < len(toks); i++ {
			longest = max(longest, toks[i].at-toks[i-1].at)
		}
		// The longest step computes tokens up to 4,096 beside one decode: 2,047 of them at most.
		l := latency(t, "tiny")
		if low, high := l.Prefill(2047, 4094), l.Prefill(2047, 4094)+2*l.Decode(1, 1000); longest < low || longest > high {
			t.Errorf("longest gap beside a prefill = %v, want between %v and %v", longest, low, high)
		}
	})
}

func TestFullCacheMakesRequestsWait(t *testing.T) {
	// Room for 2 of 3 requests of 1,024 + 256.
	withEngine(t, "tiny", simengine.Options{KVTokens: 2600}, func(s *served) {
		var waited []time.Duration
		for _, r := range s.together(3, 1024, 256) {
			waited = append(waited, r.ttft())
			if len(r.tokens()) != 256 {
				t.Errorf("%d tokens, want 256", len(r.tokens()))
			}
		}
		late := 0
		for _, w := range waited {
			if w > time.Second {
				late++
			}
		}
		if late != 1 {
			t.Errorf("TTFTs %v: want one that waited for the others' room", waited)
		}
	})
}

func TestRequestBeyondTheWholeCacheIsRefused(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{KVTokens: 1024}, func(s *served) {
		r := s.chat(s.t.Context(), prompt("a", 1000), 100, nil)
		if r.status != 400 || !strings.Contains(r.body, "KV cache") {
			t.Errorf("status %d %s, want 400 about the KV cache", r.status, r.body)
		}
	})
}

func TestOldestPromptIsEvictedFirst(t *testing.T) {
	// The cache holds two prompts of 1,024 and their output.
	withEngine(t, "tiny", simengine.Options{KVTokens: 2200}, func(s *served) {
		ask := func(tag string) int {
			return s.chat(s.t.Context(), prompt(tag, 1014), 16, nil).last().Usage.Details.Cached
		}
		check := func(tag string, want int) {
			t.Helper()
			if got := ask(tag); got != want {
				t.Errorf("prompt %s: %d tokens cached, want %d", tag, got, want)
			}
		}
		check("a", 0)
		check("b", 0)
		check("a", 1008) // used again: b is now the older
		check("c", 0)    // takes the 9 free blocks of 137 and, from its end, 56 of b's 64
		check("a", 1008)
		check("b", 128)
	})
}

func TestClientThatLeavesFreesItsRoom(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{KVTokens: 2600}, func(s *served) {
		ctx, cancel := context.WithCancel(s.t.Context())
		for _, tag := range []string{"a", "b"} {
			go s.chat(ctx, prompt(tag, 1014), 256, nil)
		}
		time.Sleep(500 * time.Millisecond)
		queued := make(chan result)
		go func() { queued <- s.chat(s.t.Context(), prompt("c", 1014), 256, nil) }()
		time.Sleep(100 * time.Millisecond)
		cancel()
		if r := <-queued; r.ttft() > 200*time.Millisecond || len(r.tokens()) != 256 {
			t.Errorf("TTFT %v after the others left, %d tokens", r.ttft(), len(r.tokens()))
		}
		aborted := 0
		for _, sv := range s.truth.Served() {
			if sv.Finish == "abort" {
				aborted++
				if sv.Made >= 256 || sv.Made < 50 {
					t.Errorf("an aborted request made %d tokens", sv.Made)
				}
			}
		}
		if aborted != 2 {
			t.Errorf("%d aborted, want 2", aborted)
		}
		if _, text := s.get("/metrics"); !strings.Contains(text, `vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0`+"\n") {
			t.Errorf("the cache is not empty:\n%s", text)
		}
	})
}

func TestClientThatLeavesTheQueueIsForgotten(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{MaxRunning: 1}, func(s *served) {
		first := make(chan result)
		go func() { first <- s.chat(s.t.Context(), prompt("a", 500), 100, nil) }()
		time.Sleep(50 * time.Millisecond)
		ctx, cancel := context.WithTimeout(s.t.Context(), 50*time.Millisecond)
		defer cancel()
		s.chat(ctx, prompt("b", 500), 100, nil)
		time.Sleep(time.Millisecond)
		if _, text := s.get("/metrics"); !strings.Contains(text, `vllm:num_requests_waiting{engine="0",model_name="tiny"} 0`) {
			t.Errorf("the queue is not empty:\n%s", text)
		}
		if r := <-first; len(r.tokens()) != 100 {
			t.Errorf("the running request made %d tokens, want 100", len(r.tokens()))
		}
	})
}

func TestUsageShapes(t *testing.T) {
	type options = fields
	check := func(name string, opt simengine.Options, ask options, final, each bool) {
		t.Helper()
		withEngine(t, "tiny", opt, func(s *served) {
			r := s.chat(s.t.Context(), "some words here", 4, fields{"stream_options": ask})
			last := r.last()
			if got := last.Usage != nil && len(last.Choices) == 0 && last.Usage.CompletionTokens == 4; got != final {
				t.Errorf("%s: final usage %v, want %v: %s", name, got, final, last.raw)
			}
			for i, e := range r.tokens() {
				if got := e.Usage != nil && e.Usage.CompletionTokens == i+1; got != each {
					t.Errorf("%s: usage in chunk %d %v, want %v: %s", name, i, got, each, e.raw)
				}
			}
			if !r.done {
				t.Errorf("%s: no [DONE]", name)
			}
		})
	}
	asked := options{"include_usage": true, "continuous_usage_stats": true}
	check("nothing asked", simengine.Options{}, nil, false, false)
	check("final asked", simengine.Options{}, options{"include_usage": true}, true, false)
	check("both asked", simengine.Options{}, asked, true, true)
	check("continuous ignored", simengine.Options{Usage: simengine.UsageFinal}, asked, true, false)
	check("continuous unasked", simengine.Options{Usage: simengine.UsageEach}, nil, true, true)
	check("none", simengine.Options{Usage: simengine.UsageNone}, asked, false, false)
	check("OpenAI's way", simengine.Options{Dialect: simengine.Generic}, asked, true, false)
}

func TestEarlyStops(t *testing.T) {
	check := func(opt simengine.Options, ignoreEOS bool, wantStops bool) {
		t.Helper()
		withEngine(t, "tiny", opt, func(s *served) {
			stops := 0
			for i := range 40 {
				r := s.chat(s.t.Context(), prompt("a", 20+i), 50, fields{"ignore_eos": ignoreEOS, "min_tokens": 7})
				n, finish := len(r.tokens()), r.tokens()[len(r.tokens())-1].finish()
				if finish == "stop" {
					stops++
				}
				if finish == "stop" && (n < 7 || n >= 50) || finish == "length" && n != 50 {
					t.Errorf("%d tokens and finish reason %q", n, finish)
				}
			}
			if wantStops && (stops < 8 || stops > 32) || !wantStops && stops != 0 {
				t.Errorf("early stop %v, ignore_eos %v: %d of 40 stopped", opt.EarlyStop, ignoreEOS, stops)
			}
		})
	}
	check(simengine.Options{EarlyStop: 0.5}, false, true)
	check(simengine.Options{EarlyStop: 0.5}, true, false)
	check(simengine.Options{EarlyStop: 0.5, AlwaysEOS: true}, true, true)
	check(simengine.Options{}, false, false)
}

func TestSpeculativeChunksCarrySeveralTokens(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{TokensPerStep: 4}, func(s *served) {
		r := s.chat(s.t.Context(), "go", 18, nil)
		var made []int
		for _, e := range r.tokens() {
			made = append(made, e.Usage.CompletionTokens)
		}
		if got := fmt.Sprint(made); got != "[1 5 9 13 17 18]" {
			t.Errorf("tokens by chunk %s, want [1 5 9 13 17 18]", got)
		}
	})
}

func TestSpreadSendsOverTheStep(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Spread: true}, func(s *served) {
		results := s.together(4, 512, 50)
		at := map[time.Duration]int{}
		for _, r := range results {
			if len(r.tokens()) != 50 {
				t.Errorf("%d tokens, want 50", len(r.tokens()))
			}
			for _, e := range r.tokens()[10:40] {
				at[e.at]++
			}
		}
		for when, n := range at {
			if n > 1 {
				t.Fatalf("%d tokens at %v: want each stream at its own moment", n, when)
			}
		}
	})
}

func TestSpeedDividesDurations(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Speed: 4}, func(s *served) {
		r := s.chat(s.t.Context(), prompt("a", 1014), 2, nil)
		if got, want := r.ttft(), 6*time.Millisecond; (got - want).Abs() > time.Microsecond {
			t.Errorf("TTFT = %v, want %v", got, want)
		}
	})
}

func TestTruthIsWhatTheClientSees(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{}, func(s *served) {
		begin := time.Now()
		r := s.chat(s.t.Context(), prompt("a", 500), 30, nil)
		time.Sleep(time.Millisecond)
		served := s.truth.Served()
		if len(served) != 1 || len(served[0].SentNS) != 30 || served[0].Made != 30 || served[0].Finish != "length" {
			t.Fatalf("truth = %+v", served)
		}
		for i, e := range r.tokens() {
			want := begin.Add(e.at).UnixNano()
			if got := served[0].SentNS[i]; got != want || e.Speedmatrix.SentNS != want || served[0].NominalNS[i] != want {
				t.Errorf("token %d: truth %d, stamp %d, nominal %d, seen %d", i, got, e.Speedmatrix.SentNS, served[0].NominalNS[i], want)
			}
		}
	})
}

func TestTextIsVariedAndOneTokenAWord(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Seed: 3}, func(s *served) {
		say := func(text string) string {
			var b strings.Builder
			for _, e := range s.chat(s.t.Context(), text, 1000, nil).tokens() {
				b.WriteString(e.text())
			}
			return b.String()
		}
		first := say("tell me a story")
		if n := simengine.CountTokens(first); n != 1000 {
			t.Errorf("1,000 tokens of text count as %d", n)
		}
		if again := say("tell me a story"); again != first {
			t.Error("the same prompt gets another text")
		}
		if other := say("tell me a tale"); other == first {
			t.Error("another prompt gets the same text")
		}
		words := strings.Fields(first)
		for period := 1; period < 300; period++ {
			same := 0
			for i := period; i < len(words); i++ {
				if words[i] == words[i-period] {
					same++
				}
			}
			if same*10 > len(words)-period {
				t.Errorf("%d of %d words repeat after %d", same, len(words)-period, period)
			}
		}
	})
}

func TestFaults(t *testing.T) {
	for _, fault := range simengine.AllFaults() {
		withEngine(t, "tiny", simengine.Options{Faults: simengine.Faults{Rate: 1, Kinds: []simengine.Fault{fault}}}, func(s *served) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			defer cancel()
			r := s.chat(ctx, "some words", 50, nil)
			whole := len(r.tokens()) == 50 || r.done
			var ok bool
			switch fault {
			case simengine.FaultReset:
				ok = r.err != nil && ctx.Err() == nil
			case simengine.FaultTruncate:
				ok = r.err == nil
			case simengine.FaultError, simengine.FaultBareError:
				ok = r.last().Error != nil
			case simengine.FaultStall:
				ok = ctx.Err() != nil
			case simengine.FaultHTML:
				ok = r.status == 200 && len(r.events) == 0
			default:
				ok = fmt.Sprint(r.status) == string(fault) && strings.Contains(r.body, "simulated fault")
			}
			if whole || !ok {
				t.Errorf("%s: status %d, %d tokens, done %v, error %v", fault, r.status, len(r.tokens()), r.done, r.err)
			}
			time.Sleep(time.Second)
			if sv := s.truth.Served(); len(sv) != 1 || sv[0].Finish != string(fault) {
				t.Errorf("%s: truth is %+v", fault, sv)
			}
		})
	}
}

func TestServeEndsInTheMiddleOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := simengine.LoadProfile("llama-cpu") // its steps take seconds
		if err != nil {
			t.Fatal(err)
		}
		var truth simengine.Recorder
		e, err := simengine.New(p, simengine.Options{Dialect: simengine.SGLang, MaxRunning: 1, Truth: truth.Add})
		if err != nil {
			t.Fatal(err)
		}
		listener, dial := simengine.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Serve(ctx, listener) }()
		tr := &http.Transport{DialContext: dial}
		s := &served{t: t, client: &http.Client{Transport: tr}, model: p.Model.Served}
		results := make(chan result)
		for _, tag := range []string{"a", "b"} {
			go func() { results <- s.chat(t.Context(), prompt(tag, 1000), 100, nil) }()
		}
		time.Sleep(3 * time.Second)
		stopped := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(stopped) != 0 {
			t.Errorf("Serve ended after %v with %v, want at once and nil", time.Since(stopped), err)
		}
		for range 2 {
			if r := <-results; r.err == nil {
				t.Errorf("a client was not told that its stream broke")
			}
		}
		for _, sv := range truth.Served() {
			if sv.Finish != "abort" {
				t.Errorf("request %d ended with %q, want abort", sv.Number, sv.Finish)
			}
		}
		if n := len(truth.Served()); n != 2 {
			t.Errorf("%d requests in the truth, want 2", n)
		}
		tr.CloseIdleConnections()
	})
}

func TestFaultRateIsKept(t *testing.T) {
	withEngine(t, "tiny", simengine.Options{Faults: simengine.Faults{Rate: 0.2, Kinds: []simengine.Fault{simengine.Fault503}}}, func(s *served) {
		failed := 0
		for range 200 {
			if s.chat(s.t.Context(), "hi", 1, nil).status == 503 {
				failed++
			}
		}
		if failed < 25 || failed > 55 {
			t.Errorf("%d of 200 failed, want about 40", failed)
		}
	})
}
