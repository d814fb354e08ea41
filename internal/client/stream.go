package client

import (
	"bytes"

	"speedmatrix/internal/event"
	"speedmatrix/internal/sse"
)

// stream turns the bytes of one response body into arrivals. It reads nothing and looks at no clock.
type stream struct {
	dialect dialect
	parser  sse.Parser
	lines   lineParser
	form    template
	chunk   chunk
	rec     recorder
	sink    func(us, tokens int64) // told of each arrival at once

	events  int    // events so far, of any kind
	idle    int    // bytes since the last of them
	most    int    // arrivals that are taken; 0: any number
	done    bool   // the server said that the stream is over
	doneUS  int64  // when
	failure *fault // what was wrong with an event, or what it reported
	abort   bool   // the request had an id, so a finish reason "abort" is our own doing
}

func (s *stream) reset(expect int) {
	s.parser.Reset()
	s.lines.reset()
	s.rec.reset(expect)
	s.form.reset()
	if cap(s.chunk.text) > 1<<20 {
		s.chunk.text = nil
	}
	s.events, s.idle, s.most, s.done, s.doneUS, s.failure = 0, 0, mostArrivals(expect), false, 0, nil
}

// mostArrivals is how many arrivals an answer of the given number of tokens may have. A server that cuts its text finer
// than tokens has some more of them, one that does not heed the number would never end.
func mostArrivals(tokens int) int {
	if tokens <= 0 {
		return 0
	}
	return 16*tokens + 4096
}

// over reports whether nothing more of the stream is wanted.
func (s *stream) over() bool { return s.done || s.failure != nil }

// feed takes bytes that arrived at us and handles the events that they complete.
func (s *stream) feed(b []byte, us int64) {
	before := s.events
	s.cut(b, us)
	if s.events > before {
		s.idle = 0
		return
	}
	// Comments keep a slow server's connection alive; without a bound they would keep a request alive for ever.
	if s.idle += len(b); s.idle > maxIdle && s.failure == nil {
		s.failure = faultf(event.BadProtocol, "%d MiB came without an event", maxIdle>>20)
	}
}

// maxIdle is how many bytes may come without completing an event. The longest event fits.
const maxIdle = sse.DefaultMax + 1<<20

// cut handles the events that end within b.
func (s *stream) cut(b []byte, us int64) {
	if s.dialect.lines {
		s.feedLines(b, us)
		return
	}
	s.parser.Feed(b)
	for !s.over() {
		ev, ok := s.parser.Next()
		if !ok {
			break
		}
		s.event(ev.Data, us, ev.Type)
	}
	if err := s.parser.Err(); err != nil && s.failure == nil {
		s.failure = faultf(event.BadProtocol, "%v", err)
	}
}

func (s *stream) feedLines(b []byte, us int64) {
	s.lines.feed(b)
	for !s.over() {
		line, ok, err := s.lines.next()
		if err != nil {
			s.failure = faultf(event.BadProtocol, "%v", err)
		}
		if !ok {
			break
		}
		s.event(line, us, nil)
	}
}

// end uses what the stream held outside its events, when it has ended without saying so at us: an event without its
// blank line, and an error that was not an event.
func (s *stream) end(us int64) {
	if s.over() {
		return
	}
	if s.dialect.lines {
		s.last(s.lines.rest(), us, nil)
		return
	}
	rest := s.parser.Rest()
	if rest.Pending {
		s.last(rest.Event.Data, us, rest.Event.Type)
	}
	if s.over() {
		return
	}
	if message, ok := errorIn(rest.Ignored); ok {
		s.failure = &fault{event.ErrorInStream, message}
	} else if s.events == 0 && len(rest.Ignored) > 0 {
		s.failure = notAStream("", rest.Ignored)
	}
}

// last takes an event that may have been cut: it counts only when it is whole JSON.
func (s *stream) last(data []byte, us int64, kind []byte) {
	s.event(data, us, kind)
	if s.failure != nil && s.failure.outcome == event.BadProtocol {
		s.failure = nil
	}
}

// event handles one event.
func (s *stream) event(data []byte, us int64, kind []byte) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return
	}
	s.events++
	if string(data) == "[DONE]" {
		s.done, s.doneUS = true, us
		return
	}
	c := &s.chunk
	if err := s.read(data, c); err != nil && string(kind) != "error" {
		s.failure = faultf(event.BadProtocol, "event is not a JSON object: %.100q", data)
		return
	}
	if string(kind) == "error" && !c.failed {
		c.failed, c.message = true, bodyMessage(data)
	}
	if c.failed {
		s.failure = &fault{event.ErrorInStream, c.message}
		return
	}
	if arrival, tokens := s.rec.add(us, c); arrival {
		s.sink(us, tokens)
		if s.most > 0 && len(s.rec.us) > s.most {
			s.failure = faultf(event.BadProtocol, "the answer does not end: %d pieces of text, many times the tokens asked for", s.most)
		}
	}
	if c.last {
		s.done, s.doneUS = true, us
	}
	if c.finish == "abort" {
		s.failure = &fault{event.ErrorInStream, "the server aborted the request"}
		if s.abort {
			s.failure = &fault{outcome: event.Stopped}
		}
	}
}

// read understands one event in the cheapest way that does.
func (s *stream) read(data []byte, c *chunk) error {
	c.reset()
	if s.form.match(data, c) {
		return nil
	}
	if s.dialect.scan(data, c) {
		s.form.learn(data, c)
		return nil
	}
	c.reset()
	return s.dialect.decode(data, c)
}

// notAStream quotes the beginning of an answer that should have been a stream.
func notAStream(contentType string, body []byte) *fault {
	if contentType == "" {
		contentType = "something other than events"
	}
	return faultf(event.NotAStream, "answer is %s: %.200q", contentType, bytes.TrimSpace(body))
}
