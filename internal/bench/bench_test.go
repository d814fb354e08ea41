//go:build linux

package bench

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"speedmatrix/internal/client"
)

// instants compares both clients' instants with the server's, on the same server, one after the other.
func instants(b *testing.B, p pacing, tokens int) {
	tune()
	address := startServer(b, p)
	base := "http://" + address + "/v1"
	for b.Loop() {
		all, we := follow(b, base, p.Streams, tokens, ours)
		e := instantErrors(b, all, truth(b, address))
		other, they := follow(b, base, p.Streams, tokens, plain)
		f := instantErrors(b, other, truth(b, address))
		b.ReportMetric(percentile(e, 50), "p50-us")
		b.ReportMetric(percentile(e, 99), "p99-us")
		b.ReportMetric(percentile(f, 50), "net/http-p50-us")
		b.ReportMetric(percentile(f, 99), "net/http-p99-us")
		b.ReportMetric(100*merged(all), "%merged")
		b.ReportMetric(we.cpuPerToken()/1000, "cpu-us/token")
		b.ReportMetric(we.cpuPerToken()/they.cpuPerToken(), "cpu-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// every is the interval of a stream of so many tokens a second.
func every(rate int) time.Duration { return time.Second / time.Duration(rate) }

// Error of a token's instant, 128 streams of 140 tokens a second.
func BenchmarkInstantsSpread128(b *testing.B) {
	instants(b, pacing{Streams: 128, Interval: every(140)}, 420)
}

// The same with all streams' tokens sent at once.
func BenchmarkInstantsLockStep128(b *testing.B) {
	instants(b, pacing{Streams: 128, Interval: every(140), LockStep: true}, 420)
}

// 1,000 streams of 50 tokens a second.
func BenchmarkInstantsSpread1000(b *testing.B) {
	instants(b, pacing{Streams: 1000, Interval: every(50)}, 150)
}

func BenchmarkInstantsLockStep1000(b *testing.B) {
	instants(b, pacing{Streams: 1000, Interval: every(50), LockStep: true}, 150)
}

// CPU of the client per token, 512 streams of 20 tokens a second: each token is a wake-up and a read.
func BenchmarkCPU512(b *testing.B) {
	instants(b, pacing{Streams: 512, Interval: every(20)}, 80)
}

// ttft is the true time to first token of BenchmarkTTFT1000.
const ttft = 50 * time.Millisecond

// Error of TTFT for 1,000 requests that start at the same moment, on connections that are open: ours minus the time from
// the request's arrival in the server's kernel to the sending of its first token.
func BenchmarkTTFT1000(b *testing.B) {
	tune()
	address := startServer(b, pacing{Interval: every(10), TTFT: ttft})
	base := "http://" + address + "/v1"
	for b.Loop() {
		for _, c := range []struct {
			name string
			open clients
		}{{"", ours}, {"net/http-", plain}} {
			all, _ := follow(b, base, 1000, 3, c.open)
			e, late, read := ttftErrors(all, truth(b, address))
			b.ReportMetric(percentile(e, 50), c.name+"p50-us")
			b.ReportMetric(percentile(e, 99), c.name+"p99-us")
			if c.name == "" {
				b.ReportMetric(percentile(late, 50), "server-late-p50-us")
				b.ReportMetric(percentile(read, 50), "server-read-p50-us")
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// ttftErrors are those of the client, how late the server was in sending, and how long it took to read the request that
// had arrived; microseconds, ascending.
func ttftErrors(all []seen, sent map[int]sent) (e, late, read []float64) {
	for i := range all {
		t := sent[i]
		real := t.Sent[0] - t.Arrived
		e = append(e, float64(all[i].tokens[0]-all[i].start-real)/1000)
		late = append(late, float64(real-int64(ttft))/1000)
		read = append(read, float64(t.Read-t.Arrived)/1000)
	}
	slices.Sort(e)
	slices.Sort(late)
	slices.Sort(read)
	return e, late, read
}

// Memory of one stream while 10,000 of them are streaming at 1 token a second, beyond the kernel's buffers.
func BenchmarkStreams10000(b *testing.B) {
	const streams, tokens, asked = 10000, 8, 1024 // asked for more than is given: buffers are made for what is asked
	tune()
	address := startServer(b, pacing{Streams: streams, Interval: time.Second, Limit: tokens})
	asking := func(b testing.TB, base string, n, _ int) func(i int) seen { return ours(b, base, n, asked) }
	for b.Loop() {
		runtime.GC()
		before := resident(b)
		var most atomic.Int64
		stop := make(chan struct{})
		go watch(b, stop, &most)
		all, c := follow(b, "http://"+address+"/v1", streams, tokens, asking)
		close(stop)
		e := instantErrors(b, all, truth(b, address))
		b.ReportMetric(float64(most.Load()-before)/streams/1024, "KB/stream")
		b.ReportMetric(percentile(e, 50), "p50-us")
		b.ReportMetric(percentile(e, 99), "p99-us")
		b.ReportMetric(c.cpuPerToken()/1000, "cpu-us/token")
	}
	b.ReportMetric(0, "ns/op")
}

// watch keeps the largest memory of this process.
func watch(b *testing.B, stop <-chan struct{}, most *atomic.Int64) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
			most.Store(max(most.Load(), resident(b)))
		}
	}
}

// Tokens a second taken from one stream that brings 20 events a write, as fast as they are read. Per core: by the
// client's CPU time.
func BenchmarkBurst(b *testing.B) {
	const tokens = 2_000_000
	tune()
	address := startServer(b, pacing{PerWrite: 20})
	base := "http://" + address + "/v1"
	for b.Loop() {
		_, we := follow(b, base, 1, tokens, ours)
		_, they := follow(b, base, 1, tokens/4, plain)
		b.ReportMetric(1e9/we.cpuPerToken(), "tokens/core-s")
		b.ReportMetric(float64(we.tokens)/we.wall.Seconds(), "tokens/s")
		b.ReportMetric(1e9/they.cpuPerToken(), "net/http-tokens/core-s")
		b.ReportMetric(we.cpuPerToken()/they.cpuPerToken(), "cpu-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// Allocations per token in steady state: what 64 streams of twice the length allocate more.
func BenchmarkAllocs(b *testing.B) {
	const streams, tokens = 64, 500
	tune()
	address := startServer(b, pacing{Streams: streams, Interval: 2 * time.Millisecond})
	base := "http://" + address + "/v1"
	for b.Loop() {
		b.ReportMetric(steadyAllocs(b, base, streams, tokens, lean), "allocs/token")
		b.ReportMetric(steadyAllocs(b, base, streams, tokens, plain), "net/http-allocs/token")
	}
	b.ReportMetric(0, "ns/op")
}

func steadyAllocs(b *testing.B, base string, streams, tokens int, open clients) float64 {
	_, short := follow(b, base, streams, tokens, open)
	_, long := follow(b, base, streams, 2*tokens, open)
	return (float64(long.allocs) - float64(short.allocs)) / float64(streams*tokens)
}

// lean is ours without the harness's own list of instants.
func lean(b testing.TB, base string, n, tokens int) func(i int) seen {
	c, err := client.New(client.Config{BaseURL: base, Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	conns := make([]*client.Conn, n)
	for i := range conns {
		if conns[i], err = c.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conns[i].Close() })
	}
	req := c.Prepare(client.Request{Prompt: "hi", MaxTokens: tokens, ContinuousUsage: true})
	return func(i int) seen {
		res := conns[i].Do(b.Context(), req, &client.Live{})
		return seen{tokens: res.Record.ChunkUS}
	}
}
