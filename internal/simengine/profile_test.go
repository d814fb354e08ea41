package simengine_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/simengine"
)

const seedProfile = "rtx-pro-6000-gemma-4-e2b"

// seedCell is a valid decode cell of the page that the profile was fitted to.
type seedCell struct {
	context, streams int
	betweenMS        float64 // time between tokens, as printed
	perRequest       float64 // tok/s
}

func seedCells() []seedCell {
	const k = 1024
	return []seedCell{
		{8 * k, 1, 6.4, 155.6}, {8 * k, 2, 6.8, 147.3}, {8 * k, 4, 6.9, 145.7}, {8 * k, 8, 6.7, 148.5},
		{8 * k, 16, 6.9, 145.2}, {8 * k, 32, 8.8, 113.8}, {8 * k, 64, 11.0, 91.0}, {8 * k, 128, 16.1, 62.3},
		{16 * k, 1, 7.6, 131.8}, {16 * k, 2, 7.9, 125.9}, {16 * k, 4, 8.0, 125.1}, {16 * k, 8, 7.8, 127.8},
		{16 * k, 16, 8.0, 125.3}, {16 * k, 32, 10.8, 92.5}, {16 * k, 64, 14.0, 71.6},
		{32 * k, 1, 10.1, 99.3}, {32 * k, 2, 10.3, 97.3}, {32 * k, 4, 10.3, 97.5}, {32 * k, 8, 10.1, 99.1},
		{32 * k, 16, 10.2, 97.9}, {32 * k, 32, 15.0, 66.9},
		{64 * k, 1, 14.8, 67.6}, {64 * k, 2, 14.8, 67.7}, {64 * k, 4, 14.6, 68.3}, {64 * k, 8, 14.4, 69.4}, {64 * k, 16, 14.5, 68.8},
		{123 * k, 1, 23.6, 42.4}, {123 * k, 2, 23.2, 43.1}, {123 * k, 4, 23.1, 43.4}, {123 * k, 8, 22.6, 44.2},
	}
}

func within(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func TestSeedProfileFitsTheDecodeCells(t *testing.T) {
	l := latency(t, seedProfile)
	cells := seedCells()
	if len(cells) != 30 {
		t.Fatalf("%d cells, want 30", len(cells))
	}
	for _, c := range cells {
		got := ms(l.Decode(c.streams, float64(c.context+2048)))
		if !within(got, 1000/c.perRequest, 0.005) || !within(got, c.betweenMS, 0.015) {
			t.Errorf("%d x %d: step %.3f ms, want %.1f ms (%.1f tok/s)", c.context, c.streams, got, c.betweenMS, c.perRequest)
		}
		// Streams that stand anywhere in their output stay within 5 %.
		for _, ahead := range []int{1024, 3072} {
			if got := ms(l.Decode(c.streams, float64(c.context+ahead))); !within(got, c.betweenMS, 0.05) {
				t.Errorf("%d x %d, %d tokens on: step %.3f ms, want %.1f ms", c.context, c.streams, ahead, got, c.betweenMS)
			}
		}
	}
}

func TestSeedProfileFitsThePrefillRows(t *testing.T) {
	l := latency(t, seedProfile)
	check := func(tokens int, want float64) {
		t.Helper()
		got := ms(l.FrontEnd(tokens, 1) + l.Prefill(0, tokens))
		if !within(got, want, 0.001) {
			t.Errorf("cold TTFT of %d tokens = %.1f ms, want %.0f", tokens, got, want)
		}
	}
	check(8192, 245)
	check(16384, 577)
	check(32768, 1536)
	check(65536, 4911)
	check(125952, 18446) // 123K
	check(131007, 19887) // 128K, less what the limit leaves no room for
}

func TestSeedProfileHoldsAllButTenCells(t *testing.T) {
	p, err := simengine.LoadProfile(seedProfile)
	if err != nil {
		t.Fatal(err)
	}
	valid := map[[2]int]bool{}
	for _, c := range seedCells() {
		valid[[2]int{c.context, c.streams}] = true
	}
	over := 0
	for _, context := range []int{8192, 16384, 32768, 65536, 125952} {
		for streams := 1; streams <= 128; streams *= 2 {
			fits := streams*(context+4096) <= p.Limits.KVTokens
			if fits != valid[[2]int{context, streams}] {
				t.Errorf("%d x %d: fits %v, want %v", context, streams, fits, !fits)
			}
			if !fits {
				over++
			}
		}
	}
	if over != 10 || p.Limits.MaxModelLen != 131072 {
		t.Errorf("%d cells over capacity under a limit of %d, want 10 under 131072", over, p.Limits.MaxModelLen)
	}
}

func TestSeedProfileRestartsAsTheSeedDoes(t *testing.T) {
	check := func(tokens, streams int, want float64) {
		t.Helper()
		withEngine(t, seedProfile, simengine.Options{}, func(s *served) {
			ctx, cancel := context.WithCancel(s.t.Context())
			defer cancel()
			texts := make([]string, streams)
			for i := range texts {
				texts[i] = prompt(string(rune('a'+i)), tokens-10)
				s.chat(ctx, texts[i], 1, nil)
			}
			for _, text := range texts[1:] {
				go s.chat(ctx, text, 3000, nil)
			}
			time.Sleep(2 * time.Second)
			r := s.chat(ctx, texts[0], 5, nil)
			step := ms(r.tokens()[4].at - r.tokens()[3].at)
			if got := ms(r.ttft()); math.Abs(got-want) > 0.6*step+1 {
				t.Errorf("restart TTFT at %d x %d = %.1f ms, want %.0f within half a step of %.1f", tokens, streams, got, want, step)
			}
			cancel()
			time.Sleep(time.Second) // the others' readers end
		})
	}
	check(16384, 1, 45)
	check(16384, 4, 81)
	check(65536, 2, 183)
}

func TestLatencyIsMonotone(t *testing.T) {
	for _, name := range simengine.Profiles() {
		l := latency(t, name)
		last := time.Duration(0)
		for n := 1; n < 140000; n += 997 {
			d := l.Prefill(0, n)
			if d <= last {
				t.Errorf("%s: prefill of %d tokens takes %v, not more than the %v of fewer", name, n, d, last)
			}
			if parts := l.Prefill(0, n/3) + l.Prefill(n/3, n); (parts - d).Abs() > 2 {
				t.Errorf("%s: prefill of %d tokens in two chunks takes %v, in one %v", name, n, parts, d)
			}
			last = d
		}
		for _, batch := range []int{1, 3, 16, 200, 1000} {
			last = 0
			for n := 1; n < 140000; n += 997 {
				if d := l.Decode(batch, float64(n)); d < last || d <= 0 {
					t.Errorf("%s: a step of %d at %d tokens takes %v, less than %v of shorter ones", name, batch, n, d, last)
				} else {
					last = d
				}
			}
		}
		if l.Decode(0, 1000) != 0 || l.FrontEnd(100, 1) < 0 {
			t.Errorf("%s: empty steps take time, or the front end less than none", name)
		}
	}
}

func TestParseProfileSaysAllThatIsWrong(t *testing.T) {
	check := func(text string, wants ...string) {
		t.Helper()
		_, err := simengine.ParseProfile(text)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ParseProfile(%q) = %v, want an error with %q", text, err, want)
			}
		}
	}
	check("nosuch = 1", `key "nosuch" is not known`)
	check("name = ", "parse profile")
	check("", "name is empty", "model.served is empty", "max_model_len = 0", "kv_tokens = 0", "prefill needs two", "decode needs", "restart needs")
	check("[decode]\nbatch=[1,2]\nrows=[{context=5,ms=[1]}]", "row 0 has 1 values for 2 batch sizes")
	check("[decode]\nbatch=[1]\nrows=[{context=5,ms=[1]},{context=5,ms=[1]}]", "context 5 must be above 5")
	check("[restart]\nbatch=[1]\nrows=[{context=5,ms=[nan]}]", "must be positive")
	check("[prefill]\ntokens=[2,1]\nttft_ms=[1,2]", "prefill.tokens must be positive and ascend")
}

func TestLoadProfileReadsAFile(t *testing.T) {
	if _, err := simengine.LoadProfile("testdata/nosuch.toml"); err == nil || !strings.Contains(err.Error(), "nosuch.toml") {
		t.Errorf("LoadProfile of a missing file = %v", err)
	}
	p, err := simengine.LoadProfile("profiles/tiny.toml")
	if err != nil || p.Name != "tiny" {
		t.Errorf("LoadProfile of a file = %q, %v", p.Name, err)
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add("name = \"x\"\n[decode]\nbatch = [1]\nrows = [{context = 1, ms = [1.5]}]")
	f.Add("[prefill]\ntokens = [1, 2]\nttft_ms = [1.0, 1e300]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := simengine.ParseProfile(text)
		if err != nil {
			return
		}
		l := simengine.NewLatency(p)
		if l.Decode(1, 1) < 0 || l.FrontEnd(1, 1) < 0 {
			t.Errorf("negative durations from %q", text)
		}
	})
}
