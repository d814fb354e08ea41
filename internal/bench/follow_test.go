//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// seen is what a client saw of one request, in Unix nanoseconds.
type seen struct {
	start  int64
	tokens []int64 // arrivals, one a token
	reads  client.Reads
}

// cost is what a client spent on all streams together.
type cost struct {
	cpu    time.Duration // user and system
	wall   time.Duration
	allocs uint64
	tokens int
}

func (c cost) cpuPerToken() float64 { return float64(c.cpu.Nanoseconds()) / float64(c.tokens) }

// clients opens n streams to base and returns what sends stream i's request of so many tokens.
type clients func(b testing.TB, base string, n, tokens int) func(i int) seen

// tune prepares the process as cmd/measure does for a run.
func tune() { debug.SetGCPercent(400) }

// ours is this module's client.
func ours(b testing.TB, base string, n, tokens int) func(i int) seen {
	epoch := time.Now()
	c, err := client.New(client.Config{BaseURL: base, Model: "m", Epoch: epoch})
	if err != nil {
		b.Fatal(err)
	}
	wall := wallOf(epoch)
	conns, reqs, lag := make([]*client.Conn, n), make([]client.Request, n), new(client.Lag)
	for i := range conns {
		if conns[i], err = c.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conns[i].Close() })
		reqs[i] = c.Prepare(client.Request{Prompt: "hi", MaxTokens: tokens, ContinuousUsage: true, ID: strconv.Itoa(i)})
	}
	return func(i int) seen {
		res := conns[i].Do(b.Context(), reqs[i], &client.Live{Lag: lag})
		r := &res.Record
		if r.Outcome != event.OK {
			b.Errorf("stream %d: %s %v", i, r.Outcome, r.Error)
		}
		s := seen{start: wall + r.StartUS*1000, reads: res.Reads}
		for k, us := range r.ChunkUS {
			for range r.ChunkTokens[k] {
				s.tokens = append(s.tokens, s.start+us*1000)
			}
		}
		return s
	}
}

// wallOf is epoch in nanoseconds of Unix time, by the middle of several readings of both clocks: a pause between the two
// readings of time.Now would shift all instants.
func wallOf(epoch time.Time) int64 {
	var offsets [15]int64
	for i := range offsets {
		now := time.Now()
		offsets[i] = now.UnixNano() - int64(now.Sub(epoch))
	}
	slices.Sort(offsets[:])
	return offsets[len(offsets)/2]
}

// plain is a client as it is usually written: net/http, a line scanner, encoding/json, time.Now after each event.
func plain(b testing.TB, base string, n, tokens int) func(i int) seen {
	transport := &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}
	b.Cleanup(transport.CloseIdleConnections)
	web := &http.Client{Transport: transport}
	warm(b, web, base, n)
	return func(i int) seen {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":%d,"stream":true,"rid":"%d"}`, tokens, i)
		s := seen{start: time.Now().UnixNano()}
		res, err := web.Post(base+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return s
		}
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
					FinishReason *string `json:"finish_reason"`
				} `json:"choices"`
				Usage *struct {
					CompletionTokens int `json:"completion_tokens"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				b.Error(err)
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				s.tokens = append(s.tokens, time.Now().UnixNano())
			}
		}
		return s
	}
}

// warm opens n connections: as many requests at once, each answered before any is read to its end.
func warm(b testing.TB, web *http.Client, base string, n int) {
	var answered, finished sync.WaitGroup
	answered.Add(n)
	for range n {
		finished.Go(func() {
			res, err := web.Get(strings.TrimSuffix(base, "/v1") + "/truth")
			answered.Done()
			if err != nil {
				b.Error(err)
				return
			}
			answered.Wait()
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		})
	}
	finished.Wait()
}

// follow streams n requests at once and returns what was seen of each and what it cost.
func follow(b testing.TB, base string, n, tokens int, open clients) ([]seen, cost) {
	b.Helper()
	do := open(b, base, n, tokens)
	all := make([]seen, n)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			<-gate
			all[i] = do(i)
		})
	}
	time.Sleep(50 * time.Millisecond) // all goroutines stand at the gate
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu0, t0 := cpuTime(), time.Now()
	close(gate)
	wg.Wait()
	c := cost{cpu: cpuTime() - cpu0, wall: time.Since(t0)}
	runtime.ReadMemStats(&after)
	c.allocs = after.Mallocs - before.Mallocs
	for i := range all {
		c.tokens += len(all[i].tokens)
	}
	if want := n * tokens; c.tokens != want {
		b.Fatalf("saw %d tokens of %d", c.tokens, want)
	}
	return all, c
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory of this process, in bytes.
func resident(b testing.TB) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// truth asks the server what it sent since it was asked before; by stream.
func truth(b testing.TB, address string) map[int]sent {
	b.Helper()
	res, err := http.Get("http://" + address + "/truth")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var list []sent
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		b.Fatal(err)
	}
	out := map[int]sent{}
	for _, s := range list {
		i, err := strconv.Atoi(s.ID)
		if err != nil {
			b.Fatal(err)
		}
		out[i] = s
	}
	return out
}

// instantErrors are arrivals minus sendings, in microseconds, ascending.
func instantErrors(b testing.TB, all []seen, sent map[int]sent) []float64 {
	b.Helper()
	var out []float64
	for i := range all {
		t := sent[i].Sent
		if len(t) != len(all[i].tokens) {
			b.Fatalf("stream %d: saw %d tokens, the server sent %d", i, len(all[i].tokens), len(t))
		}
		for k := range t {
			out = append(out, float64(all[i].tokens[k]-t[k])/1000)
		}
	}
	slices.Sort(out)
	return out
}

// percentile is the nearest-rank percentile of ascending values.
func percentile(sorted []float64, p int) float64 {
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}

// merged is the share of reads that brought several arrivals of one stream.
func merged(all []seen) float64 {
	var reads, m int64
	for i := range all {
		reads += all[i].reads.Reads
		m += all[i].reads.Merged
	}
	return float64(m) / float64(max(reads, 1))
}
