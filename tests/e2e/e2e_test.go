//go:build e2e

// Package e2e measures a real server with the real programs: llama-server (llama.cpp) on the CPU, with a small
// model of random weights. What is asserted does not depend on the machine's speed: statuses, exact counts,
// exact prompt lengths, and that two observers (the client and the server's own counters) agree.
package e2e

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/summary"
	"speedmatrix/tests/programs"
)

// measured is a finished run, as stored and as summarised.
type measured struct {
	folder   string
	run      event.Run
	requests []event.Request
	summary  summary.Run
	programs.Result
}

// measure runs "measure run" against a server and reads what it stored.
func measure(t *testing.T, bin programs.Bin, server llama, flags ...string) measured {
	t.Helper()
	out := t.TempDir()
	args := append([]string{"run", "--url", server.url, "--yes", "--seed", "1", "--out", out}, flags...)
	m := measured{Result: bin.Run(t, 8*time.Minute, "measure", args...)}
	t.Logf("measure %s\n%s%s", strings.Join(args, " "), m.Stdout, m.Stderr)
	if m.Code != 0 {
		t.Fatalf("exit code %d, want 0", m.Code)
	}
	folders, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("results folder holds %q (%v), want one run", folders, err)
	}
	m.folder = folders[0]
	log, err := eventlog.Open(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Verify(); err != nil {
		t.Fatal(err)
	}
	samples, err := log.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if m.requests, err = log.Requests(); err != nil {
		t.Fatal(err)
	}
	m.run = log.Run()
	if m.summary, err = summary.Summarize(m.run, m.requests, samples); err != nil {
		t.Fatal(err)
	}
	return m
}

// cell finds a decode cell.
func (m measured) cell(t *testing.T, context, concurrency int) summary.Cell {
	t.Helper()
	for _, c := range m.summary.Decode {
		if c.Context == context && c.Concurrency == concurrency {
			return c
		}
	}
	t.Fatalf("the run has no decode cell %d x %d", context, concurrency)
	return summary.Cell{}
}

// ran tells whether a cell has numbers. Whether the client was the bottleneck depends on what else this machine
// does, and is not what these tests are about.
func ran(c summary.Cell) bool { return c.Status == event.Valid || c.Status == event.ClientBound }

func TestMatrix(t *testing.T) {
	server := startLlama(t, "-c", "16384", "-np", "8")
	bin := programs.Build(t)

	const plan = "--contexts=512,1K,2K"
	before := predicted(t, server)
	m := measure(t, bin, server, plan, "--concurrency=1,2,4,8", "--max-tokens=256", "--duration=3s")
	after := predicted(t, server)

	t.Run("statuses", func(t *testing.T) {
		for _, context := range []int{512, 1024} {
			for _, concurrency := range []int{1, 2, 4, 8} {
				if c := m.cell(t, context, concurrency); !ran(c) || c.FailedRequests == nil || *c.FailedRequests != 0 {
					t.Errorf("%d x %d: status %s (%s), failed requests %v; want a measured cell without failures",
						context, concurrency, c.Status, c.Reason, c.FailedRequests)
				}
			}
		}
		// A slot holds 16,384 / 8 = 2,048 tokens: 2K and 256 more do not fit.
		for _, concurrency := range []int{1, 2, 4, 8} {
			if c := m.cell(t, 2048, concurrency); c.Status != event.OverLength {
				t.Errorf("2048 x %d: status %s, want %s", concurrency, c.Status, event.OverLength)
			}
		}
	})

	t.Run("facts", func(t *testing.T) {
		if name := m.run.Engine["name"]; name != "llama.cpp" && name != "llamacpp" {
			t.Errorf("engine %v, want llama.cpp", name)
		}
		if got := m.run.Capacity.Tokens; got == nil || *got != 16384 {
			t.Errorf("capacity %v, want 16384", got)
		}
		if got := m.run.Capacity.Limit; got == nil || *got != 2048 {
			t.Errorf("limit %v, want 2048", got)
		}
	})

	t.Run("counts", func(t *testing.T) {
		whole := 0
		for i, r := range m.requests {
			if r.Outcome == event.OK {
				whole++
				if r.OutputTokens == nil || int64(*r.OutputTokens) != r.Tokens() {
					t.Errorf("row %d: chunks hold %d tokens, the server counted %v", i, r.Tokens(), r.OutputTokens)
				}
				if r.Tokens() != int64(r.AskedTokens) {
					t.Errorf("row %d: %d tokens, asked for %d with the end of sequence ignored", i, r.Tokens(), r.AskedTokens)
				}
			} else if r.Outcome != event.Stopped {
				t.Errorf("row %d: outcome %s", i, r.Outcome)
			}
		}
		if whole == 0 {
			t.Error("no request ended by itself")
		}
	})

	t.Run("prompts", func(t *testing.T) { checkPrompts(t, m) })

	// What the server says that it generated is what the client saw, but for the last steps of streams that
	// were cut: at most a few tokens each, which the client closed before they came.
	t.Run("server agrees", func(t *testing.T) {
		var seen int64
		cut := 0
		for _, r := range m.requests {
			seen += r.Tokens()
			if r.Outcome == event.Stopped {
				cut++
			}
		}
		said := after - before
		t.Logf("client saw %d tokens, the server counted %d; %d streams were cut", seen, said, cut)
		if slack := int64(cut)*16 + 64; said < seen-slack || said > seen+slack {
			t.Errorf("client saw %d tokens, the server counted %d: more than %d apart", seen, said, slack)
		}
	})

	t.Run("site", func(t *testing.T) { checkSite(t, bin, m) })

	// Capacity is known before any load: sixteen times 1,280 tokens do not fit into 16,384.
	t.Run("plan", func(t *testing.T) {
		text := bin.Must(t, time.Minute, "measure", "plan", "--url", server.url, plan, "--concurrency=16", "--max-tokens=256")
		for _, want := range []string{`1K +16 .*over.capacity`, `2K +16 .*over.length`} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("plan does not match %q:\n%s", want, text)
			}
		}
	})
}

// checkPrompts holds every prompt to its length within 0.5 %. A request whose answer was shortened by the
// staggered start has a prompt that is longer by as much.
func checkPrompts(t *testing.T, m measured) {
	t.Helper()
	checked := 0
	for i, r := range m.requests {
		if r.PromptTokens == nil {
			continue
		}
		cell := m.run.Cells[r.Cell]
		want := cell.Context
		if r.Ordinal == 0 && r.Stage != event.Scout && cell.Phase == event.Decode {
			want += m.run.Method.OutputTokens - int(r.AskedTokens)
		}
		checked++
		if off := math.Abs(float64(*r.PromptTokens)-float64(want)) / float64(want); off > 0.005 {
			t.Errorf("row %d (%s %d x %d, %s): %d prompt tokens, want %d: %.2f %% off",
				i, cell.Phase, cell.Context, cell.Concurrency, r.Stage, *r.PromptTokens, want, 100*off)
		}
	}
	if checked == 0 {
		t.Error("no request has a prompt length")
	}
}

// checkSite makes the site of the run and compares its numbers for machines with the summary's.
func checkSite(t *testing.T, bin programs.Bin, m measured) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "site")
	bin.Must(t, time.Minute, "sitegen", "build", "--results", filepath.Dir(m.folder), "--templates", "../../templates", "--cache", "", "--out", out)
	page := filepath.Join(out, "runs", m.run.ID)
	text, err := os.ReadFile(filepath.Join(page, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var twin struct {
		ID     string `json:"id"`
		Decode []struct {
			Context     int      `json:"context"`
			Concurrency int      `json:"concurrency"`
			Status      string   `json:"status"`
			TokS        *float64 `json:"tok_s"`
		} `json:"decode"`
	}
	if err := json.Unmarshal(text, &twin); err != nil {
		t.Fatal(err)
	}
	if twin.ID != m.run.ID || len(twin.Decode) != len(m.summary.Decode) {
		t.Errorf("run.json: id %q with %d decode cells, want %q with %d", twin.ID, len(twin.Decode), m.run.ID, len(m.summary.Decode))
	}
	for _, row := range twin.Decode {
		c := m.cell(t, row.Context, row.Concurrency)
		if row.Status != string(c.Status) || (row.TokS == nil) != (c.TokS == nil) || row.TokS != nil && *row.TokS != *c.TokS {
			t.Errorf("run.json %d x %d: %s %v, want %s %v", row.Context, row.Concurrency, row.Status, row.TokS, c.Status, c.TokS)
		}
	}
	html, err := os.ReadFile(filepath.Join(page, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tiny-random-llama", "Sustained decode", "All measurements"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Fewer slots than requests: told as such, soon, and not tried at more.
func TestQueued(t *testing.T) {
	server := startLlama(t, "-c", "16384", "-np", "4")
	bin := programs.Build(t)
	m := measure(t, bin, server, "--contexts=512", "--concurrency=8,16", "--max-tokens=256", "--duration=3s", "--prefill=none")
	if m.Took > time.Minute {
		t.Errorf("took %s, want less than a minute", m.Took)
	}
	if c := m.cell(t, 512, 8); c.Status != event.Queued || math.Round(c.RanRequests) != 4 {
		t.Errorf("512 x 8: status %s, ran %g (%s); want queued, 4", c.Status, c.RanRequests, c.Reason)
	}
	if c := m.cell(t, 512, 16); c.Status != event.Skipped || !regexp.MustCompile(`\b8\b`).MatchString(c.Reason) {
		t.Errorf("512 x 16: status %s (%s); want skipped, naming 8", c.Status, c.Reason)
	}
}

// The other API: there the usage is in the chunk with the finish reason.
func TestCompletionsEndpoint(t *testing.T) {
	server := startLlama(t, "-c", "8192", "-np", "4")
	bin := programs.Build(t)
	m := measure(t, bin, server, "--endpoint=completions", "--contexts=1K", "--concurrency=4", "--max-tokens=128", "--duration=2s")
	if c := m.cell(t, 1024, 4); !ran(c) || *c.FailedRequests != 0 {
		t.Errorf("1024 x 4: status %s (%s)", c.Status, c.Reason)
	}
	checkPrompts(t, m)
}

func TestLongPrompts(t *testing.T) {
	server := startLlama(t, "-c", "65536", "-np", "4")
	bin := programs.Build(t)
	m := measure(t, bin, server, "--concurrency=none", "--prefill=1K,4K,8K")
	if len(m.summary.Prefill) != 3 {
		t.Fatalf("%d prefill rows, want 3", len(m.summary.Prefill))
	}
	for _, c := range m.summary.Prefill {
		if !ran(c) || c.TokS == nil {
			t.Errorf("prefill %s: status %s (%s)", c.Label, c.Status, c.Reason)
		}
	}
	checkPrompts(t, m)
}

// predicted is the server's own count of the tokens that it generated since it started.
func predicted(t *testing.T, server llama) int64 {
	t.Helper()
	response, err := http.Get(server.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "llamacpp:tokens_predicted_total "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int64(n)
		}
	}
	t.Fatalf("%s has no llamacpp:tokens_predicted_total (%v)", server.metrics, lines.Err())
	return 0
}
