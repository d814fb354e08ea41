package client

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// wire is the innermost connection, below TLS: it stamps each read that brings bytes, and it carries the
// time-out so that what lies above (TLS, HTTP) sees only its end result.
type wire struct {
	net.Conn
	kernel *receiver // nil: no kernel stamps on this connection
	clock  clock

	// Set by Read, which HTTP/2 calls from a goroutine of its own.
	at       atomic.Int64 // arrival of the latest bytes, nanoseconds from the epoch
	lag      atomic.Int64 // process read minus arrival, nanoseconds
	stamped  atomic.Bool  // at is the kernel's
	finished atomic.Bool  // the peer closed its side

	timeout atomic.Int64 // no bytes for this long ends a Read, nanoseconds; 0: never
	told    atomic.Int64 // latest arrival that told something, nanoseconds from the epoch
	cutOff  atomic.Bool  // set by cut: no Read waits any more
	poll    bool         // Read returns a time-out instead of waiting; never set under HTTP/2
}

func newWire(conn net.Conn, epoch time.Time) *wire {
	return &wire{Conn: conn, kernel: newReceiver(conn), clock: clock{epoch: epoch}}
}

// begin starts the idle time anew and arms the time-out.
func (w *wire) begin(timeout time.Duration) error {
	w.timeout.Store(int64(timeout))
	now := time.Now()
	w.at.Store(int64(now.Sub(w.clock.epoch)))
	w.told.Store(w.at.Load())
	return w.SetDeadline(now.Add(timeout))
}

// patience is for how many time-outs bytes may come that tell nothing: a header or an error without its end, comments,
// events without a token. Some servers send such bytes while a request waits for its turn.
const patience = 10

// progress says that the latest bytes told something.
func (w *wire) progress() { w.told.Store(w.at.Load()) }

// dripped reports whether bytes came all the time and told nothing for too long.
func (w *wire) dripped(now time.Time) bool {
	return now.Sub(w.clock.epoch)-time.Duration(w.told.Load()) >= patience*time.Duration(w.timeout.Load())
}

// rest lets the connection idle for any time.
func (w *wire) rest() error {
	w.timeout.Store(0)
	return w.SetDeadline(time.Time{})
}

// cut ends a Read or Write that is under way, and all later ones. It may be called from any goroutine.
func (w *wire) cut() {
	w.cutOff.Store(true)
	// An error means that the connection is closed already, which ends reads as well.
	_ = w.SetDeadline(time.Unix(1, 0))
}

// Read fills p with what has arrived and stamps it. Its deadline is moved only when it fires: then, if bytes
// came meanwhile, it is set again for the rest of the time, so that a busy stream pays nothing for it.
func (w *wire) Read(p []byte) (int, error) {
	for {
		n, stamp, err := w.receive(p)
		if n > 0 {
			w.stamp(stamp)
			return n, nil
		}
		if err == nil {
			continue // an empty write of a peer on a pipe
		}
		if errors.Is(err, io.EOF) {
			w.finished.Store(true)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !w.rearm() {
			return 0, err
		}
	}
}

// lookAgain is how often follow looks at a connection that says nothing.
const lookAgain = time.Second

// follow reads into p again and again and hands the length of each read, stamped, to got until that returns false.
// It needs kernel stamps. On a busy connection it is cheaper than Read.
func (w *wire) follow(p []byte, got func(n int) bool) error {
	sink := func(n int, stamp int64) bool {
		w.stamp(stamp)
		return got(n)
	}
	if err := w.SetReadDeadline(time.Now().Add(min(lookAgain, time.Duration(w.timeout.Load())))); err != nil {
		return err
	}
	for !w.cutOff.Load() {
		err := w.kernel.follow(p, sink)
		if err == nil {
			return nil
		}
		if err == io.EOF {
			w.finished.Store(true)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !w.rearm() {
			return err
		}
	}
	return os.ErrDeadlineExceeded
}

// receive reads once. stamp is the kernel's, in nanoseconds of Unix time, or 0.
func (w *wire) receive(p []byte) (n int, stamp int64, err error) {
	if w.kernel != nil {
		return w.kernel.receive(p, w.poll)
	}
	if w.poll {
		if err := w.SetReadDeadline(time.Unix(1, 0)); err != nil {
			return 0, 0, err
		}
	}
	n, err = w.Conn.Read(p)
	return n, 0, err
}

func (w *wire) stamp(kernel int64) {
	now := time.Now()
	if kernel != 0 && w.clock.jumped(now) {
		now = time.Now()
	}
	at, lag, ok := w.clock.arrival(now, kernel)
	w.at.Store(at)
	w.lag.Store(lag)
	w.stamped.Store(ok)
}

// rearm sets the deadline anew and reports whether there is time left to wait.
func (w *wire) rearm() bool {
	timeout := time.Duration(w.timeout.Load())
	if w.poll || timeout == 0 || w.cutOff.Load() {
		return false
	}
	now := time.Now()
	if w.dripped(now) {
		return false
	}
	left := timeout - (now.Sub(w.clock.epoch) - time.Duration(w.at.Load()))
	if left <= 0 {
		return false
	}
	if w.kernel != nil {
		left = min(left, lookAgain) // see receiver.follow
	}
	if w.SetReadDeadline(now.Add(left)) != nil {
		return false
	}
	return !w.cutOff.Load() // cut may have set its deadline just before ours
}
