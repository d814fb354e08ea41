package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/client"
)

// ending is what the server does after its last write.
type ending int

const (
	endWhole ending = iota // ends the body as HTTP wants it and keeps the connection
	endClose               // closes cleanly, without the last chunk of a chunked body
	endReset               // resets the connection
	endHang                // says nothing more
)

// write is one flush of the server: body bytes at an instant after it has read the request.
type write struct {
	at   time.Duration
	body string
}

// script is an answer, replayed to the client under test.
type script struct {
	status string // "200 OK" when empty
	header string // further header lines, each with CRLF; a Content-Type replaces the event stream's
	writes []write
	end    ending
	plain  bool   // no chunked coding: the body ends with the connection
	trail  string // trailers of a chunked body
}

func (s script) head() string {
	status := s.status
	if status == "" {
		status = "200 OK"
	}
	h := "HTTP/1.1 " + status + "\r\n" + s.header
	if !strings.Contains(s.header, "Content-Type") {
		h += "Content-Type: text/event-stream\r\n"
	}
	if !s.plain {
		h += "Transfer-Encoding: chunked\r\n"
	}
	return h + "\r\n"
}

// frame puts body bytes into the body's coding.
func (s script) frame(body string) string {
	if s.plain {
		return body
	}
	return strconv.FormatInt(int64(len(body)), 16) + "\r\n" + body + "\r\n"
}

func (s script) last() string {
	if s.plain || s.end != endWhole {
		return ""
	}
	return "0\r\n" + s.trail + "\r\n"
}

// whole is the answer as the bytes on the connection.
func (s script) whole() string {
	var b strings.Builder
	b.WriteString(s.head())
	for _, w := range s.writes {
		b.WriteString(s.frame(w.body))
	}
	return b.String() + s.last()
}

// serve answers requests on conn with the scripts in turn, the last one again and again, until the connection ends.
// sent is told the instant just before each write.
func serve(conn net.Conn, sent func(time.Time), scripts ...script) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for i := 0; ; i++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if !replay(conn, sent, scripts[min(i, len(scripts)-1)]) {
			return
		}
	}
}

// replay writes one answer and reports whether the connection is still of use.
func replay(conn net.Conn, sent func(time.Time), s script) bool {
	began := time.Now()
	if _, err := io.WriteString(conn, s.head()); err != nil {
		return false
	}
	for _, w := range s.writes {
		time.Sleep(w.at - time.Since(began))
		sent(time.Now())
		if _, err := io.WriteString(conn, s.frame(w.body)); err != nil {
			return false
		}
	}
	if _, err := io.WriteString(conn, s.last()); err != nil {
		return false
	}
	switch {
	case s.end == endReset:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return false
	case s.end == endHang:
		_, _ = conn.Read(make([]byte, 1)) // until the client gives up
		return false
	}
	return s.end == endWhole && !s.plain
}

// pipeDial connects to serve over net.Pipe, for virtual time. A pipe knows no reset, so its end is turned into one.
func pipeDial(scripts ...script) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serve(theirs, func(time.Time) {}, scripts...)
		if scripts[0].end == endReset {
			return resetConn{ours}, nil
		}
		return ours, nil
	}
}

type resetConn struct{ net.Conn }

func (c resetConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = syscall.ECONNRESET
	}
	return n, err
}

// server replays scripts on a real socket and keeps the instants of its writes.
type server struct {
	url string
	mu  sync.Mutex
	at  []time.Time
}

func listen(t testing.TB, scripts ...script) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String() + "/v1"}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { serve(conn, s.note, scripts...) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return s
}

func (s *server) note(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, at)
}

func (s *server) sent() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.at...)
}

// splitConn is an in-memory connection that answers anything with given reads, 1 ms of virtual time between them.
type splitConn struct {
	net.Conn // nil: whatever is not implemented is not used
	pieces   []string
	end      ending
	deadline time.Time
	began    bool
}

func (c *splitConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *splitConn) Close() error                { return nil }

func (c *splitConn) SetWriteDeadline(time.Time) error { return nil }

func (c *splitConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }
func (c *splitConn) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *splitConn) Read(p []byte) (int, error) {
	if !c.deadline.IsZero() && !c.deadline.After(time.Now()) {
		return 0, os.ErrDeadlineExceeded
	}
	for len(c.pieces) > 0 && c.pieces[0] == "" {
		c.pieces, c.began = c.pieces[1:], true
	}
	if c.began {
		time.Sleep(time.Millisecond)
		c.began = false
	}
	switch {
	case len(c.pieces) > 0:
		n := copy(p, c.pieces[0])
		c.pieces[0] = c.pieces[0][n:]
		return n, nil
	case c.end == endReset:
		return 0, syscall.ECONNRESET
	case c.end == endHang:
		time.Sleep(time.Until(c.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return 0, io.EOF
}

// open makes a client with its connection, closed when the test ends.
func open(t testing.TB, cfg client.Config) *client.Conn {
	t.Helper()
	if cfg.BaseURL == "" {
		cfg.BaseURL = "http://server.test/v1"
	}
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cn, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cn.Close() })
	return cn
}

// answer is the result in one line; with times the instants that METRICS defines, in milliseconds.
func answer(r client.Result, times bool) string {
	rec := &r.Record
	var b strings.Builder
	fmt.Fprintf(&b, "%s", rec.Outcome)
	if rec.Outcome.Failed() {
		fmt.Fprintf(&b, ": %s", *rec.Error)
	}
	fmt.Fprintf(&b, "; %d tokens in %d chunks (%s)", rec.Tokens(), len(rec.ChunkUS), rec.TokenSource)
	if rec.FinishReason != nil {
		fmt.Fprintf(&b, "; finish %s", *rec.FinishReason)
	}
	if n := len(rec.ChunkUS); times && n > 0 {
		ms := func(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'g', 5, 64) }
		fmt.Fprintf(&b, "; TTFT %s", ms(rec.ChunkUS[0]))
		switch {
		case rec.VisibleUS == nil:
			b.WriteString("; TTFO unknown")
		case *rec.VisibleUS != rec.ChunkUS[0]:
			fmt.Fprintf(&b, "; TTFO %s", ms(*rec.VisibleUS))
		}
		if after := rec.Tokens() - int64(rec.ChunkTokens[0]); n > 1 && after > 0 {
			fmt.Fprintf(&b, "; between tokens %.4g", float64(rec.ChunkUS[n-1]-rec.ChunkUS[0])/float64(after)/1000)
		}
		fmt.Fprintf(&b, "; end to end %s", ms(rec.ChunkUS[n-1]))
	}
	if times && r.Reads.Merged > 0 {
		fmt.Fprintf(&b, "; %d reads merged arrivals", r.Reads.Merged)
	}
	return b.String()
}
