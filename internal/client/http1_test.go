package client

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// unframe parses a response fed in pieces: status, body, and how it ended.
func unframe(pieces ...string) string {
	var buf []byte
	var f framing
	var body bytes.Buffer
	begun := false
	for _, p := range pieces {
		if !begun {
			buf = append(buf, p...)
			h, n, err := parseHead(buf)
			if err != nil {
				return err.Error()
			}
			if n == 0 {
				continue
			}
			begun = true
			f = newFraming(h)
			fmt.Fprintf(&body, "%d|", h.status)
			p = string(buf[n:])
		}
		f.feed([]byte(p))
		for {
			b, err := f.next()
			if err != nil {
				return body.String() + "|" + err.Error()
			}
			if len(b) == 0 {
				break
			}
			body.Write(b)
		}
	}
	switch {
	case !begun:
		return "incomplete"
	case f.done():
		return body.String() + "|done"
	}
	return body.String() + "|open"
}

func TestFraming(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := unframe(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if got := unframe(strings.Split(in, "")...); got != want {
			t.Errorf("%q bytewise: got %q, want %q", in, got, want)
		}
	}
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	check(chunked+"3\r\nabc\r\n0\r\n\r\n", "200|abc|done")
	check(chunked+"3;ext=\"a;b\"\r\nabc\r\nA \r\n0123456789\r\n0\r\nT: 1\r\nU: 2\r\n\r\n", "200|abc0123456789|done")
	check(chunked+"3\nabc\n0\n\n", "200|abc|done")
	check(chunked+"03\r\nab", "200|ab|open")
	check(chunked+"3\r\nabc", "200|abc|open")
	check(chunked+"3\r\nabcd", "200|abc|malformed chunked body")
	check(chunked+"\r\nabc", "200||malformed chunked body")
	check(chunked+"ffffffffffffffff\r\n", "200||malformed chunked body")
	check(chunked+"-1\r\n", "200||malformed chunked body")
	check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", "200|abc|done")
	check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "200|ab|open")
	check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200||done")
	check("HTTP/1.1 200\r\n\r\nto the close", "200|to the close|open")
	check("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nab", "204||done")
	check("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\na", "200|a|open")
	check("HTTP/1.1 200 OK\r\nX: y\r\n", "incomplete")
}

func TestHead(t *testing.T) {
	h, n, err := parseHead([]byte("HTTP/1.1 429 Too Many\r\ncontent-type: Text/Event-Stream ; charset=utf-8\r\nRETRY-AFTER:  7 \r\n" +
		"Date: d\r\nContent-Encoding: GZIP\r\nConnection: foo, Close\r\nLocation: /x\r\n\r\nrest"))
	want := head{status: 429, contentType: "text/event-stream", encoding: "gzip", length: -1, close: true, retryAfter: "7", date: "d", location: "/x"}
	if err != nil || n == 0 || h != want {
		t.Errorf("%d bytes, %v: %+v, want %+v", n, err, h, want)
	}
	for _, v := range []struct {
		text  string
		close bool
	}{{"HTTP/1.0 200 OK\r\n\r\n", true}, {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", false}, {"HTTP/1.1 200 OK\r\n\r\n", false}} {
		if h, _, _ := parseHead([]byte(v.text)); h.close != v.close {
			t.Errorf("%q: close %v", v.text, h.close)
		}
	}
}

// FuzzResponse demands that a response means the same however it is cut, and that nothing makes its parser panic.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 3\n\nabcd", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", "SSH-2.0", "HTTP/1.", "",
	} {
		f.Add(s, uint16(3))
		f.Add(s, uint16(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, s string, at uint16) {
		i := int(at) % (len(s) + 1)
		whole := unframe(s)
		if got := unframe(s[:i], s[i:]); got != whole && !strings.Contains(whole, "not HTTP") {
			t.Fatalf("%q cut at %d: %q, whole %q", s, i, got, whole)
		}
	})
}

// FuzzLines demands that newline-delimited lines are the same however they are cut.
func FuzzLines(f *testing.F) {
	f.Add("{}\n{\"a\":1}\n\nrest", uint16(4))
	f.Add("\n", uint16(0))
	lines := func(pieces ...string) string {
		var p lineParser
		var out []string
		for _, s := range pieces {
			b := []byte(s)
			p.feed(b)
			for line, ok, _ := p.next(); ok; line, ok, _ = p.next() {
				out = append(out, string(line))
			}
			clear(b)
		}
		return fmt.Sprintf("%q %q", out, p.rest())
	}
	f.Fuzz(func(t *testing.T, s string, at uint16) {
		i := int(at) % (len(s) + 1)
		parts := strings.Split(s, "\n")
		want := fmt.Sprintf("%q %q", append([]string(nil), parts[:len(parts)-1]...), parts[len(parts)-1])
		if got := lines(s[:i], s[i:]); got != want {
			t.Fatalf("%q cut at %d: %s, want %s", s, i, got, want)
		}
	})
}

// Taking a token allocates nothing, by the usual events and by those with a count.
func TestNoAllocationsPerToken(t *testing.T) {
	seen := 0
	s := stream{dialect: chat(), sink: func(int64, int64) { seen++ }}
	s.reset(512)
	s.rec.us, s.rec.chars, s.rec.grown = make([]int64, 0, 1<<14), make([]int32, 0, 1<<14), make([]int32, 0, 1<<14)
	events := [][]byte{
		[]byte("data: " + seeds()[1] + "\n\n"),
		[]byte("data: {\"choices\":[{\"delta\":{\"content\":\"é\\n\"}}]}\n\n: ping\n\n"),
		[]byte("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"x\""), []byte("}}]}\n\n"),
	}
	f := framing{state: frameSize}
	feed := func() {
		for _, e := range events {
			f.feed(e)
			f.state = frameClose
			b, _ := f.next()
			s.feed(b, int64(seen))
		}
	}
	for range 3000 { // the tail of the text and the recorder grow to their size
		feed()
	}
	if n := testing.AllocsPerRun(200, feed); n != 0 {
		t.Errorf("%v allocations for 3 tokens", n)
	}
	if s.failure != nil || seen != 3*3201 {
		t.Errorf("%d tokens, %v", seen, s.failure)
	}
}
