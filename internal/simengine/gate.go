package simengine

import "sync"

// gate counts those inside and, once closed, lets nobody in.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when the gate is closed and nobody is inside
}

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether the caller may go in; it must then leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut closes the gate and waits until nobody is inside. It is called once.
func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
		close(g.empty)
	}
	g.mu.Unlock()
	<-g.empty
}
