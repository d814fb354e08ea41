// What the program measures over real sockets is held against what the simulated engine says that it sent: the instants
// just before each write, not its nominal times, since a busy machine oversleeps.
package truth

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
	"speedmatrix/internal/summary"
	"speedmatrix/tests/programs"
)

// served is a line of the engine's log, as far as it is compared.
type served struct {
	SentNS []int64 `json:"sent_ns"` // Unix nanoseconds, one a token
}

func TestFiguresAgainstTheEnginesOwn(t *testing.T) {
	bin := programs.Build(t)
	log := filepath.Join(t.TempDir(), "sent.jsonl")
	url := bin.Simulate(t, "--profile", "tiny", "--log", log)
	out := t.TempDir()
	bin.Must(t, 3*time.Minute, "measure", "run", "--url", url, "--contexts", "512", "--concurrency", "4", "--max-tokens", "512",
		"--duration", "5s", "--prefill", "none", "--yes", "--out", out)
	time.Sleep(time.Second) // the engine writes a request's line when it has noticed its end
	run, cell := measured(t, out)
	pass := run.Cells[cell.Index].Passes[0]
	epoch := run.Started.UnixNano()
	tokens, between := sentIn(t, log, epoch+pass.WindowStartUS*1000, epoch+pass.WindowEndUS*1000)
	seconds := float64(pass.WindowEndUS-pass.WindowStartUS) / 1e6
	near(t, "total tok/s", *cell.TokS, float64(tokens)/seconds, 0.01)
	near(t, "time between tokens, ms", *cell.BetweenTokensMS, between, 0.02)
	if cell.TokenSource != event.UsagePerChunk {
		t.Errorf("tokens counted by %q, want usage-per-chunk", cell.TokenSource)
	}
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: measured %v, the engine sent %v, more than %.0f %% apart", what, got, want, 100*share)
	}
}

// measured reads the one run in a results folder and computes its one cell.
func measured(t *testing.T, results string) (event.Run, summary.Cell) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(results, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("results hold %v, error %v, want one run", dirs, err)
	}
	log, err := eventlog.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	reqs, err := log.Requests()
	if err != nil {
		t.Fatal(err)
	}
	wholeAnswers(t, reqs)
	s, err := summary.Summarize(log.Run(), reqs, nil)
	if err != nil || len(s.Decode) != 1 || s.Decode[0].TokS == nil || s.Decode[0].BetweenTokensMS == nil {
		t.Fatalf("summary %+v, error %v, want one cell with figures", s.Decode, err)
	}
	return log.Run(), s.Decode[0]
}

// wholeAnswers demands that requests which ended by themselves have exactly the tokens that were asked for.
func wholeAnswers(t *testing.T, reqs []event.Request) {
	t.Helper()
	for i := range reqs {
		if r := &reqs[i]; r.Outcome == event.OK && r.Tokens() != int64(r.AskedTokens) {
			t.Errorf("request %d of stream %d has %d tokens, asked and sent were %d", r.Ordinal, r.Stream, r.Tokens(), r.AskedTokens)
		}
	}
}

// sentIn counts the tokens sent in (from, to] and takes the median over requests of their time between tokens, in ms.
func sentIn(t *testing.T, log string, from, to int64) (tokens int, between float64) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var paces []float64
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var s served
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		in := slices.DeleteFunc(s.SentNS, func(ns int64) bool { return ns <= from || ns > to })
		tokens += len(in)
		if n := len(in); n >= 2 {
			if us, ok := metric.Pace((in[n-1]-in[0])/1000, int64(n-1)); ok {
				paces = append(paces, us/1000)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	median, ok := stat.Median(paces)
	if !ok {
		t.Fatal("the engine's log has no request with two tokens in the window")
	}
	return tokens, median
}
