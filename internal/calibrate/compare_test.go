package calibrate

import (
	"strings"
	"testing"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/simengine"
)

// two requests of one stream, by hand: the client's clock is 1,000 s behind the wall clock, each arrival is some
// microseconds after its sending.
func byHand() (observed, map[string]simengine.Served) {
	clock := wallClock{offset: 1_000_000_000_000}
	record := func(start int64, chunks ...int64) event.Request {
		tokens := make([]int32, len(chunks))
		for i := range tokens {
			tokens[i] = 1
		}
		return event.Request{StartUS: start, ChunkUS: chunks, ChunkTokens: tokens, Clock: event.Kernel, Outcome: event.OK}
	}
	o := observed{streams: 1, clock: clock, cpu: 70_000, requests: []answered{
		{id: "a", result: client.Result{Record: record(1000, 500, 1510, 2520), Reads: client.Reads{Reads: 10, Merged: 1}}},
		{id: "b", restart: true, result: client.Result{Record: record(10_000, 400, 1400, 2400, 3430), Reads: client.Reads{Reads: 30, Merged: 3}}},
	}}
	at := func(us ...int64) []int64 {
		for i := range us {
			us[i] = clock.offset + us[i]*1000
		}
		return us
	}
	return o, map[string]simengine.Served{
		"a": {ArrivedNS: at(1100)[0], SentNS: at(1495, 2505, 3515)},                 // errors 5, 5, 5
		"b": {ArrivedNS: at(10_030)[0], SentNS: at(10_390, 11_390, 12_390, 13_390)}, // errors 10, 10, 10, 40
	}
}

func TestCompareByHand(t *testing.T) {
	o, sent := byHand()
	got, err := compare(o, sent)
	if err != nil {
		t.Fatal(err)
	}
	want := event.Calibration{
		Streams:      1,
		InstantP50US: 10,   // the 4th of 5 5 5 10 10 10 40
		InstantP99US: 38.2, // 5.94 of the way: 10 + 0.94 * 30
		// Only b is a restart: ours 400, the engine's 10,390 - 10,030 = 360.
		TTFTP50US: 40, TTFTP99US: 40,
		BetweenTokensUS: 5,  // a: 0, b: (3,030 - 3,000) / 3 = 10
		CPUPerTokenUS:   10, // 70 us over 7 tokens
		MergedShare:     0.1,
		Clock:           event.Kernel,
	}
	if got != want {
		t.Errorf("compare = %+v\nwant      %+v", got, want)
	}
}

func TestCompareSeesLostTokens(t *testing.T) {
	o, sent := byHand()
	check := func(name, want string, change func()) {
		t.Helper()
		o, sent = byHand()
		change()
		if _, err := compare(o, sent); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: compare = %v, want an error with %q", name, err, want)
		}
	}
	check("a token fewer", `saw 3 tokens of request "b", the engine sent 4`, func() {
		r := &o.requests[1].result.Record
		r.ChunkUS, r.ChunkTokens = r.ChunkUS[:3], r.ChunkTokens[:3]
	})
	check("not in the log", `request "a", the engine sent 0`, func() { delete(sent, "a") })
}

func TestCompareTellsTheCoarserClock(t *testing.T) {
	o, sent := byHand()
	o.requests[0].result.Record.Clock = event.Process
	if got, err := compare(o, sent); err != nil || got.Clock != event.Process {
		t.Errorf("clock of a mixed calibration = %q, %v, want process", got.Clock, err)
	}
}

func TestRateErrorByHand(t *testing.T) {
	// Sent at 0, 10, ... 100: the middle 80 % is (10, 90], 8 tokens. Two of ours come after 90.
	var theirs, ours []int64
	for i := int64(0); i <= 100; i += 10 {
		theirs = append(theirs, i)
		ours = append(ours, i+i/40*10) // 0 10 20 30 50 60 70 80 100 110 120
	}
	if got := rateError(ours, theirs); got != -25 {
		t.Errorf("rateError = %v %%, want -25: 6 of 8", got)
	}
	if got := rateError(nil, nil); got != 0 {
		t.Errorf("rateError of nothing = %v, want 0", got)
	}
}

func TestLengthsSpreadTheRestarts(t *testing.T) {
	check := func(tokens, n int) {
		t.Helper()
		seen := map[int]bool{}
		for i := range n {
			list := lengths(tokens, restarts(n), i, n)
			sum := 0
			for _, l := range list {
				sum += l
				if l < 2 {
					t.Errorf("stream %d of %d: request of %d tokens, want at least 2: one gap", i, n, l)
				}
			}
			if slack := 2*len(list) + restarts(n); sum < tokens-slack || sum > tokens+slack {
				t.Errorf("stream %d of %d: %d tokens, want about %d", i, n, sum, tokens)
			}
			if (len(list)-1)*n < fewestStarts {
				t.Errorf("%d streams: %d restarts, want %d in all", n, len(list)-1, fewestStarts)
			}
			seen[list[0]] = true
		}
		if n <= tokens/4 && len(seen) != n {
			t.Errorf("%d streams of %d tokens restart at %d different tokens", n, tokens, len(seen))
		}
	}
	check(420, 1)
	check(420, 4)
	check(420, 64)
	check(420, 128)
	check(54, 1000)
	check(fewestTokens, 1)
}

func TestTimesAreBounded(t *testing.T) {
	check := func(n int, want float64) {
		t.Helper()
		c := Config{Streams: make([]int, n)}
		if got := c.Expected().Seconds(); got != want {
			t.Errorf("%d numbers of streams take %v s, want %v", n, got, want)
		}
	}
	check(1, 3.5)
	check(8, 28)
	check(10, 30)
	check(100, 100) // half a second each, or nothing would be measured
	rate := func(n int, want float64) {
		t.Helper()
		if got := (Config{}).rate(n); got != want {
			t.Errorf("rate of %d streams = %v, want %v", n, got, want)
		}
	}
	rate(1, 140)
	rate(128, 140)
	rate(1000, 18)
}

func TestParseTruthRefuses(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if _, err := parseTruth(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseTruth(%q) = %v, want an error with %q", text, err, want)
		}
	}
	check("{\"id\":\"a\"}\nx", "line 2")
	check("{\"id\":\"a\"}\n{\"id\":\"a\"}\n", `"a" stands there twice`)
	check("{\"id\":\""+strings.Repeat("a", maxLine)+"\"}", "too long")
}

func FuzzParseTruth(f *testing.F) {
	f.Add("{\"id\":\"a\",\"sent_ns\":[1,2]}\n{\"id\":\"b\"}\n")
	f.Add("{\"sent_ns\":[1e30]}")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTruth(strings.NewReader(text))
		if lines := strings.Count(text, "\n") + 1; err == nil && len(got) > lines {
			t.Errorf("%d requests from %d lines", len(got), lines)
		}
	})
}
