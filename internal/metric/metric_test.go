package metric_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
)

func ptr[T any](v T) *T { return &v }

// reference is the reference stream: started 1 s after the epoch, 20 tokens, the first at 50 ms, then one every 10 ms, so the
// last at 240 ms; the server lingers until 740 ms.
func reference() *event.Request {
	r := &event.Request{
		StartUS: 1_000_000, EndUS: ptr(int64(740_000)), Outcome: event.OK, FinishReason: ptr("length"),
		PromptTokens: ptr(int32(8207)), CachedTokens: ptr(int32(7)), AskedTokens: 20, OutputTokens: ptr(int32(20)),
	}
	for i := range int64(20) {
		r.ChunkUS = append(r.ChunkUS, 50_000+10_000*i)
		r.ChunkTokens = append(r.ChunkTokens, 1)
	}
	return r
}

var whole = metric.Window{StartUS: 0, EndUS: 10_000_000}

func TestReferenceStream(t *testing.T) {
	r := reference()
	if us, ok := metric.TTFT(r); !ok || us != 50_000 {
		t.Errorf("TTFT = %d, %v, want 50 ms", us, ok)
	}
	if us, ok := metric.EndToEnd(r); !ok || us != 240_000 {
		t.Errorf("EndToEnd = %d, %v, want 240 ms: the lingering is not part of it", us, ok)
	}
	if us, ok := metric.TTFO(r); ok {
		t.Errorf("TTFO = %d, want unknown", us)
	}
	r.VisibleUS = ptr(int64(150_000))
	if us, ok := metric.TTFO(r); !ok || us != 150_000 {
		t.Errorf("TTFO = %d, %v, want 150 ms", us, ok)
	}
	// (8,207 - 7) tokens in 50 ms.
	if rate, ok := metric.PrefillTokS(r); !ok || rate != 164_000 {
		t.Errorf("PrefillTokS = %v, %v, want 164,000", rate, ok)
	}
	if us, ok := metric.TimeBetweenTokens(r, whole); !ok || us != 10_000 {
		t.Errorf("TimeBetweenTokens = %v, %v, want 10 ms", us, ok)
	}
	if n := metric.TokensIn(r, whole); n != 20 {
		t.Errorf("TokensIn = %d, want 20", n)
	}
	if us := metric.ActiveUS(r, whole); us != 190_000 {
		t.Errorf("ActiveUS = %d, want 190 ms: from the first to the last token", us)
	}
	if !metric.Completed(r, whole) || metric.StoppedEarly(r) {
		t.Error("the request did not complete, or stopped early")
	}
}

// TestTokensPerChunk: with several tokens a chunk, divide by the tokens after the first chunk.
func TestTokensPerChunk(t *testing.T) {
	r := reference()
	r.ChunkUS = []int64{50_000, 90_000, 130_000, 170_000, 210_000}
	r.ChunkTokens = []int32{4, 4, 4, 4, 4}
	// (210 - 50) ms / (20 - 4) tokens.
	if us, ok := metric.TimeBetweenTokens(r, whole); !ok || us != 10_000 {
		t.Errorf("four a chunk: %v, %v, want 10 ms", us, ok)
	}
	r.ChunkTokens = []int32{16, 1, 1, 1, 1}
	if us, ok := metric.TimeBetweenTokens(r, whole); !ok || us != 40_000 {
		t.Errorf("a bundle first: %v, %v, want 160 ms / 4", us, ok)
	}
}

func TestTimeBetweenTokensDoesNotExist(t *testing.T) {
	none := func(name string, us []int64, tokens []int32, w metric.Window) {
		t.Helper()
		r := &event.Request{ChunkUS: us, ChunkTokens: tokens}
		if v, ok := metric.TimeBetweenTokens(r, w); ok || v != 0 {
			t.Errorf("%s: %v, %v, want none", name, v, ok)
		}
	}
	none("no chunk", nil, nil, whole)
	none("one chunk", []int64{10}, []int32{5}, whole)
	none("one chunk in the window", []int64{10, 20}, []int32{1, 1}, metric.Window{StartUS: 10, EndUS: 30})
	none("no token after the first chunk", []int64{10, 20}, []int32{5, 0}, whole)
	none("one arrival for all", []int64{10, 10, 10}, []int32{1, 1, 1}, whole)
}

// TestWindowEdges: what arrives at the start is outside, at the end inside.
func TestWindowEdges(t *testing.T) {
	r := reference() // tokens at 1,050 … 1,240 ms
	check := func(startMS, endMS, tokens int64, completed bool) {
		t.Helper()
		w := metric.Window{StartUS: 1000 * startMS, EndUS: 1000 * endMS}
		if n := metric.TokensIn(r, w); n != tokens {
			t.Errorf("(%d, %d]: %d tokens, want %d", startMS, endMS, n, tokens)
		}
		if got := metric.Completed(r, w); got != completed {
			t.Errorf("(%d, %d]: completed %v, want %v", startMS, endMS, got, completed)
		}
	}
	check(1050, 1240, 19, true)
	check(1049, 1240, 20, true)
	check(1050, 1239, 18, false)
	check(1240, 2000, 0, false)
	check(1239, 1240, 1, true)
	check(0, 1050, 1, false)
	check(0, 1049, 0, false)
	check(1100, 1100, 0, false)
	check(1200, 1100, 0, false)
}

func TestCompleted(t *testing.T) {
	check := func(name string, change func(*event.Request)) {
		t.Helper()
		r := reference()
		change(r)
		if metric.Completed(r, whole) {
			t.Errorf("%s: completed", name)
		}
	}
	check("cut by us", func(r *event.Request) { r.Outcome = event.Stopped; r.FinishReason = nil })
	check("reset", func(r *event.Request) { r.Outcome = event.Reset })
	check("no finish reason", func(r *event.Request) { r.FinishReason = nil })
	check("no token", func(r *event.Request) { r.ChunkUS, r.ChunkTokens = nil, nil })
}

func TestStoppedEarly(t *testing.T) {
	r := reference()
	r.FinishReason, r.ChunkUS, r.ChunkTokens, r.OutputTokens = ptr("stop"), r.ChunkUS[:10], r.ChunkTokens[:10], nil
	if !metric.StoppedEarly(r) {
		t.Error("10 of 20 tokens by stop is no early stop")
	}
	r.FinishReason = ptr("length")
	if metric.StoppedEarly(r) {
		t.Error("an end by length is an early stop")
	}
	r.FinishReason, r.OutputTokens = ptr("stop"), ptr(int32(20))
	if metric.StoppedEarly(r) {
		t.Error("the server counted all 20 tokens: no early stop")
	}
}

func TestActiveMean(t *testing.T) {
	// Window (1 s, 2 s]. The first is active from 0.5 s to 1.5 s: 0.5 s of it. The second is cut by us at 3 s, its first token
	// being at 1.2 s: 0.8 s. The third waits all the time. The fourth failed at 1.4 s after a first token at 1.1 s: 0.3 s.
	requests := []*event.Request{
		{StartUS: 400_000, ChunkUS: []int64{100_000, 1_100_000}, Outcome: event.OK, EndUS: ptr(int64(5_000_000))},
		{StartUS: 1_000_000, ChunkUS: []int64{200_000, 900_000}, Outcome: event.Stopped, EndUS: ptr(int64(2_000_000))},
		{StartUS: 0, Outcome: event.Stopped, EndUS: ptr(int64(9_000_000))},
		{StartUS: 1_000_000, ChunkUS: []int64{100_000}, Outcome: event.Reset, EndUS: ptr(int64(400_000))},
	}
	got, ok := metric.ActiveMean(requests, metric.Window{StartUS: 1_000_000, EndUS: 2_000_000})
	if want := 0.5 + 0.8 + 0.3; !ok || math.Abs(got-want) > 1e-12 {
		t.Errorf("ActiveMean = %v, %v, want %v", got, ok, want)
	}
	if _, ok := metric.ActiveMean(requests, metric.Window{StartUS: 5, EndUS: 5}); ok {
		t.Error("a window without length has a mean")
	}
}

func TestPrefillTokSDoesNotExist(t *testing.T) {
	none := func(name string, change func(*event.Request)) {
		t.Helper()
		r := reference()
		change(r)
		if v, ok := metric.PrefillTokS(r); ok {
			t.Errorf("%s: %v", name, v)
		}
	}
	none("no token", func(r *event.Request) { r.ChunkUS = nil })
	none("no prompt count", func(r *event.Request) { r.PromptTokens = nil })
	none("all cached", func(r *event.Request) { r.CachedTokens = r.PromptTokens })
	none("more cached than sent", func(r *event.Request) { r.CachedTokens = ptr(int32(math.MaxInt32)) })
	none("no time", func(r *event.Request) { r.ChunkUS[0] = 0 })
	r := reference()
	r.CachedTokens = nil // the server says nothing of its cache: 8,207 tokens in 50 ms
	if v, ok := metric.PrefillTokS(r); !ok || v != 164_140 {
		t.Errorf("cache unknown: %v, %v, want 164,140", v, ok)
	}
}

func TestCached(t *testing.T) {
	check := func(prompt, cached *int32, want bool) {
		t.Helper()
		if got := metric.Cached(&event.Request{PromptTokens: prompt, CachedTokens: cached}); got != want {
			t.Errorf("Cached = %v, want %v", got, want)
		}
	}
	check(ptr(int32(1000)), ptr(int32(900)), true)
	check(ptr(int32(1000)), ptr(int32(899)), false)
	check(ptr(int32(1000)), nil, true)
	check(nil, ptr(int32(0)), true)
}

// TestParts: windows that touch share nothing and lose nothing, and the gaps of a window add up to its span.
func TestParts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := &event.Request{StartUS: random.Int64N(1000), Outcome: event.Stopped}
		us := int64(0)
		for range random.IntN(60) {
			us += random.Int64N(40)
			r.ChunkUS = append(r.ChunkUS, us)
			r.ChunkTokens = append(r.ChunkTokens, random.Int32N(4))
		}
		edges := []int64{-1, random.Int64N(3000), random.Int64N(3000), random.Int64N(3000), 10_000}
		slices.Sort(edges)
		var tokens, active int64
		for i := 1; i < len(edges); i++ {
			w := metric.Window{StartUS: edges[i-1], EndUS: edges[i]}
			tokens += metric.TokensIn(r, w)
			active += metric.ActiveUS(r, w)
			var sum int64
			for _, gap := range metric.ChunkGaps(nil, r, w) {
				sum += gap
			}
			if low, high := metric.Range(r, w); high > low && sum != r.ChunkUS[high-1]-r.ChunkUS[low] {
				t.Fatalf("gaps in %v add up to %d", w, sum)
			}
		}
		if tokens != r.Tokens() {
			t.Fatalf("the parts have %d tokens, the whole %d", tokens, r.Tokens())
		}
		if all := metric.ActiveUS(r, metric.Window{StartUS: -1, EndUS: 10_000}); active != all {
			t.Fatalf("the parts are active for %d µs, the whole for %d", active, all)
		}
	}
}

func TestCatalogue(t *testing.T) {
	anchor := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	once := func(what, key string) {
		t.Helper()
		if seen[what+key] {
			t.Errorf("%s %q stands twice", what, key)
		}
		seen[what+key] = true
	}
	for _, m := range metric.Catalogue() {
		once("id", string(m.ID))
		once("anchor", m.Slug)
		once("name", m.Name)
		if !anchor.MatchString(m.Slug) {
			t.Errorf("%s: anchor %q", m.ID, m.Slug)
		}
		if m.Definition == "" || m.Formula == "" || m.Better == "" || m.Scope == "" {
			t.Errorf("%s is not complete: %+v", m.ID, m)
		}
		if found, ok := metric.Lookup(m.ID); !ok || found != m {
			t.Errorf("Lookup(%s) = %v, %v", m.ID, found, ok)
		}
	}
	// The rows of METRICS.md's table.
	for _, column := range []string{"TTFT", "TTFO", "Prefill tok/s", "Total tok/s", "Time between tokens", "Per request tok/s", "Time between chunks",
		"Average active requests", "Completed requests", "Output tokens", "Measured for", "Whole-cell tok/s", "End to end", "Scaling efficiency"} {
		if !seen["name"+column] {
			t.Errorf("no metric has the column %q", column)
		}
	}
	for _, terms := range [][]metric.Term{metric.TTFTKinds(), metric.Statuses(), metric.TokenSources(), metric.Clocks(), metric.Outcomes()} {
		for _, term := range terms {
			once("anchor", term.Slug)
			if !anchor.MatchString(term.Slug) || term.Name == "" || term.Definition == "" {
				t.Errorf("term %+v is not complete", term)
			}
		}
	}
	for _, w := range metric.Warnings() {
		once("warning", string(w.ID))
		once("anchor", w.Slug)
		if !anchor.MatchString(w.Slug) || !strings.HasSuffix(w.Sentence, ".") && !strings.HasSuffix(w.Sentence, "{reason}") {
			t.Errorf("warning %+v is not complete", w)
		}
	}
	if _, ok := metric.Lookup("nonsense"); ok {
		t.Error("Lookup finds what is not there")
	}
}

// TestSentencesQuoteTheBounds: a bound that changes must change in the words too.
func TestSentencesQuoteTheBounds(t *testing.T) {
	percent := func(share float64) string { return strconv.FormatFloat(100*share, 'f', -1, 64) + " %" }
	words := map[string]string{}
	for _, w := range metric.Warnings() {
		words[string(w.ID)] = w.Sentence
	}
	for _, s := range append(metric.Statuses(), metric.TTFTKinds()...) {
		words[s.ID] = s.Definition
	}
	for _, m := range metric.Catalogue() {
		words[string(m.ID)] = m.Definition
	}
	for id, quote := range map[string]string{
		string(metric.FewRestarts): strconv.Itoa(metric.MinRestarts) + " or more",
		string(metric.FewSamples):  strconv.Itoa(metric.MinPrefillSamples) + " are wanted",
		string(metric.ShortWindow): "fewer than " + strconv.Itoa(metric.MinWindowTokens),
		string(metric.Drift):       percent(metric.MaxDrift),
		string(metric.PromptOff):   percent(metric.MaxPromptOff),
		"failed":                   percent(metric.MaxFailedShare),
		"valid":                    percent(metric.MaxFailedShare),
		"uncached":                 percent(metric.MinCachedShare),
		"restart":                  strconv.Itoa(metric.MinRestarts) + " or more",
		string(metric.IDInterval):  strconv.Itoa(metric.MinRepeats) + " or more",
		string(metric.IDMeasured):  strconv.Itoa(metric.MinWindowTokens) + " tokens",
	} {
		if !strings.Contains(words[id], quote) {
			t.Errorf("%s does not say %q: %s", id, quote, words[id])
		}
	}
	bound := words["client-bound"]
	for _, quote := range []string{percent(metric.MaxCPUShare), percent(metric.MaxMergedShare), percent(metric.MaxLagShare), "1 ms"} {
		if !strings.Contains(bound, quote) {
			t.Errorf("client-bound does not say %q: %s", quote, bound)
		}
	}
}

func TestWarningText(t *testing.T) {
	check := func(want string, id metric.WarningID, pairs ...string) {
		t.Helper()
		if got, ok := metric.WarningText(id, pairs...); !ok || got != want {
			t.Errorf("WarningText(%s) = %q, %v, want %q", id, got, ok, want)
		}
	}
	check("TTFT rests on 3 restarts; 6 or more are wanted.", metric.FewRestarts, "n", "3")
	check("TTFT rests on 1 restart; 6 or more are wanted.", metric.FewRestarts, "n", "1")
	// A value from a file is not read as a word in braces.
	check("Tokens were counted in more than one way: {n}.", metric.MixedSources, "list", "{n}", "n", "9")
	if text, ok := metric.WarningText("nonsense"); ok {
		t.Errorf("an unknown warning says %q", text)
	}
}

// FuzzRequest: no function panics on any record, and what exists is finite and not negative.
func FuzzRequest(f *testing.F) {
	f.Add(int64(0), int64(50), int64(60), int32(1), int32(2), int64(0), int64(100), int64(10))
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), int32(-1), int32(math.MaxInt32), int64(math.MinInt64), int64(math.MaxInt64), int64(-1))
	f.Fuzz(func(t *testing.T, start, first, last int64, n, m int32, from, to, end int64) {
		for _, r := range []*event.Request{
			{StartUS: start, ChunkUS: []int64{first, last}, ChunkTokens: []int32{n, m}, PromptTokens: &n, CachedTokens: &m, EndUS: &end},
			{StartUS: start, ChunkUS: []int64{first, last}, ChunkTokens: []int32{n}, PromptTokens: &m, Outcome: event.OK, FinishReason: ptr("stop")},
			{StartUS: start, ChunkTokens: []int32{n}, VisibleUS: &first, EndUS: &end, CachedTokens: &n},
		} {
			w := metric.Window{StartUS: from, EndUS: to}
			for name, value := range map[string]func() (float64, bool){
				"PrefillTokS":       func() (float64, bool) { return metric.PrefillTokS(r) },
				"TimeBetweenTokens": func() (float64, bool) { return metric.TimeBetweenTokens(r, w) },
				"ActiveMean":        func() (float64, bool) { return metric.ActiveMean([]*event.Request{r}, w) },
			} {
				if v, ok := value(); ok && !(v >= 0 && !math.IsInf(v, 0)) {
					t.Errorf("%s = %v of %+v", name, v, r)
				}
			}
			metric.TokensIn(r, w)
			metric.Completed(r, w)
			metric.StoppedEarly(r)
			metric.Cached(r)
			metric.ChunkGaps(nil, r, w)
		}
	})
}
