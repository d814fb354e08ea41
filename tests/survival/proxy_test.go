package survival

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A proxy passes TCP on to an engine, until it drops everything: then its connections are reset and new ones refused.
type proxy struct {
	t      testing.TB
	target string
	addr   string

	mu       sync.Mutex
	listener net.Listener
	conns    map[*net.TCPConn]bool
	wg       sync.WaitGroup
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p := &proxy{t: t, target: target, addr: "127.0.0.1:0", conns: map[*net.TCPConn]bool{}}
	p.mend()
	t.Cleanup(func() {
		p.drop()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.addr + "/v1" }

// mend listens, at the address of before.
func (p *proxy) mend() {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Errorf("proxy: %v", err)
		return
	}
	p.mu.Lock()
	p.listener, p.addr = l, l.Addr().String()
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // dropped
			}
			p.wg.Go(func() { p.pass(c.(*net.TCPConn)) })
		}
	})
}

// drop resets every connection and refuses new ones.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
	for c := range p.conns {
		_ = c.SetLinger(0) // a reset, not an end
		_ = c.Close()
	}
	clear(p.conns)
}

// keep remembers a connection, to be reset by drop.
func (p *proxy) keep(c *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *proxy) pass(in *net.TCPConn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the engine is away: so is what stands before it
	}
	defer out.Close()
	p.keep(in)
	p.keep(out.(*net.TCPConn))
	ended := make(chan struct{}, 2)
	copyAll := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // how it ends is what is being tested at the other side
		ended <- struct{}{}
	}
	go copyAll(out, in)
	go copyAll(in, out)
	<-ended
}
