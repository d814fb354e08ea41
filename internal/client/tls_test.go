package client_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// secure is an HTTPS server that streams 20 tokens 1 ms apart; http2 lets ALPN choose it.
func secure(t *testing.T, http2 bool) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 20 {
			io.WriteString(w, plain(i))
			w.(http.Flusher).Flush()
			time.Sleep(ms)
		}
		io.WriteString(w, finish("length")+done)
	}))
	srv.EnableHTTP2 = http2
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused certificates
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// caFile writes the server's certificate as a bundle.
func caFile(t *testing.T, srv *httptest.Server) string {
	t.Helper()
	var b bytes.Buffer
	if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTLS(t *testing.T) {
	check := func(name string, http2 bool, clock event.Clock) {
		t.Run(name, func(t *testing.T) {
			srv := secure(t, http2)
			cn := open(t, client.Config{BaseURL: srv.URL + "/v1", CAFile: caFile(t, srv)})
			for i := range 3 {
				before := time.Now()
				res := cn.Do(t.Context(), client.Request{Prompt: strings.Repeat("long ", 40_000)}, nil)
				if got := answer(res, false); got != timeless(twenty) || res.Record.ConnectUS != nil || res.Record.Clock != clock {
					t.Errorf("request %d: %s, connect %v, clock %s", i, got, res.Record.ConnectUS, res.Record.Clock)
				}
				if last := time.Duration(res.Record.ChunkUS[19]) * time.Microsecond; last > time.Since(before) || last < 19*ms {
					t.Errorf("request %d: last token after %v, of %v", i, last, time.Since(before))
				}
			}
		})
	}
	clock := event.Process
	if kernelStamps() {
		clock = event.Kernel
	}
	check("HTTP/1.1", false, clock)
	check("HTTP/2", true, clock)
}

// A stream that goes on for longer than the time-out is not cut by it, whatever its transport writes meanwhile.
func TestLongerThanTheTimeout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 20 {
				io.WriteString(w, content(strings.Repeat("x", 100_000))) // makes HTTP/2 update its windows
				w.(http.Flusher).Flush()
				time.Sleep(time.Duration(i%2) * 150 * ms)
			}
			io.WriteString(w, finish("length")+done)
		}))
		srv.EnableHTTP2 = http2
		srv.StartTLS()
		cn := open(t, client.Config{BaseURL: srv.URL, Insecure: true, Timeout: time.Second})
		if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != timeless(twenty) {
			t.Errorf("HTTP/2 %v: %s", http2, got)
		}
		cn.Close()
		srv.Close()
	}
}

func TestTLSTrust(t *testing.T) {
	srv := secure(t, false)
	try := func(cfg client.Config) string {
		cfg.BaseURL = srv.URL
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cn, err := c.Open(t.Context())
		if err != nil {
			return err.Error()
		}
		defer cn.Close()
		return answer(cn.Do(t.Context(), client.Request{}, nil), false)
	}
	if got := try(client.Config{}); !strings.HasPrefix(got, "could not connect: TLS: ") || !strings.Contains(got, "certificate") {
		t.Errorf("unknown authority: %s", got)
	}
	if got := try(client.Config{Insecure: true}); got != timeless(twenty) {
		t.Errorf("insecure: %s", got)
	}
	if _, err := client.New(client.Config{BaseURL: srv.URL, CAFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a CA file that is not there was accepted")
	}
}

func TestHTTP2CancelAndErrors(t *testing.T) {
	var mode atomic.Value
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch mode.Load() {
		case "refuse":
			w.WriteHeader(404)
			io.WriteString(w, `{"error":{"message":"no such model"}}`)
		case "abort":
			io.WriteString(w, plain(0))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "hang":
			io.WriteString(w, plain(0))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	cn := open(t, client.Config{BaseURL: srv.URL, Insecure: true, Timeout: 200 * ms})
	check := func(m, want string) {
		t.Helper()
		mode.Store(m)
		if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != want {
			t.Errorf("%s: got %s\nwant %s", m, got, want)
		}
	}
	check("refuse", "not-found: http 404: no such model; 0 tokens in 0 chunks (unknown)")
	check("abort", "reset: HTTP/2 stream reset: INTERNAL_ERROR; 1 tokens in 1 chunks (chunks)")
	check("hang", "stalled: no bytes for 200ms; 1 tokens in 1 chunks (chunks)")
	check("refuse", "not-found: http 404: no such model; 0 tokens in 0 chunks (unknown)")
}

// rawTLS serves TLS and ends each connection as told.
func rawTLS(t *testing.T, end func(raw net.Conn, conn *tls.Conn), body string) string {
	t.Helper()
	certificate := secure(t, false).TLS.Certificates
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				conn := tls.Server(raw, &tls.Config{Certificates: certificate})
				if readRequest(conn) == nil {
					raw.Close()
					return
				}
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+body)
				end(raw, conn)
			}()
		}
	}()
	return "https://" + l.Addr().String()
}

func TestTLSEnds(t *testing.T) {
	ten := joined(0, 10)
	noNotice := func(raw net.Conn, _ *tls.Conn) { raw.Close() }
	notice := func(_ net.Conn, conn *tls.Conn) { conn.Close() }
	check := func(name, body string, end func(net.Conn, *tls.Conn), want string) {
		t.Helper()
		cn := open(t, client.Config{BaseURL: rawTLS(t, end, body), Insecure: true})
		if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != want {
			t.Errorf("%s: got %s\nwant %s", name, got, want)
		}
	}
	check("no notice", ten, noNotice, "reset: TLS connection closed without notice; 10 tokens in 10 chunks (chunks)")
	check("no notice after [DONE]", ten+finish("stop")+done, noNotice, "ok; 10 tokens in 10 chunks (chunks); finish stop")
	check("notice, no finish", ten, notice, "truncated: stream ended without a finish reason; 10 tokens in 10 chunks (chunks)")
	check("notice after the finish", ten+finish("stop"), notice, "ok; 10 tokens in 10 chunks (chunks); finish stop")
}

// proxyServer is an HTTP proxy that notes the first line and the authorization of each request.
func proxyServer(t *testing.T, seen chan<- string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go proxyOne(conn, seen)
		}
	}()
	return l.Addr().String()
}

func proxyOne(conn net.Conn, seen chan<- string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	seen <- req.Method + " " + req.RequestURI + " " + req.Header.Get("Proxy-Authorization")
	if req.Method != http.MethodConnect {
		io.Copy(io.Discard, req.Body)
		s := goodScript()
		s.writes = at(0, joined(0, 20)+finish("length")+done)
		replay(conn, func(time.Time) {}, s)
		return
	}
	if strings.HasPrefix(req.Host, "refused.test") {
		io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\n\r\n")
		return
	}
	_, port, _ := net.SplitHostPort(req.Host)
	up, err := net.Dial("tcp", "127.0.0.1:"+port) // whatever the name
	if err != nil {
		return
	}
	defer up.Close()
	io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	go io.Copy(up, r)
	io.Copy(conn, up)
}

func TestProxy(t *testing.T) {
	seen := make(chan string, 10)
	address := proxyServer(t, seen)
	proxy := "http://user:passw0rd@" + address
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:passw0rd"))
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("HTTPS_PROXY", proxy)
	t.Setenv("NO_PROXY", "")

	cn := open(t, client.Config{BaseURL: "http://far.test:8000/v1"})
	if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != timeless(twenty) {
		t.Errorf("plain: %s", got)
	}
	if got, want := <-seen, "POST http://far.test:8000/v1/chat/completions "+auth; got != want {
		t.Errorf("the proxy saw %q, want %q", got, want)
	}

	c, err := client.New(client.Config{BaseURL: "https://refused.test/v1", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context()); err == nil || err.Error() != "could not connect: proxy refused: http 403" {
		t.Errorf("refused tunnel: %v", err)
	}
	if got, want := <-seen, "CONNECT refused.test:443 "+auth; got != want {
		t.Errorf("the proxy saw %q, want %q", got, want)
	}
}

func TestTunnel(t *testing.T) {
	seen := make(chan string, 10)
	address := proxyServer(t, seen)
	srv := secure(t, false)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	t.Setenv("HTTPS_PROXY", "http://"+address)
	t.Setenv("NO_PROXY", "")
	cn := open(t, client.Config{BaseURL: "https://far.test:" + port + "/v1", Insecure: true})
	if got := answer(cn.Do(t.Context(), client.Request{}, nil), false); got != timeless(twenty) {
		t.Error(got)
	}
	if got, want := <-seen, "CONNECT far.test:"+port+" "; got != want {
		t.Errorf("the proxy saw %q, want %q", got, want)
	}
}
