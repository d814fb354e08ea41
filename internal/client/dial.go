package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"speedmatrix/internal/event"
)

// connect opens a connection to the server: dial, proxy, TLS. Its error is a *fault whose text names no address.
func (c *Client) connect(ctx context.Context, m *meter) (transport, *wire, error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.cfg.Timeout, maxConnect))
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, nil, c.unreachable(ctx, err)
	}
	w := newWire(conn, c.cfg.Epoch)
	stop := context.AfterFunc(ctx, w.cut)
	t, err := c.upgrade(ctx, w, m)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // the error that led here is the one to report
		return nil, nil, c.unreachable(ctx, err)
	}
	return t, w, nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	address := c.address
	if c.proxy != nil {
		address = hostPort(c.proxy)
	}
	if c.cfg.Dial != nil {
		return c.cfg.Dial(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// upgrade makes the transport on a fresh connection.
func (c *Client) upgrade(ctx context.Context, w *wire, m *meter) (transport, error) {
	if c.tls == nil {
		return newHTTP1(w, w, m), nil
	}
	if c.proxy != nil {
		if err := c.tunnel(w); err != nil {
			return nil, err
		}
	}
	conn := tls.Client(w, c.tls)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if conn.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		return newHTTP1(w, conn, m), nil
	}
	return newHTTP2(ctx, c, w, conn, m)
}

// tunnel asks the proxy for a way through to the server (RFC 9110, section 9.3.6).
func (c *Client) tunnel(w *wire) error {
	request := "CONNECT " + c.address + " HTTP/1.1\r\nHost: " + c.address + "\r\n" + proxyAuthorization(c.proxy) + "\r\n"
	if _, err := w.Write([]byte(request)); err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	b := make([]byte, 0, 4<<10)
	for {
		n, err := w.Read(b[len(b):cap(b)])
		if err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
		b = b[:len(b)+n]
		h, used, err := parseHead(b)
		switch {
		case err != nil:
			return fmt.Errorf("proxy: %w", err)
		case used == 0 && len(b) == cap(b):
			return errors.New("proxy: answer is too long")
		case used == 0:
			continue
		case h.status != 200:
			return fmt.Errorf("proxy refused: http %d", h.status)
		case used != len(b):
			return errors.New("proxy: answer is followed by bytes that nobody asked for")
		}
		return nil
	}
}

// unreachable makes the fault of a connection that could not be opened.
func (c *Client) unreachable(ctx context.Context, err error) *fault {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &fault{outcome: event.Stopped}
	}
	text := cause(err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = "timed out after " + min(c.cfg.Timeout, maxConnect).Round(time.Millisecond).String()
	} else if prefix, _, ok := strings.Cut(err.Error(), ": "); ok && (prefix == "TLS" || prefix == "proxy") && !strings.HasPrefix(text, prefix) {
		text = prefix + ": " + text
	}
	return faultf(event.Unreachable, "could not connect: %s", text)
}
