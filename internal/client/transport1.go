package client

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"speedmatrix/internal/event"
)

// readSize is the size of a connection's read buffer, in bytes: some 40 usual events.
const readSize = 8 << 10

// http1 speaks HTTP/1.1 on a connection.
type http1 struct {
	w     *wire
	conn  net.Conn // w, or TLS over it
	meter *meter

	buf     []byte
	body    framing
	close1  bool // the server closes after this response
	pending bool // the response was left before its last bytes
}

func newHTTP1(w *wire, conn net.Conn, m *meter) *http1 {
	return &http1{w: w, conn: conn, meter: m, buf: make([]byte, readSize)}
}

// alive looks without waiting whether the peer has closed. The last bytes of a response that was left when its
// events were over are read first; they are on their way, and get maxTail.
func (t *http1) alive() bool {
	if t.pending && !t.readTail() {
		return false
	}
	if t.w.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	t.w.poll = true
	_, err := t.conn.Read(t.buf[:1])
	t.w.poll = false
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func (t *http1) readTail() bool {
	if t.w.begin(maxTail) != nil {
		return false
	}
	t.meter.live = nil // these bytes belong to no request
	begun := time.Now()
	for time.Since(begun) < maxTail {
		if _, err := t.read(); err != nil {
			t.pending = false
			return err == io.EOF && t.body.done()
		}
	}
	return false
}

func (t *http1) send(_ context.Context, p *prepared) error {
	t.pending = false
	if _, err := t.conn.Write(p.wire); err != nil {
		return err
	}
	return t.w.SetWriteDeadline(time.Time{}) // TLS may have to write while it reads, at any time
}

func (t *http1) head() (head, error) {
	n := 0
	for {
		if n == len(t.buf) {
			t.buf = append(t.buf, make([]byte, len(t.buf))...)
		}
		m, err := t.conn.Read(t.buf[n:])
		if err != nil {
			if err = t.ended(err); err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return head{}, err
		}
		t.meter.read(t.w)
		n += m
		h, used, err := parseHead(t.buf[:n])
		if err != nil {
			return h, &fault{event.BadProtocol, err.Error()}
		}
		if used > 0 {
			t.body, t.close1 = newFraming(h), h.close
			t.body.feed(t.buf[used:n])
			return h, nil
		}
	}
}

func (t *http1) read() ([]byte, error) {
	for {
		b, err := t.body.next()
		if err != nil {
			return nil, &fault{event.BadProtocol, err.Error()}
		}
		if len(b) > 0 {
			return b, nil
		}
		if t.body.done() {
			return nil, io.EOF
		}
		n, err := t.conn.Read(t.buf)
		if err != nil {
			return nil, t.ended(err)
		}
		t.meter.read(t.w)
		t.body.feed(t.buf[:n])
	}
}

// follow hands the pieces of the body to feed until that returns false, or until read would fail: then with its error.
func (t *http1) follow(feed func([]byte) bool) error {
	over, err := t.cut(feed)
	if over || err != nil {
		return err
	}
	werr := t.w.follow(t.buf, func(n int) bool {
		t.meter.read(t.w)
		t.body.feed(t.buf[:n])
		over, err = t.cut(feed)
		return !over && err == nil
	})
	if werr != nil {
		return t.ended(werr)
	}
	return err
}

// cut feeds the pieces of the body that are there. over: feed wants no more.
func (t *http1) cut(feed func([]byte) bool) (over bool, err error) {
	for {
		b, err := t.body.next()
		switch {
		case err != nil:
			return false, &fault{event.BadProtocol, err.Error()}
		case len(b) > 0:
			if !feed(b) {
				return true, nil
			}
		case t.body.done():
			return false, io.EOF
		default:
			return false, nil
		}
	}
}

// followable reports whether follow can be used: the body is read by recvmsg itself, without TLS between.
func (t *http1) followable() bool { return t.w.kernel != nil && t.conn == net.Conn(t.w) }

// ended tells how the connection ended inside a response: io.EOF when its close is the end of the body,
// io.ErrUnexpectedEOF when it came too early. TLS that ends without its notice may have been cut by anyone; the tls
// package says io.EOF for it, so we look whether the end came from below.
func (t *http1) ended(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if t.conn != net.Conn(t.w) && t.w.finished.Load() {
		return &fault{event.Reset, "TLS connection closed without notice"}
	}
	if t.body.state == frameClose {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

func (t *http1) finish() bool {
	t.pending = !t.body.done()
	unasked := t.body.done() && len(t.body.in) > 0
	return !t.close1 && t.body.state != frameClose && !unasked
}

func (t *http1) close() error {
	if t.w.cutOff.Load() {
		return t.w.Close() // at once: TLS would still want to say goodbye
	}
	return t.conn.Close()
}
