package client

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// prepared is a request as it goes over the wire.
type prepared struct {
	client *Client
	fields fields // optional fields that it carries
	wire   []byte // HTTP/1.1 header and body
	bodyAt int    // where in wire the body begins
	prompt string // first 16 hex digits of the prompt's SHA-256
}

func (p *prepared) body() []byte { return p.wire[p.bodyAt:] }

// Prepare encodes the request's body, so that Do has nothing to do before it writes. The result holds the body
// beside the prompt; changing any field of it afterwards has no effect on what is sent. A request that was not
// prepared is encoded by Do.
func (c *Client) Prepare(req Request) Request {
	req.prepared = c.encode(req)
	return req
}

// encode returns req's wire form, the one made by Prepare if it still holds.
func (c *Client) encode(req Request) *prepared {
	f := c.fields(req)
	if p := req.prepared; p != nil && p.client == c && p.fields == f {
		return p
	}
	// The header stands right-aligned before the body, since its length is known only after it.
	const lengthRoom = 20 + len("\r\n\r\n")
	room := len(c.start) + lengthRoom
	b := make([]byte, room, room+len(req.Prompt)+len(req.Prompt)/16+512)
	b = c.dialect.body(b, c.cfg.Model, req, f)
	length := strconv.AppendInt(nil, int64(len(b)-room), 10)
	length = append(length, "\r\n\r\n"...)
	at := room - len(length) - len(c.start)
	copy(b[at:], c.start)
	copy(b[room-len(length):], length)
	sum := sha256.Sum256([]byte(req.Prompt))
	return &prepared{client: c, fields: f, wire: b[at:], bodyAt: room - at, prompt: hex.EncodeToString(sum[:8])}
}

// fields are the optional fields that req is sent with.
func (c *Client) fields(req Request) fields {
	f := c.optional(req) &^ fields(c.refused.Load())
	if f&streamOptions == 0 {
		f &^= continuousUsage
	}
	return f
}

// optional are the optional fields that req asks for and the dialect knows.
func (c *Client) optional(req Request) fields {
	if c.dialect.lines {
		return 0
	}
	f := req.wanted()
	if c.cfg.TokenTimings {
		f |= tokenTimings
	}
	return f
}
