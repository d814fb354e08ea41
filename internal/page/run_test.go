package page_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/page"
	"speedmatrix/internal/page/seedtest"
	"speedmatrix/internal/summary"
)

func newRun(t *testing.T, s summary.Run) page.Run {
	t.Helper()
	p, err := page.NewRun(&s, page.RunInput{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSeedRows holds the 46 lines of "All measurements" to the letter.
func TestSeedRows(t *testing.T) {
	want := seedtest.Rows()
	got := newRun(t, seedtest.Run()).Rows
	if len(got) != len(want) || len(want) != 46 {
		t.Fatalf("%d rows, the seed has %d, want 46", len(got), len(want))
	}
	for i, r := range got {
		line := []string{r.Phase, r.Context.Text, r.Concurrency.Text, r.State.Word, r.TokS.Text, r.PerRequest.Text, r.TTFT.Text,
			r.Between.Text, r.Active.Text, r.Completed.Text, r.Output.Text, r.Measured.Text}
		if !slices.Equal(line, want[i]) {
			t.Errorf("row %d\n got %q\nwant %q", i, line, want[i])
		}
	}
}

func TestSeedColumns(t *testing.T) {
	_, text, _ := strings.Cut(seedtest.Text, "| Phase |")
	line, _, _ := strings.Cut(text, "\n")
	want := []string{"Phase"}
	for _, name := range strings.Split(strings.Trim(line, " |"), "|") {
		want = append(want, strings.TrimSpace(name))
	}
	var got []string
	for _, c := range newRun(t, seedtest.Run()).Columns {
		got = append(got, c.Name)
		if !strings.HasPrefix(c.Href, "../../methodology/v1/#") {
			t.Errorf("column %s links to %q, want its sentence of the methodology", c.Name, c.Href)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
}

func TestSeedMatrixAndBars(t *testing.T) {
	p := newRun(t, seedtest.Run())
	for i, line := range seedtest.Matrix() {
		row := p.Matrix.Rows[i]
		for j, want := range line[1:] {
			cell := row.Cells[j]
			got := cell.State.Word
			if cell.Shown {
				got = cell.TokS.Text + cell.TTFT.Text + " TTFT"
			}
			if row.Label.Text != line[0] || got != want {
				t.Errorf("cell %s, %d: %q, want %q", row.Label.Text, j, got, want)
			}
		}
	}
	bars := seedtest.Bars()
	if len(bars) != 6 || len(p.Bars) != 6 {
		t.Fatalf("%d bars, the seed has %d, want 6", len(p.Bars), len(bars))
	}
	for i, b := range p.Bars {
		if got := [3]string{b.Context + " context", b.TokS.Text, b.TTFT.Text}; got != bars[i] {
			t.Errorf("bar %d: %q, want %q", i, got, bars[i])
		}
	}
	if p.Bars[0].Width != "100.00" || p.Bars[5].Width != "19.35" { // 6,481 of 33,500
		t.Errorf("widths %s and %s, want 100.00 and 19.35", p.Bars[0].Width, p.Bars[5].Width)
	}
}

// TestEverySentenceOfTheSeed looks for the seed's lines outside of its tables.
func TestEverySentenceOfTheSeed(t *testing.T) {
	p := newRun(t, seedtest.Run())
	check := func(what, got, want string) {
		t.Helper()
		if got != want || !strings.Contains(seedtest.Text, want) {
			t.Errorf("%s: %q, want %q, a text of the seed", what, got, want)
		}
	}
	check("title", p.Heading, "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB")
	check("engine", p.Engine, "sglang · 0.5.22.dev236+g1093c501d · BF16")
	check("method", p.Method, "5 contexts (8K–123K) × 8 concurrency levels (1–128) · prefill at 8K, 16K, 32K, 64K, 123K, 128K")
	check("footnote", p.Matrix.Footnotes[0], "Over capacity: not run because this many requests at this context would exceed the server's KV cache.")
	check("footnote", p.Matrix.Footnotes[1], "TTFT is measured after the benchmark warms the server's prompt cache, so it mostly excludes prefill.")
	facts := map[string]string{}
	for _, table := range p.Facts {
		for _, f := range table.Facts {
			facts[table.Title+"/"+f.Term] = f.Text
		}
	}
	for key, want := range map[string]string{
		"Hardware/Type": "Discrete GPU", "Hardware/GPU": "RTX PRO 6000 Blackwell Server Edition", "Hardware/VRAM": "96 GB", "Hardware/OS": "linux",
		"Engine/Engine": "sglang", "Engine/Version": "0.5.22.dev236+g1093c501d", "Engine/Quantization": "BF16", "Engine/Backend": "cuda",
		"Engine/Repository": "github.com/sgl-project/sglang", "Engine/Build": "cuda-13.2", "Engine/Commit": "1093c501dfef",
		"Run/Served model": "gemma", "Run/Revision": "main", "Run/Benchmark tool": "llm-inference-bench v0.7.6", "Run/Decode test": "Fixed duration",
		"Run/Prefill mode": "Measured during decode warm-up", "Run/Time per measurement": "30 s", "Run/Max output": "4,096 tokens",
	} {
		check(key, facts[key], want)
	}
	if !strings.HasPrefix(p.Launch, `"$HOME/env_`) || !strings.Contains(seedtest.Text, "\n"+p.Launch+"\n") {
		t.Errorf("launch command %q is not the seed's", p.Launch)
	}
}

// TestRevisionIsMarked tells a branch from a commit.
func TestRevisionIsMarked(t *testing.T) {
	check := func(revision, want string) {
		t.Helper()
		s := seedtest.Run()
		s.Facts.Model["revision"] = revision
		for _, table := range newRun(t, s).Facts {
			for _, f := range table.Facts {
				if f.Term == "Revision" && f.Note != want {
					t.Errorf("revision %q has the note %q, want %q", revision, f.Note, want)
				}
			}
		}
	}
	check("main", "branch, not pinned")
	check("0123456789abcdef0123456789abcdef01234567", "")
}

func TestZeroCompletedSaysWhy(t *testing.T) {
	p := newRun(t, seedtest.Run())
	for _, r := range p.Rows {
		zero := r.Completed.Text == "0"
		if zero != (r.ZeroWhy != "") {
			t.Errorf("row %s completed %s and says %q", r.ID, r.Completed.Text, r.ZeroWhy)
		}
		if r.ID == "decode-8k-32" && r.ZeroWhy != "an answer of 4,096 tokens at 113.8 tok/s takes 36.0 s, longer than the window of 30.0 s" {
			t.Errorf("row %s says %q", r.ID, r.ZeroWhy) // 4096 / 113.8 = 35.99
		}
	}
	if !strings.HasPrefix(p.ZeroNote, "Completed requests 0:") {
		t.Errorf("note %q", p.ZeroNote)
	}
}

// TestFailedCellsAreToldFromSlowOnes: a cell that failed completed nothing for that reason, and 0 tok/s has no place on a
// logarithmic scale.
func TestFailedCellsAreToldFromSlowOnes(t *testing.T) {
	s := seedtest.Run()
	nothing, none := 0.0, 0
	c := &s.Decode[0]
	c.Status, c.TokS, c.PerRequestTokS, c.CompletedRequests = event.Failed, &nothing, nil, &none
	c.Failures = []summary.Count{{Kind: "server-error", N: 5}}
	p := newRun(t, s)
	row := p.Rows[slices.IndexFunc(p.Rows, func(r page.Row) bool { return r.ID == "decode-8k-1" })]
	if row.ZeroWhy != "no request finished inside the window: 5 server-error" {
		t.Errorf("the failed row says %q", row.ZeroWhy)
	}
	if !strings.HasSuffix(p.ZeroNote, "Where it is for another reason, they give that.") {
		t.Errorf("note %q", p.ZeroNote)
	}
	if square := p.Matrix.Rows[0].Cells[0]; square.Heat != "" || !square.Shown {
		t.Errorf("the failed square: %+v", square)
	}
	if p.Matrix.Low.Text != "42.4" {
		t.Errorf("the scale begins at %s", p.Matrix.Low.Text)
	}
	s.Decode = s.Decode[:1]
	if p := newRun(t, s); p.ZeroNote != "Completed requests 0: no request ended inside the window; the row's details say why." {
		t.Errorf("note of failed cells alone: %q", p.ZeroNote)
	}
}

// TestReproduceCommandsFitTogether: the engine listens where the run asks, and no path of the machine that measured is told.
func TestReproduceCommandsFitTogether(t *testing.T) {
	s := seedtest.Run()
	s.Facts.Engine[event.KeySimulated] = true
	s.Facts.Tool = event.Tool{Name: "speedmatrix measure", Flags: []string{"--info=i.toml", "--out=/home/x", "--seed=1", "--url=http://127.0.0.1:33827/v1"}}
	s.Facts.Launch.Command = "./measure simulate --profile fast --listen 127.0.0.1:0"
	want := []string{"measure simulate --profile fast --listen 127.0.0.1:33827", "measure run --seed=1 --url=http://127.0.0.1:33827/v1"}
	if got := newRun(t, s).Reproduce; !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
}

// TestTTFTKindIsNamed holds the footnote about warm prompts back where it is not true, and names kinds that differ.
func TestTTFTKindIsNamed(t *testing.T) {
	s := seedtest.Run()
	s.Decode[0].TTFTKind = summary.Uncached
	m := newRun(t, s).Matrix
	if !strings.HasPrefix(m.Kind, "restart: ") || m.OtherKinds != "uncached (less than 90 % of the prompt cached)" {
		t.Errorf("kinds %q and %q", m.Kind, m.OtherKinds)
	}
	if m.Rows[0].Cells[0].Kind != "uncached" || m.Rows[0].Cells[1].Kind != "" {
		t.Errorf("cells name the kinds %q and %q", m.Rows[0].Cells[0].Kind, m.Rows[0].Cells[1].Kind)
	}
	for _, f := range m.Footnotes {
		if strings.Contains(f, "mostly excludes prefill") {
			t.Errorf("footnote %q stands although a cell is uncached", f)
		}
	}
}

func TestSimulatedRunsSaySoEverywhere(t *testing.T) {
	s := seedtest.Run()
	s.Facts.Engine["simulated"] = true
	s.Title = "Simulated engine: " + s.Title // as package summary does
	p := newRun(t, s)
	for what, got := range map[string]string{
		"title": p.Title, "description": p.Description, "citation": p.Cite.Text, "data set": p.Linked.Name, "twin": page.NewTwin(&s).Title,
		"entry": page.NewEntry(&s).Title, "image": p.ImageAlt,
	} {
		if strings.Count(got, "Simulated engine: ") != 1 {
			t.Errorf("%s is %q, want it to say once that the engine was simulated", what, got)
		}
	}
	if !p.Simulated || !p.Card.Simulated || !page.NewTwin(&s).Simulated || !page.NewEntry(&s).Simulated {
		t.Error("a model lacks the mark")
	}
}

func TestTwinIsTheContract(t *testing.T) {
	s := seedtest.Run()
	b, err := page.NewTwin(&s).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var twin map[string]any
	if err := json.Unmarshal(b, &twin); err != nil {
		t.Fatal(err)
	}
	has := func(where string, m map[string]any, keys string) {
		t.Helper()
		for _, k := range strings.Fields(keys) {
			if _, ok := m[k]; !ok {
				t.Errorf("%s lacks %q", where, k)
			}
		}
	}
	has("run.json", twin, "schema id title started state hardware engine model method launch_command prefill decode simulated")
	prefill, decode := twin["prefill"].([]any), twin["decode"].([]any)
	has("prefill", prefill[0].(map[string]any), "context label status prompt_tokens tok_s ttft_ms samples cached_tokens")
	cell := decode[2].(map[string]any)
	has("decode", cell, "context label concurrency status reason tok_s per_request_tok_s ttft_ms ttft_kind time_between_tokens_ms active_requests "+
		"completed_requests failed_requests output_tokens measured_s needed_tokens capacity_tokens")
	for k, want := range map[string]any{"context": 8192.0, "concurrency": 4.0, "tok_s": 571.3, "ttft_ms": 701.0, "ttft_kind": "restart", "output_tokens": 17136.0} {
		if cell[k] != want {
			t.Errorf("8K x 4: %s is %v, want %v", k, cell[k], want)
		}
	}
	over := decode[15].(map[string]any) // 16K x 128
	for _, k := range strings.Fields("tok_s ttft_ms ttft_kind completed_requests measured_s") {
		if over[k] != nil {
			t.Errorf("16K x 128: %s is %v, want null", k, over[k])
		}
	}
	if twin["started"] != "2026-12-01T10:15:00Z" {
		t.Errorf("started %v", twin["started"])
	}
}

func TestCSVHasTheSameNumbers(t *testing.T) {
	s := seedtest.Run()
	s.Decode[0].Reason = "=HYPERLINK(\"x\")"
	records, err := csv.NewReader(bytes.NewReader(page.CellsCSV(&s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 47 {
		t.Fatalf("%d lines, want a header and 46", len(records))
	}
	at := func(line int, column string) string { return records[line][slices.Index(records[0], column)] }
	for _, c := range []struct {
		line         int
		column, want string
	}{
		{1, "phase", "prefill"}, {1, "tok_s", "33500"}, {7, "tok_s", "153.3"}, {7, "reason", `'=HYPERLINK("x")`},
		{22, "status", "over-capacity"}, {22, "tok_s", ""}, {22, "needed_tokens", "2621440"}, // 128 x (16,384 + 4,096)
	} {
		if got := at(c.line, c.column); got != c.want {
			t.Errorf("line %d, %s is %q, want %q", c.line, c.column, got, c.want)
		}
	}
}

// TestNumbersThatAreNone holds NaN and infinities out of every output: they print as a dash and are null.
func TestNumbersThatAreNone(t *testing.T) {
	s := seedtest.Synthetic()
	nan, inf := math.NaN(), math.Inf(1)
	for i := range s.Decode {
		c := &s.Decode[i]
		c.TTFTMS, c.BetweenTokensMS, c.ScalingEfficiency, c.PerRequestTokS = &nan, &inf, &nan, &inf
		c.TTFT.Quantiles = []float64{nan}
		if c.Timeline != nil {
			c.Timeline.TokS[3] = inf
		}
	}
	s.Facts.Hardware["vram_gb"] = nan
	p := newRun(t, s)
	if r := p.Rows[6]; r.TTFT.Text != "—" || r.Between.Text != "—" || !r.TTFT.Missing() {
		t.Errorf("row %s shows %q and %q", r.ID, r.TTFT.Text, r.Between.Text)
	}
	twin, err := page.NewTwin(&s).JSON()
	if err != nil {
		t.Error(err)
	}
	for name, b := range map[string][]byte{"run.json": twin, "charts.json": page.NewCurves(&s).JSON(), "requests.json": page.NewStrips(&s).JSON()} {
		if !json.Valid(b) || bytes.Contains(b, []byte("NaN")) {
			t.Errorf("%s is not valid", name)
		}
	}
	if csv := page.CellsCSV(&s); bytes.Contains(csv, []byte("NaN")) || bytes.Contains(csv, []byte("Inf")) {
		t.Error("cells.csv holds NaN or Inf")
	}
}

// TestOddRuns builds pages of runs that lack what most have.
func TestOddRuns(t *testing.T) {
	check := func(name string, change func(*summary.Run), wantFigures int) {
		t.Helper()
		s := seedtest.Synthetic()
		change(&s)
		if got := len(newRun(t, s).Figures); got != wantFigures {
			t.Errorf("%s: %d figures, want %d", name, got, wantFigures)
		}
	}
	check("whole", func(*summary.Run) {}, 7)
	check("only prefill", func(s *summary.Run) { s.Decode = nil }, 0)
	check("nothing", func(s *summary.Run) { s.Decode, s.Prefill = nil, nil }, 0)
	check("only failed cells", func(s *summary.Run) {
		for i := range s.Decode {
			c := &s.Decode[i]
			*c = summary.Cell{Phase: c.Phase, Context: c.Context, Label: c.Label, Concurrency: c.Concurrency, Status: event.Failed,
				Failures: []summary.Count{{Kind: event.ServerError, N: 3}}}
		}
	}, 0)
	check("one cell", func(s *summary.Run) { s.Prefill, s.Decode = nil, s.Decode[:1] }, 5) // nothing over concurrency
}

func TestQueuedSaysHowManyRan(t *testing.T) {
	s := seedtest.Run()
	s.Decode[4].Status, s.Decode[4].RanRequests = event.Queued, 9
	s.Decode[5].Status, s.Decode[5].RanRequests = event.Queued, 9.5
	row := newRun(t, s).Matrix.Rows[0]
	if got := row.Cells[4].State; got.Word != "Queued" || got.Note != "ran 9 of 16" {
		t.Errorf("state %+v", got)
	}
	if got := row.Cells[5].State; got.Note != "ran 9.5 of 32" {
		t.Errorf("state %+v", got)
	}
}

func TestIDMustBeAFolderName(t *testing.T) {
	for _, id := range []string{"", "..", "../x", "a/b", "A", "a b", strings.Repeat("a", 300)} {
		s := seedtest.Run()
		s.Facts.ID = id
		if _, err := page.NewRun(&s, page.RunInput{}); err == nil {
			t.Errorf("id %q was accepted", id)
		}
	}
}

// TestPagesDependOnTheirInputAlone builds each model twice; maps are walked in another order each time.
func TestPagesDependOnTheirInputAlone(t *testing.T) {
	s := seedtest.Synthetic()
	for i, k := range []string{"zeta", "alpha", "mid", "omega", "beta"} {
		s.Facts.Hardware[k] = int64(i)
	}
	first := newRun(t, s)
	for range 20 {
		if !reflect.DeepEqual(first, newRun(t, s)) {
			t.Fatal("two models of one run differ")
		}
	}
}

func TestDownloads(t *testing.T) {
	check := func(site page.Site, want string) {
		t.Helper()
		s := seedtest.Run()
		p, err := page.NewRun(&s, page.RunInput{Site: site})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Downloads[2].Href; got != want {
			t.Errorf("requests.parquet is at %q, want %q", got, want)
		}
	}
	check(page.Site{}, "")
	check(page.Site{CopyData: true}, "requests.parquet")
	check(page.Site{DataURL: "https://example.org/results/"}, "https://example.org/results/20261201t101500z-gemma-4-e2b-it-rtx-pro-6000-sglang-1a2b3c4d/requests.parquet")
	check(page.Site{DataURL: "javascript:alert(1)"}, "")
}

func TestHomeIsNewestFirst(t *testing.T) {
	old, young := seedtest.Run(), seedtest.Run()
	old.Facts.ID, old.Facts.Started = "old", old.Facts.Started.AddDate(-1, 0, 0)
	twin := seedtest.Run()
	twin.Facts.ID = "a-twin"
	es := []page.Entry{page.NewEntry(&old), page.NewEntry(&young), page.NewEntry(&twin)}
	page.SortEntries(es)
	h := page.NewHome(es, page.Site{Title: "T"})
	var got []string
	for _, r := range h.Runs {
		got = append(got, r.Href)
	}
	want := []string{"runs/" + young.Facts.ID + "/", "runs/a-twin/", "runs/old/"}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	if r := h.Runs[0]; r.Peak.Text != "7,851.5" || r.PeakCell != "8K × 128" || r.Lone.Text != "153.3" || r.TTFT.Text != "127 ms" || r.Prefill.Text != "33.5K" {
		t.Errorf("row %+v", r)
	}
}
