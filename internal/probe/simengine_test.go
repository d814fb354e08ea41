package probe_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/redact"
	"speedmatrix/internal/simengine"
)

// The simulated engine speaks the dialect of each engine. All are recognised, with what they can hold, and each is
// labelled as simulated; the key is never kept.
func TestDialectsOfTheSimulatedEngine(t *testing.T) {
	const key = "sk-simulated-key-1"
	profile, err := simengine.LoadProfile(simengine.Profiles()[0])
	if err != nil {
		t.Fatal(err)
	}
	check := func(dialect, engine string, capacity, gauges, tokenizer, abort bool) {
		t.Helper()
		e, err := simengine.New(profile, simengine.Options{Dialect: simengine.Dialect(dialect), Key: key})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(e.Handler())
		t.Cleanup(srv.Close)
		s, err := probe.Detect(t.Context(), probe.Target{BaseURL: srv.URL + "/v1", Key: key})
		if err != nil {
			t.Fatalf("%s: %v", dialect, err)
		}
		if s.Engine != engine || s.Simulated != profile.Name || s.Model != profile.Model.Served {
			t.Errorf("%s: engine %s, simulated %q, model %q", dialect, s.Engine, s.Simulated, s.Model)
		}
		if (s.CapacityTokens != nil) != capacity || s.HasGauges() != gauges || s.HasTokenizer() != tokenizer || s.NeedsAbort() != abort {
			t.Errorf("%s: capacity %t, gauges %t, tokenizer %t, abort %t", dialect, s.CapacityTokens != nil, s.HasGauges(), s.HasTokenizer(), s.NeedsAbort())
		}
		if gauges {
			if g, err := s.Gauges(t.Context()); err != nil || g.Running != 0 || g.Waiting != 0 {
				t.Errorf("%s: gauges of an idle server %+v, %v", dialect, g, err)
			}
		}
		if tokenizer {
			if n, err := s.Count(t.Context(), strings.Repeat("alpha beta ", 500)); err != nil || n < 500 {
				t.Errorf("%s: %d tokens, %v", dialect, n, err)
			}
		}
		var run event.Run
		probe.Merge(&run, s.Facts, redact.Redactor{})
		if !run.Simulated() || !strings.Contains(run.Hardware.Text("gpu"), "Simulated engine") || s.SameMachine() {
			t.Errorf("%s: %v %v", dialect, run.Engine, run.Hardware)
		}
		kept, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(kept)+fmt.Sprint(s.Notes, s.Launch()), key) {
			t.Errorf("%s: the key is kept", dialect)
		}
	}
	check("vllm", probe.VLLM, true, true, true, false)
	check("sglang", probe.SGLang, true, true, true, true)
	check("llamacpp", probe.LlamaCpp, true, true, true, false)
	check("tgi", probe.TGI, true, true, false, false)
	check("ollama", probe.Ollama, false, false, false, false)
	check("generic", probe.Generic, false, false, false, false)
}
