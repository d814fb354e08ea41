//go:build unix

package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// The benchmarks compare this package with net/http and encoding/json, as a plain Go client is written, against the
// same server in the same run. The server is another process (this test binary again), so that the CPU time of this one is
// the client's alone. Run: go test -run '^$' -bench . -benchtime 1x ./internal/client

const serverEnv = "CLIENT_TEST_SERVER"

// TestServerProcess is the server, when it is asked to be.
func TestServerProcess(t *testing.T) {
	if os.Getenv(serverEnv) == "" {
		t.Skip("only for the benchmarks, which start it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nserver at %s\n", l.Addr())
	go http.Serve(l, http.HandlerFunc(answerPaced))
	io.Copy(io.Discard, os.Stdin) // until the parent goes
}

// startServer runs TestServerProcess and returns its address.
func startServer(b testing.TB) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerProcess$", "-test.v")
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		io.Copy(io.Discard, stdout)
		cmd.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if at, ok := strings.CutPrefix(lines.Text(), "server at "); ok {
			return at
		}
	}
	b.Fatal("the server process gave no address")
	return ""
}

// answerPaced streams max_tokens tokens: under /paced/<microseconds>/ one every so many microseconds, by absolute
// deadlines; under /burst/ as fast as they are taken, 20 events a flush.
func answerPaced(w http.ResponseWriter, r *http.Request) {
	var body struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pause := time.Duration(0)
	if us, ok := strings.CutPrefix(r.URL.Path, "/paced/"); ok {
		var n int64
		fmt.Sscanf(us, "%d", &n)
		pause = time.Duration(n) * time.Microsecond
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(rw, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
	rw.Flush()
	event := []byte(plain(5))
	if pause == 0 {
		writeBurst(conn, event, body.MaxTokens)
	} else {
		writePaced(conn, event, body.MaxTokens, pause)
	}
	io.WriteString(conn, finish("length")+done)
}

func writeBurst(conn net.Conn, event []byte, tokens int) {
	flush := bytes.Repeat(event, 20)
	for range tokens / 20 {
		if _, err := conn.Write(flush); err != nil {
			return
		}
	}
}

func writePaced(conn net.Conn, event []byte, tokens int, pause time.Duration) {
	began := time.Now()
	for i := range tokens {
		time.Sleep(time.Duration(i)*pause - time.Since(began))
		if _, err := conn.Write(event); err != nil {
			return
		}
	}
}

// cpu is the CPU time that this process has used, user and system.
func cpu(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// follower streams one request and returns the tokens that it saw.
type follower func() int64

// ours follows with this package; the connections are open.
func ours(b testing.TB, base string, streams, tokens int) []follower {
	c, err := client.New(client.Config{BaseURL: base, Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	lag := new(client.Lag)
	out := make([]follower, streams)
	req := c.Prepare(client.Request{Prompt: "hi", MaxTokens: tokens})
	for i := range out {
		cn, err := c.Open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { cn.Close() })
		live := &client.Live{Lag: lag}
		out[i] = func() int64 {
			res := cn.Do(context.Background(), req, live)
			if res.Record.Outcome != event.OK {
				b.Errorf("outcome %s", answer(res, false))
			}
			return res.Record.Tokens()
		}
	}
	return out
}

// plainly follows as a client is usually written: net/http, a scanner, encoding/json.
func plainly(b testing.TB, base string, streams, tokens int) []follower {
	transport := &http.Transport{MaxIdleConnsPerHost: streams}
	b.Cleanup(transport.CloseIdleConnections)
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":%d,"stream":true}`, tokens)
	out := make([]follower, streams)
	for i := range out {
		out[i] = func() int64 {
			res, err := (&http.Client{Transport: transport}).Post(base+"/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return 0
			}
			defer res.Body.Close()
			return countPlainly(b, res.Body)
		}
	}
	return out
}

func countPlainly(b testing.TB, body io.Reader) int64 {
	var arrivals []time.Time
	for lines := bufio.NewScanner(body); lines.Scan(); {
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
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			b.Error(err)
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			arrivals = append(arrivals, time.Now())
		}
	}
	return int64(len(arrivals))
}

// cost is what following took, per token.
type cost struct {
	cpu, wall, allocs float64
	tokens            int64
}

// follow runs all followers at once.
func follow(b testing.TB, all []follower, want int64) cost {
	b.Helper()
	var tokens atomic.Int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu0, t0 := cpu(b), time.Now()
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(func() { tokens.Add(f()) })
	}
	wg.Wait()
	wall, used := time.Since(t0), cpu(b)-cpu0
	runtime.ReadMemStats(&after)
	n := tokens.Load()
	if n != want {
		b.Fatalf("saw %d tokens of %d", n, want)
	}
	return cost{
		cpu: float64(used.Nanoseconds()) / float64(n), wall: float64(wall.Nanoseconds()) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n), tokens: n,
	}
}

func compare(b *testing.B, path string, streams, tokens int) {
	address := startServer(b)
	base := "http://" + address + path
	want := int64(streams * tokens)
	for b.Loop() {
		we := follow(b, ours(b, base, streams, tokens), want)
		they := follow(b, plainly(b, base, streams, tokens), want)
		b.ReportMetric(we.cpu, "cpu-ns/token")
		b.ReportMetric(they.cpu, "net/http-cpu-ns/token")
		b.ReportMetric(we.cpu/they.cpu, "cpu-ratio")
		b.ReportMetric(we.allocs, "allocs/token")
		b.ReportMetric(they.allocs, "net/http-allocs/token")
		b.ReportMetric(1e9/we.wall, "tokens/s")
		b.ReportMetric(1e9/they.wall, "net/http-tokens/s")
	}
	b.ReportMetric(0, "ns/op")
}

// 512 streams at 20 tokens a second each, as the process sees them: each token is a wake-up and a read.
func BenchmarkPaced512(b *testing.B) { compare(b, "/paced/50000", 512, 100) }

// 128 streams at 140 tokens a second each.
func BenchmarkPaced128(b *testing.B) { compare(b, "/paced/7143", 128, 280) }

// One stream that brings 20 events a flush, as fast as it is read.
func BenchmarkBurst(b *testing.B) { compare(b, "/burst", 1, 1_000_000) }
