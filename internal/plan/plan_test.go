package plan_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

func limits(capacity, context int64) plan.Limits {
	lim := plan.Limits{CapacitySource: "vllm:cache_config_info", ContextSource: "max_model_len"}
	if capacity > 0 {
		lim.CapacityTokens = &capacity
	}
	if context > 0 {
		lim.Context = &context
	}
	return lim
}

func build(t testing.TB, cfg plan.Config, lim plan.Limits) plan.Plan {
	t.Helper()
	p, err := plan.Build(cfg, lim)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// with changes the standard matrix.
func with(change func(*plan.Config)) plan.Config {
	cfg := plan.Standard()
	change(&cfg)
	return cfg
}

func prefill(p plan.Plan) (labels []string, contexts []int) {
	for _, c := range p.Cells {
		if c.Phase == event.Prefill {
			labels, contexts = append(labels, c.Label), append(contexts, c.Context)
		}
	}
	return labels, contexts
}

// grid writes the decode cells as one line a row: label, then r to run, c over capacity, l over length.
func grid(p plan.Plan) string {
	var b strings.Builder
	row := ""
	for _, c := range p.Cells {
		if c.Phase != event.Decode {
			continue
		}
		if c.Label != row {
			row = c.Label
			fmt.Fprintf(&b, "\n%s ", row)
		}
		b.WriteString(map[event.Status]string{event.Ran: "r", event.OverCapacity: "c", event.OverLength: "l"}[c.Status])
	}
	return strings.TrimSpace(b.String())
}

// The published page of the seed: 131,072 tokens and a cache of some 1.6 million give its 46 rows, ten of them
// over capacity, and its six prefill rows.
func TestStandardMatrixIsTheSeeds(t *testing.T) {
	p := build(t, plan.Standard(), limits(1_600_000, 131072))
	labels, contexts := prefill(p)
	if want := []string{"8K", "16K", "32K", "64K", "123K", "128K"}; !slices.Equal(labels, want) {
		t.Errorf("prefill rows %q, want %q", labels, want)
	}
	if want := []int{8192, 16384, 32768, 65536, 125952, 131007}; !slices.Equal(contexts, want) {
		t.Errorf("prefill targets %d, want %d", contexts, want)
	}
	want := "8K rrrrrrrr\n16K rrrrrrrc\n32K rrrrrrcc\n64K rrrrrccc\n123K rrrrcccc"
	if got := grid(p); got != want {
		t.Errorf("decode cells\n%s\nwant\n%s", got, want)
	}
	if n := p.Counts(); n != (plan.Counts{ToRun: 36, OverCapacity: 10}) || len(p.Cells) != 46 {
		t.Errorf("counts %+v of %d cells", n, len(p.Cells))
	}
	for _, c := range p.Cells {
		if c.Label == "16K" && c.Concurrency == 128 {
			if want := "needs 2,621,440 tokens, the KV cache holds 1,600,000 (vllm:cache_config_info)"; c.Reason != want || c.NeededTokens != 2621440 {
				t.Errorf("16K x 128: needs %d, reason %q, want %q", c.NeededTokens, c.Reason, want)
			}
		}
		if (c.Reason == "") != (c.Status == event.Ran) {
			t.Errorf("%s x %d: status %q with reason %q", c.Label, c.Concurrency, c.Status, c.Reason)
		}
	}
	if want := []int{8192, 16384, 32768, 65536, 125952}; !slices.Equal(p.Config.Contexts, want) {
		t.Errorf("contexts %d, want %d", p.Config.Contexts, want)
	}
}

func TestNeededTokens(t *testing.T) {
	check := func(change func(*plan.Config), want int64) {
		t.Helper()
		cfg := with(func(c *plan.Config) {
			c.Contexts, c.Concurrency, c.OutputTokens = []int{8192}, []int{4}, 1000
			change(c)
		})
		p := build(t, cfg, plan.Limits{})
		if got := p.Cells[len(p.Cells)-1].NeededTokens; got != want {
			t.Errorf("prompts %q, preset %q: needs %d, want %d", p.Config.Prompts, p.Config.Preset, got, want)
		}
		if got := p.Cells[0].NeededTokens; got != 8208 {
			t.Errorf("prefill needs %d, want 8208", got)
		}
	}
	check(func(c *plan.Config) { c.Prompts = event.PerStream }, 4*(8192+1000))
	check(func(c *plan.Config) { c.Prompts = event.Fresh }, 4*(8192+1000))
	check(func(c *plan.Config) { c.Prompts = event.Shared }, 8192+4*1000)
	check(func(c *plan.Config) { c.Preset = plan.PresetInferenceBench }, 4*(8192+1000))
}

func TestPreset(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.Preset = plan.PresetInferenceBench }), limits(1_600_000, 131072))
	if p.Config.Prompts != event.Shared || p.Config.Start != event.Together {
		t.Errorf("preset gives prompts %q and start %q", p.Config.Prompts, p.Config.Start)
	}
	if n := p.Counts(); n.OverCapacity != 10 {
		t.Errorf("%d cells over capacity by the preset's worst case, want the seed's 10", n.OverCapacity)
	}
}

func TestTrimming(t *testing.T) {
	check := func(limit int64, output int, contexts []int, want string) {
		t.Helper()
		cfg := with(func(c *plan.Config) { c.Contexts, c.OutputTokens, c.Concurrency = contexts, output, []int{1} })
		p := build(t, cfg, limits(0, limit))
		if got := strings.ReplaceAll(grid(p), "\n", ", "); got != want {
			t.Errorf("limit %d, output %d, contexts %d: %s, want %s", limit, output, contexts, got, want)
		}
	}
	check(131072, 4096, []int{131072}, "123K r")
	check(131072, 4096, []int{126000}, "126000 r")                 // fits as asked: floor(126976 x 0.995) = 126341
	check(131072, 4096, []int{126341, 126342}, "123K r, 126341 r") // one more is trimmed
	check(131072, 4096, []int{139946, 139947}, "123K r, 139947 l") // 90 % of it is 125951.4 and 125952.3
	check(131072, 4096, []int{127 * 1024, 128 * 1024, 125952}, "123K r")
	check(2048, 256, []int{512, 1024, 2048, 4096}, "512 r, 1K r, 2K l, 4K l")
	check(4096, 256, []int{1024, 4096}, "1K r, 4K l")
	check(1100, 100, []int{64, 1050}, "64 r, 995 r") // room below 1 K is not floored
	check(0, 4096, []int{131072}, "128K r")
}

func TestOverLengthReason(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.Contexts, c.OutputTokens = []int{1024, 4096}, 256 }), limits(16384, 2048))
	last := p.Cells[len(p.Cells)-1]
	if want := "context 4,096 and output 256 make 4,352 tokens, the model takes 2,048 (max_model_len)"; last.Reason != want {
		t.Errorf("reason %q, want %q", last.Reason, want)
	}
	if last.NeededTokens != 128*4352 {
		t.Errorf("an over-length cell needs %d, want %d", last.NeededTokens, 128*4352)
	}
}

func TestPrefillTargets(t *testing.T) {
	check := func(limit int64, asked []int, wantLabels string, wantContexts ...int) {
		t.Helper()
		cfg := with(func(c *plan.Config) { c.Prefill, c.SkipDecode = asked, true })
		p := build(t, cfg, limits(0, limit))
		labels, contexts := prefill(p)
		if got := strings.Join(labels, ","); got != wantLabels || !slices.Equal(contexts, wantContexts) {
			t.Errorf("limit %d, prefill %d: %s %d, want %s %d", limit, asked, got, contexts, wantLabels, wantContexts)
		}
	}
	check(131072, []int{131072}, "128K", 131007)
	check(131072, []int{131007}, "131007", 131007)
	check(131072, []int{131665}, "131665", 131007) // 99.500 % of it
	check(131072, []int{131666}, "131007", 131007) // 99.4997 %
	check(131072, []int{131072, 262144}, "128K", 131007)
	check(2048, []int{512, 1024, 2048, 4096}, "512,1K,1983", 512, 1024, 1983)
	check(0, []int{4096, 1024, 4096}, "1K,4K", 1024, 4096)
	check(100, []int{512}, "512", 512) // over-length: nothing sensible fits
}

func TestNothingFits(t *testing.T) {
	check := func(limit int64, output int, contexts []int, want string) {
		t.Helper()
		cfg := with(func(c *plan.Config) { c.Contexts, c.OutputTokens = contexts, output })
		_, err := plan.Build(cfg, limits(0, limit))
		var nothing *plan.NothingFitsError
		if !errors.As(err, &nothing) || err.Error() != want {
			t.Fatalf("error %v\nwant  %s", err, want)
		}
		if len(nothing.FitContexts) == 0 {
			return
		}
		cfg.Contexts, cfg.OutputTokens = nothing.FitContexts, nothing.FitOutput
		if p := build(t, cfg, limits(0, limit)); p.Counts().OverLength > 0 {
			t.Errorf("limit %d: what it proposes does not fit", limit)
		}
	}
	check(2048, 4096, []int{8192, 16384},
		"nothing fits this server: the smallest context asked is 8K and the output 4,096 tokens, the model takes 2,048 (max_model_len) for both; try --contexts 128,256,512,1K --max-tokens 256")
	check(8192, 1024, []int{32768},
		"nothing fits this server: the smallest context asked is 32K and the output 1,024 tokens, the model takes 8,192 (max_model_len) for both; try --contexts 512,1K,2K,4K --max-tokens 1024")
	check(64, 4096, []int{8192},
		"nothing fits this server: the smallest context asked is 8K and the output 4,096 tokens, the model takes 64 (max_model_len) for both; start it with a longer context")
	if _, err := plan.Build(with(func(c *plan.Config) { c.SkipDecode = true }), limits(0, 2048)); err != nil {
		t.Errorf("prefill alone under 2,048: %v", err)
	}
}

func TestOrder(t *testing.T) {
	p := build(t, with(func(c *plan.Config) {
		c.Contexts, c.Concurrency, c.Repeats = []int{2048, 1024}, []int{2, 1}, 2
	}), limits(20000, 0))
	var got []string
	for _, s := range p.Order {
		c := p.Cells[s.Cell]
		got = append(got, fmt.Sprintf("%d:%s %s x%d", s.Repeat, c.Phase, c.Label, c.Concurrency))
	}
	want := []string{
		"0:prefill 1K x1", "0:prefill 2K x1", "0:decode 1K x1", "0:decode 1K x2", "0:decode 2K x1", "0:decode 2K x2",
		"1:prefill 1K x1", "1:prefill 2K x1", "1:decode 1K x1", "1:decode 1K x2", "1:decode 2K x1", "1:decode 2K x2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("order\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p = build(t, plan.Standard(), limits(1_600_000, 131072))
	for _, s := range p.Order {
		if p.Cells[s.Cell].Status != event.Ran {
			t.Errorf("%+v is to run, though %s", s, p.Cells[s.Cell].Status)
		}
	}
}

func TestAboveAndSkipReason(t *testing.T) {
	p := build(t, plan.Standard(), limits(1_600_000, 131072))
	for i, c := range p.Cells {
		if c.Label != "32K" || c.Concurrency != 8 || c.Phase != event.Decode {
			continue
		}
		var above []int
		for _, j := range p.Above(i) {
			if p.Cells[j].Label != "32K" {
				t.Errorf("above 32K x 8: %s", p.Cells[j].Label)
			}
			above = append(above, p.Cells[j].Concurrency)
		}
		if !slices.Equal(above, []int{16, 32}) { // 64 and 128 are over capacity and stay so
			t.Errorf("above 32K x 8: %d, want 16 and 32", above)
		}
		check := func(status event.Status, want string) {
			t.Helper()
			if got := plan.SkipReason(c, status, 4); got != want {
				t.Errorf("reason %q, want %q", got, want)
			}
		}
		check(event.Queued, "skipped: 8 requests at once already queued (ran 4 of 8)")
		check(event.Unready, "skipped: 8 requests at once already got no token in time")
		check(event.Failed, "skipped: 8 requests at once already failed")
	}
	if got, want := plan.SkipReason(event.Cell{Concurrency: 1}, event.Failed, 0), "skipped: 1 request already failed"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
}

func TestStaggerOffsets(t *testing.T) {
	for _, c := range []int{1, 2, 7, 128} {
		got := plan.StaggerOffsets(c, 5)
		if !reflect.DeepEqual(got, plan.StaggerOffsets(c, 5)) {
			t.Errorf("%d streams: the offsets of one seed differ", c)
		}
		sorted := slices.Clone(got)
		slices.Sort(sorted)
		for i, u := range sorted {
			if want := (float64(i) + 0.5) / float64(c); math.Abs(u-want) > 1e-12 {
				t.Errorf("%d streams: offset %v, want %v", c, u, want)
			}
		}
	}
	if reflect.DeepEqual(plan.StaggerOffsets(64, 1), plan.StaggerOffsets(64, 2)) {
		t.Error("two seeds give one order")
	}
	if got := plan.StaggerOffsets(0, 1); got != nil {
		t.Errorf("no stream: %v", got)
	}
}

func TestEstimate(t *testing.T) {
	small := func(change func(*plan.Config)) plan.Plan {
		return build(t, with(func(c *plan.Config) {
			c.Contexts, c.Concurrency, c.OutputTokens, c.Start = []int{1000}, []int{1, 4}, 200, event.Together
			c.Duration = 10 * time.Second
			change(c)
		}), plan.Limits{})
	}
	check := func(name string, p plan.Plan, rate float64, newTokens, sent int64, d time.Duration) {
		t.Helper()
		e := plan.Estimate(p, rate)
		if e.NewTokens != newTokens || e.SentTokens != sent || e.Duration != d {
			t.Errorf("%s: %d new, %d sent, %s; want %d, %d, %s", name, e.NewTokens, e.SentTokens, e.Duration, newTokens, sent, d)
		}
		if e.PrefillUnknown != (rate == 0) {
			t.Errorf("%s: prefill unknown is %v", name, e.PrefillUnknown)
		}
	}
	// Cold samples: 3 x 1000. Decode x1: a scout, 1 + 6 requests. x4: 3 new scouts, 4 + 6 requests.
	const decode = 2 * (10 + 3 + 15) * time.Second
	check("per stream", small(func(*plan.Config) {}), 100, 3000+4*1000, 3000+4*1000+17*1000, decode+70*time.Second)
	check("rate unknown", small(func(*plan.Config) {}), 0, 7000, 24000, decode)
	check("shared", small(func(c *plan.Config) { c.Prompts = event.Shared }), 0, 3000+1000, 3000+1000+17*1000, decode)
	check("fresh", small(func(c *plan.Config) { c.Prompts = event.Fresh }), 0, 3000+17*1000, 3000+17*1000, decode)
	// Staggered: the first requests carry 1 x 100 and 4 x 100 tokens more.
	check("staggered", small(func(c *plan.Config) { c.Start = event.Staggered }), 0, 7500, 24500, decode)
	// A second repeat has prompts of its own.
	check("two repeats", small(func(c *plan.Config) { c.Repeats = 2 }), 0, 14000, 48000, 2*decode)
	// At 10 tok/s a sample takes 100 s: one is all there is time for.
	check("slow", small(func(c *plan.Config) { c.SkipDecode = true }), 10, 1000, 1000, 100*time.Second)
	// At 40 tok/s a sample takes 25 s: 50 s are spent after two, so a third is taken.
	check("three within budget", small(func(c *plan.Config) { c.SkipDecode = true }), 40, 3000, 3000, 75*time.Second)

	if e := plan.Estimate(small(func(c *plan.Config) { c.Prompts = event.Fresh }), 0); !e.AtLeast {
		t.Error("fresh prompts: the restarts of the window bring more")
	}
}

// The figure that DESIGN gives for an endpoint of unknown capacity: some 32 million tokens of scouts.
func TestEstimateOfAPaidEndpoint(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.Start = event.Together }), limits(0, 131072))
	e := plan.Estimate(p, 0)
	const scouts, cold = 128 * (8192 + 16384 + 32768 + 65536 + 125952), 3 * (8192 + 16384 + 32768 + 65536 + 125952 + 131007)
	if e.NewTokens != scouts+cold {
		t.Errorf("%d tokens, want %d", e.NewTokens, scouts+cold)
	}
	if scouts < 31_500_000 || scouts > 32_500_000 {
		t.Errorf("scouts of %d tokens, want about 32 million", scouts)
	}
}

func TestTable(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.PrefillTokS, c.Repeats = 20000, 2 }), limits(1_600_000, 131072))
	rows, e := p.Table(), plan.Estimate(p, 20000)
	var sum time.Duration
	var tokens int64
	for i, r := range rows {
		c := p.Cells[i]
		if r.Cell != i || r.Label != c.Label || r.Status != c.Status || r.NeededTokens != c.NeededTokens || *r.CapacityTokens != 1_600_000 {
			t.Errorf("row %d: %+v of cell %+v", i, r, c)
		}
		if (r.Expected == 0) != (c.Status != event.Ran) {
			t.Errorf("row %d: status %q takes %s", i, r.Status, r.Expected)
		}
		sum += r.Expected
		tokens += r.NewTokens
	}
	if sum != e.Duration || tokens != e.NewTokens {
		t.Errorf("the rows take %s and %d tokens, the whole %s and %d", sum, tokens, e.Duration, e.NewTokens)
	}
}

func TestShort(t *testing.T) {
	p := build(t, with(func(c *plan.Config) { c.Start = event.Together }), limits(1_600_000, 131072))
	// Scouts: 128 x 8K, 64 x 16K, 32 x 32K, 16 x 64K (1,048,576 each) and 8 x 123K; cold samples 3 x 379,839.
	// Time: 30 cells of 48 s, and 6,341,437 tokens at 10,000 a second.
	got := p.Short(plan.Estimate(p, 10000))
	if want := "36 cells to run, 10 over capacity, 0 over length; 6,341,437 prompt tokens to prefill, "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q…", got, want)
	}
	if want := "; about 35 min"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want …%q", got, want)
	}
	if got := p.Short(plan.Estimate(p, 0)); !strings.HasSuffix(got, "; about 24 min and the time of prefill, which is not known yet") {
		t.Errorf("%q", got)
	}
}

func TestMethodAndCapacity(t *testing.T) {
	p := build(t, plan.Standard(), limits(1_600_000, 131072))
	m := p.Method()
	if m.DurationS != 30 || m.OutputTokens != 4096 || m.Prompts != event.PerStream || m.Contexts[4] != 125952 || m.Prefill[5] != 131007 {
		t.Errorf("method %+v", m)
	}
	c := p.Limits.Capacity()
	if *c.Tokens != 1_600_000 || *c.Limit != 131072 || c.Source != "vllm:cache_config_info" || c.LimitSource != "max_model_len" {
		t.Errorf("capacity %+v", c)
	}
}

func TestBuildRefuses(t *testing.T) {
	zero := int64(0)
	_, err := plan.Build(plan.Standard(), plan.Limits{CapacityTokens: &zero, Context: &zero, CapacitySource: "/props"})
	if err == nil || !strings.Contains(err.Error(), "KV cache of 0 tokens (/props)") || !strings.Contains(err.Error(), "--max-model-len") {
		t.Errorf("limits of 0: %v", err)
	}
	if _, err := plan.Build(plan.Config{}, plan.Limits{}); err == nil {
		t.Error("zero config: want an error")
	}
}

func TestBuildLeavesTheConfigAlone(t *testing.T) {
	cfg := with(func(c *plan.Config) { c.Contexts, c.Prefill = []int{16384, 8192}, []int{4096, 1024} })
	build(t, cfg, limits(0, 131072))
	if cfg.Contexts[0] != 16384 || cfg.Prefill[0] != 4096 {
		t.Error("Build sorted the caller's lists")
	}
}
