package simengine

import (
	"context"
	"net"
	"sync"
)

// Pipe returns an in-memory listener and the dial function that connects to it, for measuring in virtual time: no
// socket is involved, so a testing/synctest bubble's clock can advance. Network and address are ignored.
func Pipe() (net.Listener, func(ctx context.Context, network, addr string) (net.Conn, error)) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	return l, l.dial
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "127.0.0.1:80" }
