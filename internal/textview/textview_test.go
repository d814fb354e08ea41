package textview_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/textview"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ptr[T any](v T) *T { return &v }

// small is a run with one cell of each appearance; its figures are of the seed page.
func small() summary.Run {
	cell := func(phase event.Phase, context int, label string, concurrency int, s event.Status, reason string) summary.Cell {
		return summary.Cell{Phase: phase, Context: context, Label: label, Concurrency: concurrency, Status: s, Reason: reason}
	}
	valid := cell(event.Decode, 8192, "8K", 1, event.Valid, "")
	valid.TokS, valid.PerRequestTokS, valid.TTFTMS, valid.BetweenTokensMS = ptr(153.3), ptr(155.6), ptr(127.0), ptr(6.4)
	valid.ActiveRequests, valid.CompletedRequests, valid.OutputTokens, valid.MeasuredS = ptr(1.0), ptr(1), ptr(int64(4598)), ptr(30.0)
	valid.Warnings = []summary.Warning{{ID: "few-restarts", Text: "TTFT rests on 1 restart; 6 or more are wanted."}}
	queued := cell(event.Decode, 8192, "8K", 16, event.Queued, "the server ran 9 of 16 requests at once")
	queued.TokS, queued.TTFTMS = ptr(1164.3), ptr(18446.0)
	row := cell(event.Prefill, 125952, "123K", 1, event.Valid, "")
	row.TokS, row.TTFTMS, row.CompletedRequests, row.Samples = ptr(6714.0), ptr(18446.0), ptr(3), 3
	return summary.Run{
		Title: "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB",
		Facts: event.Run{
			Started: time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC), State: event.Complete,
			Engine: event.Facts{"name": "sglang", "version": "0.5.22"},
			Method: event.Method{DurationS: 30, OutputTokens: 4096, Prompts: event.PerStream, Start: event.Staggered},
		},
		Prefill: []summary.Cell{row},
		Decode: []summary.Cell{valid, queued,
			cell(event.Decode, 16384, "16K", 16, event.OverCapacity, "needs 327,680 tokens, the KV cache holds 200,000")},
		Warnings: []summary.Warning{{ID: "allow-busy", Text: "The server was not idle when the run began; someone else's load may be in the figures."}},
	}
}

func TestText(t *testing.T) {
	const golden = "testdata/small.txt"
	got := textview.Text(small())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("text differs from %s (rewrite with -update):\n%s", golden, got)
	}
}

// TestHostileText: nothing from a file can move a terminal's cursor or start a line of its own.
func TestHostileText(t *testing.T) {
	r := small()
	const evil = "a\x1b[2J\tb\r\nc\u202ed\u0085e\u2028f"
	r.Title = evil
	r.Facts.Engine = event.Facts{"name": evil, "version": evil}
	r.Facts.Method.Prompts, r.Facts.State = evil, evil
	for _, cells := range [][]summary.Cell{r.Prefill, r.Decode} {
		for i := range cells {
			cells[i].Label, cells[i].Reason, cells[i].Warnings = evil, evil, []summary.Warning{{Text: evil}}
		}
	}
	r.Decode[0].Status, r.Warnings = evil, []summary.Warning{{Text: evil}}
	got := textview.Text(r)
	for _, c := range got {
		if c != '\n' && !unicode.IsPrint(c) {
			t.Fatalf("%q is in the text:\n%s", c, got)
		}
	}
	if got, want := strings.Count(got, "\n"), strings.Count(textview.Text(small()), "\n"); got > want+9 {
		t.Errorf("%d lines, want at most %d", got, want+9)
	}
}

func TestEmpty(t *testing.T) {
	if got := textview.Text(summary.Run{}); !strings.Contains(got, "All measurements") {
		t.Errorf("an empty run reads %q", got)
	}
}
