package simtest

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Network is the way between client and engine. It can fail in the ways that networks and servers have: connections break
// and new ones are refused, or are taken and closed at once, or everything stands still.
type Network struct {
	mu     sync.Mutex
	cut    bool
	reject bool          // while cut: take connections and close them, as a proxy before a dead server
	thawed chan struct{} // closed while bytes flow
	conns  map[net.Conn]bool
	opened int
}

func newNetwork() *Network {
	n := &Network{thawed: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(n.thawed)
	return n
}

// Cut breaks all connections and refuses new ones until Mend.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	for c := range n.conns {
		_ = c.Close() // it is to fail at the other end
	}
	clear(n.conns)
}

// Reject breaks all connections and closes new ones as soon as they are open, until Mend.
func (n *Network) Reject() {
	n.Cut()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reject = true
}

// Mend lets connections be opened again.
func (n *Network) Mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut, n.reject = false, false
}

// Freeze lets nothing through in either direction until Thaw; connections can be opened, as with a stopped process.
func (n *Network) Freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.thawed = make(chan struct{})
}

// Thaw lets go of everything that was held.
func (n *Network) Thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.thawed)
}

// Opened counts the connections that the loader's client opened so far.
func (n *Network) Opened() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened
}

func (n *Network) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.mu.Lock()
		cut, reject := n.cut, n.reject
		n.mu.Unlock()
		if reject {
			c, far := net.Pipe()
			return c, far.Close()
		}
		if cut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		c, err := dial(ctx, network, addr)
		if err == nil {
			n.mu.Lock()
			n.conns[c] = true
			n.mu.Unlock()
		}
		return c, err
	}
}

// counted counts the connections of one user of a dialer.
func (n *Network) counted(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.mu.Lock()
		n.opened++
		n.mu.Unlock()
		return dial(ctx, network, addr)
	}
}

// gate is closed while bytes flow.
func (n *Network) gate() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.thawed
}

// listener hands out connections of which the engine's end obeys the network.
type listener struct {
	net.Listener
	net *Network
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, net: l.net, closed: make(chan struct{})}, nil
}

// conn holds what passes while the network is frozen.
type conn struct {
	net.Conn
	net    *Network
	once   sync.Once
	closed chan struct{}
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wait()
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.wait()
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *conn) wait() {
	select {
	case <-c.net.gate():
	case <-c.closed:
	}
}
