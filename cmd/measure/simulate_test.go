package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speedmatrix/internal/simengine"
)

// startSimulate runs simulate with the flags and a free port; it returns the base URL and a function that stops it.
func startSimulate(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := simulate(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), in, io.Discard)
		in.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("simulate said nothing: %v", err)
	}
	url = strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/v1") {
		t.Errorf("first line is %q", line)
	}
	return url, func() error { cancel(); return <-ended }
}

func TestSimulateServesAndLogsTheTruth(t *testing.T) {
	t.Setenv("SIMULATE_TEST_KEY", "sk-test-123")
	log := filepath.Join(t.TempDir(), "truth.jsonl")
	url, stop := startSimulate(t, "--profile", "tiny", "--speed", "100", "--api-key-env", "SIMULATE_TEST_KEY", "--log", log)
	post := func(key string) (int, string) {
		req, err := http.NewRequest("POST", url+"/chat/completions",
			strings.NewReader(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":7}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, _ := post("wrong"); status != 401 {
		t.Errorf("a wrong key gives %d, want 401", status)
	}
	if status, body := post("sk-test-123"); status != 200 || !strings.Contains(body, `"completion_tokens":7`) {
		t.Errorf("the right key gives %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Errorf("simulate = %v", err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var s simengine.Served
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("truth log %q: %v", text, err)
	}
	if s.Made != 7 || s.PromptTokens != 11 || s.Finish != "length" || s.ArrivedNS == 0 {
		t.Errorf("truth = %+v", s)
	}
}

func TestSimulateRefusesBadFlags(t *testing.T) {
	check := func(want string, args ...string) {
		t.Helper()
		err := simulate(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, args...), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("simulate %q = %v, want an error with %q", args, err, want)
		}
	}
	check(`profile "nosuch" is not built in: use one of llama-cpu,`, "--profile", "nosuch")
	check(`dialect "tgif" is not known`, "--dialect", "tgif")
	check(`usage "some" is not known`, "--usage", "some")
	check("contradict each other", "--usage", "final", "--no-usage")
	check("NO_SUCH_KEY_HERE", "--api-key-env", "NO_SUCH_KEY_HERE")
	check("between 0 and 1", "--early-stop", "2")
	check(`fault "boom" is not known`, "--faults", "0.1", "--fault-kinds", "boom")
	check("takes no arguments", "extra")
	check("unknown flag", "--nosuch")
}

func TestSimulateListsProfiles(t *testing.T) {
	var out strings.Builder
	if err := simulate(t.Context(), []string{"--list-profiles"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tiny", "llama-cpu", "rtx-pro-6000-gemma-4-e2b"} {
		if !strings.Contains(out.String(), name+" ") {
			t.Errorf("%q is not listed in\n%s", name, out.String())
		}
	}
}
