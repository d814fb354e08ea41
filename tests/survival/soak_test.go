package survival

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/prompt"
	"speedmatrix/internal/simengine"
)

// faultOutcomes says as what a client that sees all of it must count each of the engine's faults.
var faultOutcomes = map[simengine.Fault]event.Outcome{
	simengine.FaultReset: event.Reset, simengine.FaultTruncate: event.Truncated, simengine.FaultError: event.ErrorInStream,
	simengine.FaultBareError: event.ErrorInStream, simengine.FaultStall: event.Stalled, simengine.FaultHTML: event.NotAStream,
	simengine.Fault429: event.RateLimited, simengine.Fault500: event.ServerError, simengine.Fault503: event.ServerError,
}

// tally counts what the engine says became of its requests.
type tally struct {
	mu sync.Mutex
	by map[string]int
	n  int
}

func (c *tally) add(s simengine.Served) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[s.Finish]++
	c.n++
}

func (c *tally) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// TestSoak sends requests of which one in twenty goes wrong, in every way that the engine knows: as many as a day of
// measuring sends. All must be accounted for, by the engine's own record of what it did to each, and nothing may be left
// behind: goroutines, descriptors, memory.
func TestSoak(t *testing.T) { // not parallel: it counts what the whole process holds
	want, window := 3000, time.Second
	if *long {
		want, window = 100_000, 30*time.Second
	}
	truth := &tally{by: map[string]int{}}
	e := soakEngine(t, truth)
	l := soakLoader(t, e, window)

	goroutines, files := runtime.NumGoroutine(), descriptorsOpen(t)
	counts := map[event.Outcome]int{}
	sent := 0
	var early, heap uint64
	began := time.Now()
	for n := 0; n < 2 || sent < want; n++ {
		sent += soakPass(t, l, n, counts)
		heap = heapInUse() // with the pass's own records gone: how many they are depends on the machine's speed
		if n == 0 || sent < want/4 {
			early = heap
		}
	}
	settle(t, "requests of the engine", func() bool { return truth.total() >= sent-counts[event.Stopped] && idle(t, e) })
	accounts(t, sent, counts, truth)

	settle(t, fmt.Sprintf("goroutines, %d at the beginning", goroutines), func() bool { return runtime.NumGoroutine() <= goroutines })
	settle(t, fmt.Sprintf("descriptors, %d at the beginning", files), func() bool { return descriptorsOpen(t) <= files })
	// What a pass leaves to be collected is some MB; one kept record a request would be far more in the long form.
	if heap > early+8<<20 {
		t.Errorf("heap %d MB at the end, %d MB after a quarter of the requests", heap>>20, early>>20)
	}
	t.Logf("%d requests in %s: %s; goroutines %d and %d, descriptors %d and %d, heap %.1f MB after a quarter and %.1f MB at the end",
		sent, time.Since(began).Round(time.Second), sorted(counts), goroutines, runtime.NumGoroutine(), files, descriptorsOpen(t), mb(early), mb(heap))
}

// soakPass runs one pass, adds the outcomes of its requests to counts and returns how many there were. It keeps none of
// its records.
func soakPass(t *testing.T, l *load.Loader, n int, counts map[event.Outcome]int) int {
	t.Helper()
	res, err := l.Decode(t.Context(), load.Cell{Index: n, Repeat: n, Context: 64, Concurrency: 16})
	if err != nil {
		t.Fatalf("pass %d: %v", n, err)
	}
	for i := range res.Requests {
		counts[res.Requests[i].Outcome]++
	}
	return len(res.Requests)
}

// accounts compares the outcomes with the engine's record. A request that we cut may have been anything there: whole,
// aborted, struck by a fault that we did not wait for, or never read.
func accounts(t *testing.T, sent int, counts map[event.Outcome]int, truth *tally) {
	t.Helper()
	truth.mu.Lock()
	defer truth.mu.Unlock()
	t.Logf("the engine's record: %d requests, %s", truth.n, sorted(truth.by))
	all := 0
	for _, n := range counts {
		all += n
	}
	if all != sent {
		t.Errorf("%d outcomes of %d requests", all, sent)
	}
	did := map[event.Outcome]int{event.OK: truth.by["length"]}
	for fault, outcome := range faultOutcomes {
		if truth.by[string(fault)] == 0 {
			t.Errorf("no request had the fault %q", fault)
		}
		did[outcome] += truth.by[string(fault)]
	}
	unseen := sent - truth.n // cut before the engine had read them
	cut := truth.by["abort"] + unseen
	for outcome, n := range did {
		if counts[outcome] > n {
			t.Errorf("%d requests counted as %s, the engine did that to %d", counts[outcome], outcome, n)
		}
		cut += n - counts[outcome]
	}
	for outcome := range counts {
		if _, known := did[outcome]; !known && outcome != event.Stopped {
			t.Errorf("%d requests counted as %s, which the engine did to none", counts[outcome], outcome)
		}
	}
	if unseen < 0 || cut != counts[event.Stopped] {
		t.Errorf("%d requests stopped by us; by the engine's record they are %d, %d of them never read", counts[event.Stopped], cut, unseen)
	}
}

func soakEngine(t *testing.T, truth *tally) *engine {
	t.Helper()
	e := &engine{t: t, profile: "tiny", address: "127.0.0.1:0", opt: simengine.Options{
		Seed: 1, Speed: 50, Truth: truth.add, MaxRunning: 32, Faults: simengine.Faults{Rate: 0.05},
	}}
	e.start()
	t.Cleanup(e.stop)
	return e
}

// soakLoader makes a loader whose requests are short, and whose time-out is.
func soakLoader(t *testing.T, e *engine, window time.Duration) *load.Loader {
	t.Helper()
	server, err := probe.Detect(t.Context(), probe.Target{BaseURL: e.url()})
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Now()
	c, err := client.New(client.Config{BaseURL: e.url(), Model: server.Model, Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Repeat("word ", 40)
	l, err := load.New(load.Config{
		Client: c, Epoch: epoch, Duration: window, OutputTokens: 32, Prompts: event.PerStream, Start: event.Staggered,
		Seed: 1, Timeout: 2 * time.Second,
		Prompt: func(_ context.Context, k prompt.Key, _, _ int) (prompt.Prompt, error) {
			return prompt.Prompt{Text: fmt.Sprintf("%+v %s", k, words), SHA: "0123456789abcdef", Tokens: 64}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// idle reports whether the engine runs nothing.
func idle(t *testing.T, e *engine) bool {
	t.Helper()
	server, err := probe.Detect(t.Context(), probe.Target{BaseURL: e.url()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := server.Gauges(t.Context())
	return err == nil && g.Running == 0 && g.Waiting == 0
}

// settle waits for what ends by itself soon after a pass: the engine's side of closed connections.
func settle(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Errorf("%s: not settled within a minute; %d goroutines, %d descriptors\n%s", what, runtime.NumGoroutine(), descriptorsOpen(t), buf[:runtime.Stack(buf, true)])
			return
		}
	}
}

func descriptorsOpen(t *testing.T) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Skip("this system does not list open files")
	return 0
}

// heapInUse is the heap after a collection.
func heapInUse() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func mb(n uint64) float64 { return float64(n) / (1 << 20) }

// sorted prints counts by name.
func sorted[K ~string](counts map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return strings.Join(parts, ", ")
}
