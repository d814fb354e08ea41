package client

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of what a server may send around its body, in bytes.
const (
	maxHead     = 64 << 10
	maxTrailers = 64 << 10
)

// head is what we need of a response header.
type head struct {
	status      int
	contentType string // lower case, without parameters
	encoding    string // lower case
	length      int64  // -1: not given
	chunked     bool
	close       bool // the server closes after the body
	retryAfter  string
	date        string
	location    string
}

// parseHead parses a response header (RFC 9112, sections 2 to 6) at the start of b and returns its length.
// Length 0 without an error: more bytes are needed. Interim responses (1xx) are skipped.
func parseHead(b []byte) (head, int, error) {
	at := 0
	for {
		end := headEnd(b[at:])
		if end == 0 {
			if len(b) > maxHead {
				return head{}, 0, fmt.Errorf("response header is longer than %d bytes", maxHead)
			}
			return head{}, 0, checkStatusStart(b[at:])
		}
		h, err := parseHeadLines(string(b[at : at+end]))
		at += end
		if err != nil || h.status/100 != 1 {
			return h, at, err
		}
	}
}

// headEnd returns the length of the header including its empty line, 0 when that has not come.
func headEnd(b []byte) int {
	for i := 0; ; {
		lf := bytes.IndexByte(b[i:], '\n')
		if lf < 0 {
			return 0
		}
		i += lf + 1
		if rest := b[i:]; bytes.HasPrefix(rest, []byte("\n")) {
			return i + 1
		} else if bytes.HasPrefix(rest, []byte("\r\n")) {
			return i + 2
		}
	}
}

// checkStatusStart refuses at once what cannot become a status line, so that a server that speaks something
// else is not waited for.
func checkStatusStart(b []byte) error {
	const prefix = "HTTP/1."
	if n := min(len(b), len(prefix)); string(b[:n]) != prefix[:n] {
		return errNotHTTP(string(b))
	}
	return nil
}

func errNotHTTP(line string) error {
	return fmt.Errorf("answer is not HTTP/1.1: %.40q", line)
}

func parseHeadLines(text string) (head, error) {
	lines := strings.Split(text, "\n")
	h := head{length: -1}
	version, rest, _ := strings.Cut(strings.TrimSuffix(lines[0], "\r"), " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(version, "HTTP/1.") || err != nil || status < 100 || status > 999 {
		return h, errNotHTTP(lines[0])
	}
	h.status = status
	h.close = version == "HTTP/1.0"
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
		if err := h.set(strings.ToLower(name), strings.TrimSpace(value)); err != nil {
			return h, err
		}
	}
	if status == 204 || status == 304 {
		h.chunked, h.length = false, 0
	}
	return h, nil
}

func (h *head) set(name, value string) error {
	switch name {
	case "content-type":
		media, _, _ := strings.Cut(value, ";")
		h.contentType = strings.ToLower(strings.TrimSpace(media))
	case "content-encoding":
		h.encoding = strings.ToLower(value)
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("response has content-length %.40q", value)
		}
		h.length = n
	case "transfer-encoding":
		if !strings.EqualFold(value, "chunked") {
			return fmt.Errorf("response has transfer-encoding %.40q; only chunked is understood", value)
		}
		h.chunked = true
	case "connection":
		for token := range strings.SplitSeq(strings.ToLower(value), ",") {
			switch strings.TrimSpace(token) {
			case "close":
				h.close = true
			case "keep-alive":
				h.close = false
			}
		}
	case "retry-after":
		h.retryAfter = value
	case "date":
		h.date = value
	case "location":
		h.location = value
	}
	return nil
}

// framing cuts the body out of the bytes of a connection: chunked, of a known length, or up to the close
// (RFC 9112, sections 6 and 7). It reads nothing itself.
type framing struct {
	state framingState
	left  int64  // bytes of the chunk or body still to come
	in    []byte // bytes fed and not yet cut
	seen  int    // digits of the chunk size, or bytes of trailers
	blank bool   // the trailer line so far is empty
}

type framingState int

const (
	frameClose   framingState = iota // everything, until the connection closes
	frameLength                      // left bytes
	frameSize                        // chunked: in the hexadecimal size
	frameExt                         // after the size, up to LF
	frameData                        // in the data
	frameDataEnd                     // in the CRLF after the data
	frameTrailer                     // in the trailers
	frameDone
)

var errFraming = errors.New("malformed chunked body")

func newFraming(h head) framing {
	switch {
	case h.chunked:
		return framing{state: frameSize}
	case h.length == 0:
		return framing{state: frameDone}
	case h.length > 0:
		return framing{state: frameLength, left: h.length}
	}
	return framing{state: frameClose}
}

func (f *framing) feed(b []byte) { f.in = b }

func (f *framing) done() bool { return f.state == frameDone }

// next returns the next piece of the body among the bytes fed, and nil when there is none. Bytes after the end
// of the body are left alone.
func (f *framing) next() ([]byte, error) {
	for len(f.in) > 0 {
		switch f.state {
		case frameDone:
			return nil, nil
		case frameClose:
			b := f.in
			f.in = nil
			return b, nil
		case frameLength, frameData:
			return f.take(), nil
		default:
			c := f.in[0]
			f.in = f.in[1:]
			if err := f.step(c); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// take cuts what there is of the current chunk or body.
func (f *framing) take() []byte {
	n := min(f.left, int64(len(f.in)))
	b := f.in[:n]
	f.in = f.in[n:]
	f.left -= n
	if f.left == 0 {
		if f.state == frameLength {
			f.state = frameDone
		} else {
			f.state = frameDataEnd
		}
	}
	return b
}

// step takes one byte of what stands between the data of chunks.
func (f *framing) step(c byte) error {
	switch f.state {
	case frameSize:
		if d, ok := hexDigit(c); ok {
			f.seen++
			if f.seen > 15 {
				return errFraming
			}
			f.left = f.left<<4 | int64(d)
			return nil
		}
		if f.seen == 0 || (c != ';' && c != '\r' && c != '\n' && c != ' ' && c != '\t') {
			return errFraming
		}
		f.state = frameExt
		if c != '\n' {
			return nil
		}
		fallthrough
	case frameExt:
		if c != '\n' {
			return nil
		}
		f.seen = 0
		f.state = frameData
		if f.left == 0 {
			f.state, f.blank = frameTrailer, true
		}
	case frameDataEnd:
		switch c {
		case '\r':
		case '\n':
			f.state = frameSize
		default:
			return errFraming
		}
	case frameTrailer:
		f.seen++
		switch {
		case c == '\n' && f.blank:
			f.state = frameDone
		case f.seen > maxTrailers:
			return errFraming
		case c == '\n':
			f.blank = true
		case c != '\r':
			f.blank = false
		}
	}
	return nil
}

func hexDigit(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}
