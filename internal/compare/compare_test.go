package compare_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/page/seedtest"
	"speedmatrix/internal/summary"
)

// one is a run of one valid decode cell with the rate and its interval.
func one(rate float64, i *summary.Interval) compare.Run {
	run := compare.Of(&summary.Run{Facts: event.Run{ID: "x", Tool: event.Tool{Method: 1},
		Method: event.Method{Prompts: event.PerStream, Start: event.Staggered, OutputTokens: 4096}}})
	run.Cells = []compare.Cell{{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 4, Status: event.Valid, TokS: &rate, Interval: i}}
	return run
}

func repeats(low, high float64) *summary.Interval {
	return &summary.Interval{Low: low, High: high, Repeats: 3}
}

func within(low, high float64) *summary.Interval { return &summary.Interval{Low: low, High: high} }

func TestVerdict(t *testing.T) {
	check := func(name string, a, b compare.Run, want compare.Verdict) {
		t.Helper()
		if got := compare.Runs(a, b).Cells[0]; got.Verdict != want {
			t.Errorf("%s: %q (%s), want %q", name, got.Verdict, got.Why, want)
		}
	}
	check("beyond 10 %", one(100, nil), one(110.1, nil), compare.Faster)
	check("just 10 %", one(100, nil), one(110, nil), compare.NoDiff)
	check("9 % less, no repeats", one(100, nil), one(91, nil), compare.NoDiff)
	check("one eleventh less and a bit", one(100, nil), one(90.9, nil), compare.Slower)
	check("a narrow interval within the runs decides nothing", one(100, within(99.9, 100.1)), one(105, within(104.9, 105.1)), compare.NoDiff)
	check("repeats that do not overlap", one(100, repeats(99, 101)), one(105, repeats(104, 106)), compare.Faster)
	check("repeats that overlap", one(100, repeats(95, 105)), one(103, repeats(98, 108)), compare.NoDiff)
	check("wide repeats beyond 10 %", one(100, repeats(70, 130)), one(115, repeats(85, 145)), compare.NoDiff)
	check("repeats on one side only", one(100, repeats(99, 101)), one(105, within(104, 106)), compare.NoDiff)
	check("no rate", one(0, nil), one(1, nil), compare.NotCompared)
}

// 100 (98 to 102) and 110 (107.8 to 112.2) from three repeats: half widths of the logarithms are ln(102/98)/2 = 0.020003 each,
// together 0.028288; the ratio 1.1 lies between 1.1 e^-0.028288 = 1.06932 and 1.1 e^0.028288 = 1.13156.
func TestIntervalByHand(t *testing.T) {
	p := compare.Runs(one(100, repeats(98, 102)), one(110, repeats(107.8, 112.2))).Cells[0]
	if p.Ratio == nil || p.Low == nil || math.Abs(*p.Ratio-1.1) > 1e-12 || math.Abs(*p.Low-1.06932) > 1e-5 || math.Abs(*p.High-1.13156) > 1e-5 {
		t.Errorf("ratio %v, low %v, high %v", *p.Ratio, *p.Low, *p.High)
	}
}

// Exchanging the runs inverts every ratio and every verdict.
func TestSymmetry(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	inverse := map[compare.Verdict]compare.Verdict{compare.Faster: compare.Slower, compare.Slower: compare.Faster, compare.NoDiff: compare.NoDiff}
	for range 2000 {
		a, b := 50+100*random.Float64(), 50+100*random.Float64()
		wa, wb := 1+0.2*random.Float64(), 1+0.2*random.Float64()
		i, j := &summary.Interval{Low: a / wa, High: a * wa, Repeats: random.IntN(5)}, &summary.Interval{Low: b / wb, High: b * wb, Repeats: random.IntN(5)}
		there, back := compare.Runs(one(a, i), one(b, j)).Cells[0], compare.Runs(one(b, j), one(a, i)).Cells[0]
		if back.Verdict != inverse[there.Verdict] {
			t.Fatalf("%v and %v: %s there, %s back", a, b, there.Verdict, back.Verdict)
		}
		if math.Abs(*there.Ratio**back.Ratio-1) > 1e-12 || math.Abs(*there.Low**back.High-1) > 1e-12 {
			t.Fatalf("%v and %v: ratio %v and %v, low %v, high %v", a, b, *there.Ratio, *back.Ratio, *there.Low, *back.High)
		}
		if !(*there.Low <= *there.Ratio && *there.Ratio <= *there.High) {
			t.Fatalf("ratio %v lies outside of %v to %v", *there.Ratio, *there.Low, *there.High)
		}
	}
}

// Runs of another method are not divided, whatever their rates.
func TestRefusals(t *testing.T) {
	check := func(change func(*event.Run), cell func(*summary.Cell), want string) {
		t.Helper()
		a, other := seedtest.Synthetic(), seedtest.Synthetic()
		if change != nil {
			change(&other.Facts)
		}
		for i := range other.Decode {
			if cell != nil && other.Decode[i].TokS != nil {
				cell(&other.Decode[i])
			}
		}
		r := compare.Runs(compare.Of(&a), compare.Of(&other))
		if !strings.Contains(strings.Join(r.Refusals, "; "), want) {
			t.Errorf("refusals %q, want one with %q", r.Refusals, want)
		}
		for _, p := range r.Cells {
			if p.Ratio != nil || p.Verdict != compare.NotCompared {
				t.Fatalf("%s: %s has the ratio %v, verdict %q", want, p.A.Label, *p.Ratio, p.Verdict)
			}
		}
	}
	check(func(r *event.Run) { r.Method.Prompts = event.Fresh }, nil, "prompts differ: shared and fresh")
	check(func(r *event.Run) { r.Method.Start = event.Staggered }, nil, "start")
	check(func(r *event.Run) { r.Method.OutputTokens = 1024 }, nil, "4096 and 1024 tokens")
	check(func(r *event.Run) { r.Tool.Method = 2 }, nil, "method differs: 1 and 2")
	check(func(r *event.Run) { r.Engine["simulated"] = true }, nil, "simulated")
	check(nil, func(c *summary.Cell) { c.TokenSource = event.ByChunks }, "counted differently")
}

// How a prefill row's answers of a few tokens were counted is no difference of method: its rate is of prompt tokens. A run whose decode
// cells tell nothing contradicts none.
func TestCountingIsOfDecode(t *testing.T) {
	a, prefill, silent := seedtest.Synthetic(), seedtest.Synthetic(), seedtest.Synthetic()
	for i := range prefill.Prefill {
		prefill.Prefill[i].TokenSource = event.ByChunks
	}
	for i := range silent.Decode {
		silent.Decode[i].TokenSource = ""
	}
	for name, other := range map[string]summary.Run{"prefill": prefill, "silent": silent} {
		if r := compare.Runs(compare.Of(&a), compare.Of(&other)); len(r.Refusals) > 0 {
			t.Errorf("%s: refusals %q", name, r.Refusals)
		}
	}
}

func TestSeedAgainstItself(t *testing.T) {
	a, b := seedtest.Synthetic(), seedtest.Synthetic()
	b.Facts.ID, b.Facts.Engine["version"] = "b", "0.6.0"
	b.Decode[0].Status = event.Queued
	b.Decode = b.Decode[:len(b.Decode)-1]
	r := compare.Runs(compare.Of(&a), compare.Of(&b))
	if len(r.Refusals) > 0 || len(r.Differences) != 1 || r.Differences[0].Key != "engine.version" || r.Differences[0].B != "0.6.0" {
		t.Errorf("refusals %q, differences %+v", r.Refusals, r.Differences)
	}
	if len(r.Cells) != 46 || r.Count(compare.NoDiff) != 35 || r.Count(compare.NotCompared) != 11 {
		t.Errorf("%d cells, %d without difference, %d not compared", len(r.Cells), r.Count(compare.NoDiff), r.Count(compare.NotCompared))
	}
	why := map[string]bool{}
	for _, p := range r.Cells {
		why[p.Why] = true
	}
	for _, want := range []string{"second run: queued", "both runs: over capacity", "only the first run has this cell"} {
		if !why[want] {
			t.Errorf("no cell says %q: %v", want, why)
		}
	}
}

// A run compared with an empty one, and hostile numbers, must not crash and give no ratio.
func TestNothingToCompare(t *testing.T) {
	s := seedtest.Synthetic()
	nan := math.NaN()
	s.Decode[0].TokS = &nan
	s.Decode[1].TokSInterval = &summary.Interval{Low: nan, High: 1}
	r := compare.Runs(compare.Of(&s), compare.Run{})
	if len(r.Cells) != 46 || r.Count(compare.NotCompared) != 46 {
		t.Errorf("%d cells, %d not compared", len(r.Cells), r.Count(compare.NotCompared))
	}
	self := compare.Runs(compare.Of(&s), compare.Of(&s))
	if self.Cells[6].Ratio != nil {
		t.Errorf("NaN has the ratio %v", *self.Cells[6].Ratio)
	}
}
