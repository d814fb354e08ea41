package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
)

// transport is one open connection and the HTTP version spoken on it. One request is under way at a time.
type transport interface {
	// alive reports whether another request can be sent: the peer has not closed, the response before is over.
	alive() bool
	// send writes a request. ctx ends the whole exchange.
	send(ctx context.Context, p *prepared) error
	// head waits for the response header.
	head() (head, error)
	// read returns the next bytes of the body, valid until the next call. io.EOF: the body is whole, or ended by
	// the close of a connection that gave no length.
	read() ([]byte, error)
	// finish ends the exchange; reusable says that the connection can serve another one, now or once the rest of
	// the response has come.
	finish() (reusable bool)
	close() error
}

// meter counts the reads of one request and hands their lags on.
type meter struct {
	reads int64
	live  *Live
}

// read notes that a read brought bytes.
func (m *meter) read(w *wire) {
	m.reads++
	if m.live == nil {
		return
	}
	m.live.Reads.Add(1)
	if !w.stamped.Load() {
		return // the lag is not known
	}
	lag := w.lag.Load() / 1000
	m.live.LagUS.Store(lag)
	if m.live.Lag != nil {
		m.live.Lag.Add(lag)
	}
}

// decoded returns a reader of the body with its content coding removed. It returns what each read brought: the
// decoders hand out all that a flushed block holds.
func decoded(encoding string, read func() ([]byte, error)) (func() ([]byte, error), error) {
	if plainEncoding(encoding) {
		return read, nil
	}
	source := &bodyReader{read: read}
	var r io.Reader
	switch encoding {
	case "gzip", "x-gzip":
		r = &lateGzip{source: source}
	case "br":
		r = brotli.NewReader(source)
	default:
		return nil, fmt.Errorf("response has content-encoding %.40q; only gzip and br are understood", encoding)
	}
	buf := make([]byte, readSize)
	return func() ([]byte, error) {
		n, err := r.Read(buf)
		if n > 0 {
			return buf[:n], nil
		}
		if source.err != nil && source.err != io.EOF {
			return nil, source.err // how the connection ended, not what the decoder made of it
		}
		return nil, err
	}, nil
}

func plainEncoding(encoding string) bool { return encoding == "" || encoding == "identity" }

// lateGzip reads the gzip header with the first bytes, not before them.
type lateGzip struct {
	source *bodyReader
	r      *gzip.Reader
}

func (g *lateGzip) Read(p []byte) (int, error) {
	if g.r == nil {
		r, err := gzip.NewReader(g.source)
		if err != nil {
			return 0, err
		}
		g.r = r
	}
	return g.r.Read(p)
}

// bodyReader makes an io.Reader and io.ByteReader of a transport's read; the latter keeps decoders from reading
// ahead of what they need.
type bodyReader struct {
	read func() ([]byte, error)
	in   bytes.Reader
	err  error
}

func (b *bodyReader) fill() error {
	for b.in.Len() == 0 {
		if b.err != nil {
			return b.err
		}
		data, err := b.read()
		b.in.Reset(data)
		b.err = err
	}
	return nil
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if err := b.fill(); err != nil {
		return 0, err
	}
	return b.in.Read(p)
}

func (b *bodyReader) ReadByte() (byte, error) {
	if err := b.fill(); err != nil {
		return 0, err
	}
	return b.in.ReadByte()
}
