package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"speedmatrix/internal/event"
)

// http2conn speaks HTTP/2 on a connection. Package net/http reads it from a goroutine of its own, so an event's
// stamp is that of the newest bytes when we come to read it: never after that read, and off only by bytes that
// arrived in between.
type http2conn struct {
	w      *wire
	meter  *meter
	cc     *http.ClientConn
	client *Client

	request *http.Request
	body    io.ReadCloser
	buf     []byte
}

func newHTTP2(ctx context.Context, c *Client, w *wire, conn *tls.Conn, m *meter) (*http2conn, error) {
	made := &http.Transport{
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
		DialTLSContext:     func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	cc, err := made.NewClientConn(ctx, "https", c.address)
	if err != nil {
		return nil, err
	}
	return &http2conn{w: w, meter: m, cc: cc, client: c, buf: make([]byte, readSize)}, nil
}

func (t *http2conn) alive() bool { return t.cc.Err() == nil && t.cc.Available() > 0 }

// send only makes the request; head sends it. Cutting the connection ends it, so ctx is not needed.
func (t *http2conn) send(ctx context.Context, p *prepared) error {
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, t.client.target.String(), bytes.NewReader(p.body()))
	if err != nil {
		return err
	}
	for _, h := range t.client.header {
		if h[0] == "Host" {
			r.Host = h[1]
			continue
		}
		r.Header.Add(h[0], h[1])
	}
	t.request = r
	return t.w.SetWriteDeadline(time.Time{}) // HTTP/2 writes while it reads; a peer that takes nothing says nothing
}

func (t *http2conn) head() (head, error) {
	response, err := t.cc.RoundTrip(t.request)
	if err != nil {
		return head{}, t.ended(err)
	}
	t.meter.read(t.w)
	t.body = response.Body
	h := head{status: response.StatusCode, length: response.ContentLength}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Retry-After", "Date", "Location"} {
		if err := h.set(strings.ToLower(name), response.Header.Get(name)); err != nil {
			return h, &fault{event.BadProtocol, err.Error()}
		}
	}
	return h, nil
}

func (t *http2conn) read() ([]byte, error) {
	n, err := t.body.Read(t.buf)
	if n > 0 {
		t.meter.read(t.w)
		return t.buf[:n], nil
	}
	if err == io.EOF {
		return nil, io.EOF
	}
	return nil, t.ended(err)
}

func (t *http2conn) ended(err error) error {
	var stream http2.StreamError
	switch {
	case errors.As(err, &stream):
		return faultf(event.Reset, "HTTP/2 stream reset: %v", stream.Code)
	case t.w.finished.Load() && !t.w.cutOff.Load():
		return &fault{event.Reset, "TLS connection closed without notice"}
	}
	return err
}

func (t *http2conn) finish() bool {
	if t.body != nil {
		_ = t.body.Close() // tells the server that no more is wanted; the stream is over either way
		t.body = nil
	}
	return t.w.rest() == nil && t.alive()
}

func (t *http2conn) close() error { return t.cc.Close() }
