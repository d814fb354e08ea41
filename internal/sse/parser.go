// Package sse cuts bytes into server-sent events, to the letter of the WHATWG event-stream standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html, sections 9.2.5 and 9.2.6).
//
// The steps: Feed hands over the bytes of one read, split anywhere; Next cuts the next line (CR, LF or
// CRLF, nothing else), applies its field to the event being built, and returns the event at its blank
// line; at the end of the stream Rest hands on what the standard throws away, because a server that
// broke off in the middle says there why it did.
//
// It never reads, never looks at a clock, never looks inside the data, and allocates nothing once its
// buffers have grown to the longest event that was split over reads. Bytes are not decoded: an invalid
// UTF-8 sequence cannot hide a line end or a colon, so the structure is the standard's, and replacing
// such sequences by U+FFFD is left to whoever reads the data.
package sse

import (
	"bytes"
	"errors"
)

// DefaultMax is the most memory one event or one line may take, in bytes.
const DefaultMax = 64 << 20

// maxIgnored bounds what Rest keeps of lines without a known field, in bytes.
const maxIgnored = 64 << 10

// keepBuffers is the capacity, in bytes, above which Reset gives a buffer back.
const keepBuffers = 1 << 20

// maxRetry caps the reconnection time, in milliseconds: longer ones mean "never".
const maxRetry = 1 << 53

// ErrTooLong says that one event or line took more than Parser.Max bytes. Nothing is parsed after it.
var ErrTooLong = errors.New("server-sent event is longer than the limit")

// Event is one dispatched event. Its slices are valid until the next call of any Parser method.
type Event struct {
	Type []byte // empty: "message"
	Data []byte // lines joined by LF, without the last LF
	ID   []byte // the stream's last event ID
}

// Rest is what a stream held that the standard drops. Its slices are valid until the next call of Feed or Reset.
type Rest struct {
	// Pending says that the stream ended inside an event that had data; Event is that event. A last line
	// without its line end is taken as if it had one.
	Pending bool
	Event   Event
	// Ignored holds the lines that have no known field (such as a bare JSON object), joined by LF, of the
	// whole stream; at most 64 KiB from the first on. Comments are not among them.
	Ignored []byte
}

// Parser holds one stream's state. The zero value is ready. It is not safe for concurrent use.
type Parser struct {
	Max int // most bytes of an event or line; zero: DefaultMax

	in  []byte // unread bytes of the latest Feed
	lf  int    // index in in of the next LF, len(in) when there is none
	lfK bool   // lf is known

	line   []byte // start of a line whose end has not come yet
	skipLF bool   // the line before ended with CR: an LF that follows belongs to it
	begun  bool   // the first bytes are past: no byte order mark any more

	one    []byte // the event's only data line so far, aliasing in
	data   []byte // its data lines, each followed by LF, once they had to be copied
	lines  int    // data lines of the event
	typ    []byte
	id     []byte // last event ID buffer
	lastID []byte // last event ID of the stream, set at dispatch

	retry   int64
	ignored []byte
	err     error
}

// Feed hands over the next bytes of the stream. They must stay unchanged until Next has returned false.
func (p *Parser) Feed(b []byte) {
	p.in, p.lfK = b, false
}

// Next returns the next event that is complete within the bytes fed so far, and false when more bytes are
// needed or Err is not nil.
func (p *Parser) Next() (Event, bool) {
	if p.err != nil {
		return Event{}, false
	}
	if p.lines == 0 {
		p.data = p.data[:0]
	}
	for {
		line, ok := p.cut()
		if !ok {
			p.keep()
			return Event{}, false
		}
		if len(line) == 0 {
			p.line = p.line[:0]
			if ev, ok := p.dispatch(); ok {
				return ev, true
			}
			continue
		}
		p.field(line)
		p.line = p.line[:0]
		if p.err != nil {
			return Event{}, false
		}
	}
}

// Err returns ErrTooLong once an event passed the limit.
func (p *Parser) Err() error { return p.err }

// Retry returns the reconnection time that the stream set last, in milliseconds; false when it set none.
func (p *Parser) Retry() (int64, bool) { return p.retry - 1, p.retry > 0 }

// Rest returns what is left when the stream has ended.
func (p *Parser) Rest() Rest {
	if len(p.line) > 0 {
		// The last line was never ended: apply it, so that what it says is not lost.
		line := p.unmark(p.line)
		if len(line) > 0 {
			p.field(line)
		}
		p.line = p.line[:0]
	}
	p.keep()
	r := Rest{Ignored: p.ignored}
	if p.lines > 0 {
		r.Pending = true
		r.Event = Event{Type: p.typ, Data: p.data[:len(p.data)-1], ID: p.lastID}
	}
	return r
}

// Reset makes the parser ready for another stream and keeps its buffers.
func (p *Parser) Reset() {
	*p = Parser{
		Max: p.Max, line: trim(p.line), data: trim(p.data), typ: trim(p.typ),
		id: trim(p.id), lastID: trim(p.lastID), ignored: trim(p.ignored),
	}
}

func trim(b []byte) []byte {
	if cap(b) > keepBuffers {
		return nil
	}
	return b[:0]
}

// cut returns the next whole line, without its end. A line that lies whole in the bytes fed is not copied.
func (p *Parser) cut() ([]byte, bool) {
	if p.skipLF && len(p.in) > 0 {
		p.skipLF = false
		if p.in[0] == '\n' {
			p.advance(1)
		}
	}
	if !p.lfK {
		p.lf = bytes.IndexByte(p.in, '\n')
		if p.lf < 0 {
			p.lf = len(p.in)
		}
		p.lfK = true
	}
	end := p.lf
	if cr := bytes.IndexByte(p.in[:end], '\r'); cr >= 0 {
		end = cr
	}
	if end == len(p.in) {
		if p.tooLong(len(p.line) + end) {
			return nil, false
		}
		p.line = append(p.line, p.in...)
		p.in, p.lfK = nil, false
		return nil, false
	}
	if p.tooLong(len(p.line) + end) {
		return nil, false
	}
	line := p.in[:end]
	if len(p.line) > 0 {
		p.line = append(p.line, line...)
		line = p.line
	}
	p.skipLF = p.in[end] == '\r'
	p.advance(end + 1)
	return p.unmark(line), true
}

// advance drops n bytes of the input and keeps the place of the next LF where it is still ahead.
func (p *Parser) advance(n int) {
	p.in = p.in[n:]
	p.lf -= n
	p.lfK = p.lfK && p.lf >= 0
}

// unmark removes the one byte order mark that may begin a stream.
func (p *Parser) unmark(line []byte) []byte {
	if p.begun {
		return line
	}
	p.begun = true
	return bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
}

// field applies one line that is not empty.
func (p *Parser) field(line []byte) {
	name, value, colon := line, line[len(line):], bytes.IndexByte(line, ':')
	switch {
	case colon == 0:
		return // a comment
	case colon > 0:
		name, value = line[:colon], line[colon+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		p.addData(value)
	case "event":
		p.typ = append(p.typ[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			p.id = append(p.id[:0], value...)
		}
	case "retry":
		p.setRetry(value)
	default:
		p.ignore(line)
	}
}

func (p *Parser) addData(value []byte) {
	p.lines++
	if p.lines == 1 && len(p.line) == 0 {
		p.one = value // it aliases the input: copied only when the input ends first
		return
	}
	p.settle()
	if p.tooLong(len(p.data) + len(value)) {
		return
	}
	p.data = append(append(p.data, value...), '\n')
}

// settle moves a data line that aliases the input into the parser's own buffer.
func (p *Parser) settle() {
	if p.one != nil {
		p.data = append(append(p.data[:0], p.one...), '\n')
		p.one = nil
	}
}

// keep makes the parser independent of the bytes fed.
func (p *Parser) keep() {
	p.settle()
	p.in, p.lfK = nil, false
}

func (p *Parser) setRetry(value []byte) {
	if len(value) == 0 {
		return
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
		n = min(n*10+int64(c-'0'), maxRetry)
	}
	p.retry = n + 1
}

func (p *Parser) ignore(line []byte) {
	room := maxIgnored - len(p.ignored)
	if len(p.ignored) > 0 && room > 0 {
		p.ignored = append(p.ignored, '\n')
		room--
	}
	p.ignored = append(p.ignored, line[:min(len(line), max(room, 0))]...)
}

// dispatch ends the event being built. The standard dispatches nothing when there was no data line.
func (p *Parser) dispatch() (Event, bool) {
	p.lastID = append(p.lastID[:0], p.id...)
	if p.lines == 0 {
		p.typ = p.typ[:0]
		return Event{}, false
	}
	ev := Event{Type: p.typ, Data: p.one, ID: p.lastID}
	if p.one == nil {
		ev.Data = p.data[:len(p.data)-1]
	}
	p.one, p.lines = nil, 0
	p.typ = p.typ[:0]
	return ev, true
}

func (p *Parser) tooLong(n int) bool {
	limit := p.Max
	if limit == 0 {
		limit = DefaultMax
	}
	if n > limit {
		p.err = ErrTooLong
	}
	return n > limit
}
