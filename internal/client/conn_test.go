package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

func goodScript() script {
	return script{writes: then(reference(plain), finish("length")+done)}
}

func TestCancelCutsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cn := open(t, client.Config{Dial: pipeDial(goodScript())})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(145*ms, cancel)
		var live client.Live
		res := cn.Do(ctx, client.Request{}, &live)
		want := "stopped; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"
		if got := answer(res, true); got != want || *res.Record.EndUS != 145_000 || res.Record.Error != nil {
			t.Errorf("got %s, end at %d us", got, *res.Record.EndUS)
		}
		if live.Active.Load() != 0 || live.Tokens.Load() != 10 {
			t.Errorf("live: active %d, tokens %d", live.Active.Load(), live.Tokens.Load())
		}
		// The next request opens a new connection and says so.
		res = cn.Do(t.Context(), client.Request{}, &live)
		if got := answer(res, true); got != twenty || res.Record.ConnectUS == nil || live.Tokens.Load() != 30 {
			t.Errorf("after the cut: %s, connect %v, live tokens %d", got, res.Record.ConnectUS, live.Tokens.Load())
		}
		if got := answer(cn.Do(ctx, client.Request{}, nil), true); got != "stopped; 0 tokens in 0 chunks (unknown)" {
			t.Errorf("cancelled before: %s", got)
		}
	})
}

func TestCancelOverSocket(t *testing.T) {
	s := listen(t, script{writes: at(0, plain(0)), end: endHang})
	cn := open(t, client.Config{BaseURL: s.url})
	ctx, cancel := context.WithCancel(t.Context())
	var live client.Live
	go func() {
		for live.Active.Load() == 0 {
			time.Sleep(ms)
		}
		cancel()
	}()
	if got := answer(cn.Do(ctx, client.Request{}, &live), false); got != "stopped; 1 tokens in 1 chunks (chunks)" {
		t.Error(got)
	}
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := time.Now()
		time.Sleep(time.Second)
		cn := open(t, client.Config{Dial: pipeDial(goodScript()), Epoch: epoch})
		var live client.Live
		check := func(what string, got, want int64) {
			t.Helper()
			if got != want {
				t.Errorf("%v: %s is %d, want %d", time.Since(epoch), what, got, want)
			}
		}
		look := func(active, tokens, start, first, ttft int64) {
			t.Helper()
			check("Active", int64(live.Active.Load()), active)
			check("Tokens", live.Tokens.Load(), tokens)
			check("StartUS", live.StartUS.Load(), start)
			check("FirstUS", live.FirstUS.Load(), first)
			check("TTFTUS", live.TTFTUS.Load(), ttft)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			cn.Do(t.Context(), client.Request{}, &live)
			cn.Do(t.Context(), client.Request{}, &live)
		})
		time.Sleep(45 * ms)
		look(0, 0, 1_000_000, 0, 0)
		time.Sleep(10 * ms)
		look(1, 1, 1_000_000, 1_050_000, 50_000)
		time.Sleep(100 * ms)
		look(1, 11, 1_000_000, 1_050_000, 50_000)
		time.Sleep(100 * ms) // the second request began at 240 ms
		look(0, 20, 1_240_000, 0, 50_000)
		time.Sleep(50 * ms)
		look(1, 22, 1_240_000, 1_290_000, 50_000)
		wg.Wait()
		look(0, 40, 1_240_000, 1_290_000, 50_000)
		check("Reads", live.Reads.Load(), 2*21) // the header and each write are a read
	})
}

// A final usage that counts more than the chunks is told to Live as well.
func TestLiveLearnsFromFinalUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := every(5, func(i int) string { return content(words(4*i, 4)) })
		cn := open(t, client.Config{Dial: pipeDial(script{writes: then(w, finish("stop")+usageChunk(20)+done)})})
		var live client.Live
		if cn.Do(t.Context(), client.Request{}, &live); live.Tokens.Load() != 20 {
			t.Errorf("live has %d tokens, want 20", live.Tokens.Load())
		}
	})
}

// llama.cpp says keep-alive and closes after each response.
func TestServerClosesIdleConnection(t *testing.T) {
	var accepted atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			s := goodScript()
			s.header = "Connection: keep-alive\r\n"
			s.writes = mapped(s.writes, func(b string) string { return b })
			for i := range s.writes {
				s.writes[i].at = 0
			}
			go func() {
				defer conn.Close()
				readRequest(conn)
				replay(conn, func(time.Time) {}, s)
			}()
		}
	}()
	cn := open(t, client.Config{BaseURL: "http://" + l.Addr().String()})
	for i := range 50 {
		res := cn.Do(t.Context(), client.Request{}, nil)
		if got := answer(res, false); got != timeless(twenty) {
			t.Fatalf("request %d: %s", i, got)
		}
		if reconnected := res.Record.ConnectUS != nil; reconnected != (i > 0) {
			t.Errorf("request %d: connected within it: %v", i, reconnected)
		}
	}
	if n := accepted.Load(); n != 50 {
		t.Errorf("%d connections for 50 requests", n)
	}
}

func readRequest(conn net.Conn) *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return nil
	}
	io.Copy(io.Discard, req.Body)
	return req
}

// The close may show only when the connection is used: the request is sent again, its start is that of the second try.
func TestServerClosesAsWeWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		cn := open(t, client.Config{Dial: func(context.Context, string, string) (net.Conn, error) {
			dials++
			ours, theirs := net.Pipe()
			first := dials == 1
			go func() {
				defer theirs.Close()
				for readRequest(theirs) != nil {
					if !replay(theirs, func(time.Time) {}, goodScript()) {
						return
					}
					if first { // takes the next request and closes 30 ms later
						readRequest(theirs)
						time.Sleep(30 * ms)
						return
					}
				}
			}()
			return ours, nil
		}})
		cn.Do(t.Context(), client.Request{}, nil)
		res := cn.Do(t.Context(), client.Request{}, nil)
		if got := answer(res, true); got != twenty || dials != 2 || res.Record.ConnectUS == nil {
			t.Errorf("got %s, %d connections, connect %v", got, dials, res.Record.ConnectUS)
		}
		// A fresh connection that is closed without an answer is a failure.
		cn = open(t, client.Config{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { readRequest(theirs); theirs.Close() }()
			return ours, nil
		}})
		want := "truncated: connection closed; 0 tokens in 0 chunks (unknown)"
		if got := answer(cn.Do(t.Context(), client.Request{}, nil), true); got != want {
			t.Errorf("got %s", got)
		}
	})
}

// The end of a chunked body that comes just after [DONE] does not cost the connection; one that lingers does.
func TestTailOfBody(t *testing.T) {
	check := func(late time.Duration, reconnects bool) {
		synctest.Test(t, func(t *testing.T) {
			s := goodScript()
			s.writes = cat(s.writes, at(240*ms+late, ": bye\n\n"))
			cn := open(t, client.Config{Dial: pipeDial(s)})
			cn.Do(t.Context(), client.Request{}, nil)
			began := time.Now()
			res := cn.Do(t.Context(), client.Request{}, nil)
			if got := answer(res, true); got != twenty || (res.Record.ConnectUS != nil) != reconnects {
				t.Errorf("%v late: %s, connect %v", late, got, res.Record.ConnectUS)
			}
			if waited := time.Since(began) - 240*ms; waited > 10*ms {
				t.Errorf("%v late: waited %v for the rest of the response", late, waited)
			}
			cn.Close()
			time.Sleep(time.Minute)
		})
	}
	check(0, false)
	check(5*ms, false)
	check(500*ms, true)
}

func TestStalledBeforeTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, theirs)
			return ours, nil
		}
		cn := open(t, client.Config{Dial: dial, Timeout: time.Minute})
		check := func(req client.Request, want time.Duration) {
			t.Helper()
			began := time.Now()
			res := cn.Do(t.Context(), req, nil)
			if res.Record.Outcome != event.Stalled || time.Since(began) != want {
				t.Errorf("%s after %v, want %v", answer(res, true), time.Since(began), want)
			}
		}
		check(client.Request{}, time.Minute)
		check(client.Request{Timeout: time.Hour}, time.Hour)
	})
}

// Bytes, even comments, push the time-out back; it is counted from the last of them.
func TestTimeoutCountsFromLastByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{writes: cat(at(50*ms, plain(0)), at(2*time.Second, ":\n\n"), at(4500*ms, ":\n\n")), end: endHang}
		cn := open(t, client.Config{Dial: pipeDial(s), Timeout: 3 * time.Second})
		res := cn.Do(t.Context(), client.Request{}, nil)
		if res.Record.Outcome != event.Stalled || *res.Record.EndUS != 7_500_000 {
			t.Errorf("%s at %d us, want stalled at 7500000", answer(res, true), *res.Record.EndUS)
		}
		cn.Close()
	})
}

// What tells nothing does not keep a request alive for ever, however slowly it drips: a header without an end, comments,
// events without a token.
func TestDripping(t *testing.T) {
	body := script{}
	check := func(name, first, again string, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go drip(theirs, first, again)
				return ours, nil
			}
			cn := open(t, client.Config{Dial: dial, Timeout: 3 * time.Second})
			began := time.Now()
			res := cn.Do(t.Context(), client.Request{}, nil)
			if took := time.Since(began); answer(res, false) != want || took < 30*time.Second || took > 34*time.Second {
				t.Errorf("%s: %s after %v\nwant %s after 30 to 34 s", name, answer(res, false), took, want)
			}
			cn.Close()
			time.Sleep(time.Minute) // the server notices
		})
	}
	const none = "stalled: bytes, but no token, for 30s; 0 tokens in 0 chunks (unknown)"
	check("a header", "HTTP/1.1 200 OK\r\nX-Slow: ", "x", none)
	check("comments", body.head(), body.frame(":\n\n"), none)
	check("events without a token", body.head(), body.frame(chunkOf("{}", "null", "")), none)
	check("comments after a token", body.head()+body.frame(content("x")), body.frame(":\n\n"),
		"stalled: bytes, but no token, for 30s; 1 tokens in 1 chunks (chunks)")
	check("an error", "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\n", "o", "server-error: http 500: ooooooooooooooo; 0 tokens in 0 chunks (unknown)")
}

// drip answers a request with first, and then with again every two seconds until nobody listens.
func drip(conn net.Conn, first, again string) {
	defer conn.Close()
	go io.Copy(io.Discard, conn)
	for text := first; ; text = again {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(2 * time.Second)
	}
}

// An answer that does not heed max_tokens ends all the same.
func TestEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				go io.Copy(io.Discard, theirs)
				text, err := script{}.head(), error(nil)
				for ; err == nil; text = (script{}).frame(content("x")) {
					_, err = io.WriteString(theirs, text)
				}
			}()
			return ours, nil
		}
		cn := open(t, client.Config{Dial: dial})
		res := cn.Do(t.Context(), client.Request{MaxTokens: 10}, nil)
		want := "bad-protocol: the answer does not end: 4256 pieces of text, many times the tokens asked for; 4257 tokens in 4257 chunks (chunks)"
		if got := answer(res, false); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		cn.Close()
	})
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	c, err := client.New(client.Config{BaseURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	cn, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	conn.Close()
	// The close arrives a moment after: a request may also meet it on its way.
	res := cn.Do(t.Context(), client.Request{}, nil)
	want := "unreachable: could not connect: connect: connection refused; 0 tokens in 0 chunks (unknown)"
	if got := answer(res, false); got != want && res.Record.Outcome != event.Truncated && res.Record.Outcome != event.Reset {
		t.Errorf("got %s", got)
	}
	if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if _, err := c.Open(t.Context()); err == nil || err.Error() != "could not connect: connect: connection refused" {
		t.Errorf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a cancelled context: %v", err)
	}
}

// refusing answers 400 for each optional field of a list that the request carries, naming it, and streams when none
// is left.
func refusing(t *testing.T, refuse []string, mu *sync.Mutex, bodies *[]string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		*bodies = append(*bodies, string(b))
		mu.Unlock()
		for _, name := range refuse {
			if strings.Contains(string(b), `"`+name+`"`) {
				w.WriteHeader(400)
				fmt.Fprintf(w, `{"error":{"message":"Unrecognized request argument supplied: %s"}}`, name)
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, plain(0)+finish("stop")+usageChunk(1)+done)
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String() + "/v1"
}

func TestRefusedFieldsAreDropped(t *testing.T) {
	check := func(name string, refuse, dropped []string, first, second int) {
		t.Helper()
		var mu sync.Mutex
		var bodies []string
		c, err := client.New(client.Config{BaseURL: refusing(t, refuse, &mu, &bodies), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		cn, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer cn.Close()
		req := c.Prepare(client.Request{Prompt: "p", MaxTokens: 1, IgnoreEOS: true, ContinuousUsage: true, ID: "r1"})
		for i, want := range []int{first, first + second} {
			res := cn.Do(t.Context(), req, nil)
			mu.Lock() // the server is done: it has answered
			sent := len(bodies)
			mu.Unlock()
			if res.Record.Outcome != event.OK || !slices.Equal(res.Dropped, dropped) || sent != want {
				t.Errorf("%s, request %d: %s, dropped %q, %d sent, want %q and %d", name, i, answer(res, false), res.Dropped, sent, dropped, want)
			}
		}
	}
	check("none", nil, nil, 1, 1)
	check("ignore_eos", []string{"ignore_eos"}, []string{"ignore_eos"}, 2, 1)
	check("continuous", []string{"continuous_usage_stats"}, []string{"continuous_usage_stats"}, 2, 1)
	check("stream_options", []string{"stream_options"}, []string{"continuous_usage_stats", "stream_options"}, 2, 1)
	check("all", []string{"rid", "min_tokens", "ignore_eos", "stream_options"},
		[]string{"ignore_eos", "min_tokens", "continuous_usage_stats", "stream_options", "rid"}, 5, 1)
}

// A refusal that names no optional field, or one that was not sent, is what it is.
func TestRefusalThatIsNotAboutFields(t *testing.T) {
	var mu sync.Mutex
	var bodies []string
	cn := open(t, client.Config{BaseURL: refusing(t, []string{"max_tokens"}, &mu, &bodies)})
	res := cn.Do(t.Context(), client.Request{MaxTokens: 1, IgnoreEOS: true}, nil)
	mu.Lock()
	defer mu.Unlock()
	if res.Record.Outcome != event.BadRequest || *res.Record.HTTPStatus != 400 || len(bodies) != 1 || res.Dropped != nil {
		t.Errorf("%s, %d sent, dropped %q", answer(res, false), len(bodies), res.Dropped)
	}
}

func TestRetryAfter(t *testing.T) {
	check := func(status, header string, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			cn := open(t, client.Config{Dial: pipeDial(script{status: status, header: header, writes: at(0, "busy")})})
			if res := cn.Do(t.Context(), client.Request{}, nil); res.RetryAfter != want {
				t.Errorf("%s %q: %v, want %v", status, header, res.RetryAfter, want)
			}
		})
	}
	check("429 Too Many Requests", "Retry-After: 7\r\n", 7*time.Second)
	check("503 Service Unavailable", "Retry-After: 0\r\n", 0)
	check("503 Service Unavailable", "Date: Wed, 21 Oct 2026 07:28:00 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:30:00 GMT\r\n", 2*time.Minute)
	check("429 Too Many Requests", "Retry-After: Wed, 21 Oct 1998 07:30:00 GMT\r\n", 0)
	check("429 Too Many Requests", "Retry-After: 99999999999999\r\n", 24*time.Hour)
	check("429 Too Many Requests", "Retry-After: soon\r\n", 0)
	check("500 Internal Server Error", "Retry-After: 7\r\n", 0)
}

func TestSecretsStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key, token, password = "sk-verysecret0123456789", "tok-alsosecret", "hunter2222"
		echo := "key " + key + " header " + token + " password " + password + " at server.test:80\nsecond\tline " + strings.Repeat("x", 400)
		cn := open(t, client.Config{
			BaseURL: "http://me:" + password + "@server.test/v1", Key: key, Header: http.Header{"X-Api-Key": {"Bearer " + token}},
			Dial: pipeDial(script{status: "500 Oops", header: "Content-Type: text/plain\r\n", writes: at(0, echo)}),
		})
		text := *cn.Do(t.Context(), client.Request{}, nil).Record.Error
		for _, secret := range []string{key, token, password, "server.test"} {
			if strings.Contains(text, secret) {
				t.Errorf("error tells %q: %s", secret, text)
			}
		}
		if want := "http 500: key [redacted] header [redacted] password [redacted] at [redacted] second line xxx"; !strings.HasPrefix(text, want) {
			t.Errorf("got  %s\nwant %s…", text, want)
		}
		if len(text) > 300 || strings.ContainsAny(text, "\n\r\t") {
			t.Errorf("error is %d bytes: %q", len(text), text)
		}
	})
}

func TestRedirectIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cn := open(t, client.Config{Dial: pipeDial(script{status: "308 Permanent Redirect", header: "Location: https://other.test/v1\r\n"})})
		res := cn.Do(t.Context(), client.Request{}, nil)
		want := `bad-request: http 308: redirects are not followed; the server points to "https://other.test/v1"; 0 tokens in 0 chunks (unknown)`
		if got := answer(res, false); got != want {
			t.Errorf("got %s", got)
		}
	})
}

func TestNotHTTPAndNotEvents(t *testing.T) {
	check := func(answerBytes, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			conn := &splitConn{pieces: []string{answerBytes}}
			cn := open(t, client.Config{Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }})
			if got, _, _ := strings.Cut(answer(cn.Do(t.Context(), client.Request{}, nil), false), "; 0 tokens"); got != want {
				t.Errorf("%.40q:\n got %s\nwant %s", answerBytes, got, want)
			}
		})
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	check("SSH-2.0-OpenSSH_9.6\r\n", `bad-protocol: answer is not HTTP/1.1: "SSH-2.0-OpenSSH_9.6\r\n"`)
	check("HTTP/1.1 abc\r\n\r\n", `bad-protocol: answer is not HTTP/1.1: "HTTP/1.1 abc\r"`)
	check("HTTP/1.1 200", "truncated: connection closed")
	check("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 70_000), "bad-protocol: response header is longer than 65536 bytes")
	check(ok+"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "bad-protocol: malformed chunked body")
	check(ok+"Transfer-Encoding: gzip, chunked\r\n\r\n", `bad-protocol: response has transfer-encoding "gzip, chunked"; only chunked is understood`)
	check(ok+"Content-Encoding: zstd\r\n\r\n", `bad-protocol: response has content-encoding "zstd"; only gzip and br are understood`)
	check(ok+"Content-Length: -5\r\n\r\n", `bad-protocol: response has content-length "-5"`)
	check(ok+"\r\ndata: {\"a\n\n", `bad-protocol: event is not a JSON object: "{\"a"`)
	check(ok+"\r\n<html>no type", `not-a-stream: answer is something other than events: "<html>no type"`)
	check(ok+"Content-Type: application/json\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"all\"}}]}",
		`not-a-stream: answer is something other than events: "{\"choices\":[{\"message\":{\"content\":\"all\"}}]}"`)
	check(ok+"Content-Type: application/json\r\n\r\n{\"error\":{\"message\":\"no model\"}}", "error-in-stream: no model")
	check(ok+"Content-Length: 0\r\n\r\n", "truncated: stream ended without a finish reason")
	check("HTTP/1.1 204 No Content\r\n\r\n", "truncated: stream ended without a finish reason")
	check("HTTP/1.1 100 Continue\r\n\r\n"+ok+"\r\n"+finish("stop"), "ok")
	check("HTTP/1.0 200 OK\nContent-Length: 7\n\ndata: x", `truncated: stream ended without a finish reason`)
}
