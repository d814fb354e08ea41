package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"speedmatrix/internal/event"
)

// Conn is one warm connection for one stream of requests. It opens itself again when the server closed it. It is not
// safe for concurrent use; another connection is.
type Conn struct {
	client *Client
	t      transport // nil: closed
	w      *wire
	served int // requests sent on t
	meter  meter
	stream stream
}

// Open connects to the server. The error is one line and names neither the key nor the address.
func (c *Client) Open(ctx context.Context) (*Conn, error) {
	cn := &Conn{client: c, stream: stream{dialect: c.dialect}}
	if _, err := cn.ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return cn, nil
}

// Close closes the connection.
func (cn *Conn) Close() error {
	if cn.t == nil {
		return nil
	}
	t := cn.t
	cn.t = nil
	return t.close()
}

// drop closes the connection because it is of no more use; how that goes does not matter.
func (cn *Conn) drop() { _ = cn.Close() }

// ready makes sure that a connection is open. The time spent connecting is nil when it was open.
func (cn *Conn) ready(ctx context.Context) (*int64, error) {
	if cn.t != nil && !cn.t.alive() {
		cn.drop()
	}
	if cn.t != nil {
		return nil, nil
	}
	begun := time.Now()
	t, w, err := cn.client.connect(ctx, &cn.meter)
	if err != nil {
		return nil, cn.client.clean(err)
	}
	cn.t, cn.w, cn.served = t, w, 0
	return pointer(time.Since(begun).Microseconds()), nil
}

// clean makes a fault's text fit for a record.
func (c *Client) clean(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return &fault{f.outcome, c.redact.line(f.text)}
	}
	return err
}

// Do sends req and follows its stream to the end. What happened, failures included, is in the result. Cancelling ctx
// cuts the stream at once: outcome Stopped, with the tokens so far. live may be nil. When the server refuses optional
// fields by name, the request is sent again without them, and so are all later ones of the client.
func (cn *Conn) Do(ctx context.Context, req Request, live *Live) Result {
	if live == nil {
		live = new(Live)
	}
	for {
		p := cn.client.encode(req)
		x := exchange{cn: cn, req: req, p: p, live: live, timeout: cn.client.cfg.Timeout}
		if req.Timeout > 0 {
			x.timeout = req.Timeout
		}
		res := x.run(ctx)
		named := fields(0)
		if s := x.status; s == http.StatusBadRequest || s == http.StatusUnprocessableEntity {
			named = p.fields.namedIn(x.refusal)
		}
		if named == 0 || ctx.Err() != nil {
			res.Dropped = (cn.client.optional(req) &^ p.fields).names()
			return res
		}
		cn.client.refused.Or(uint32(named))
		req.prepared = nil
	}
}

// exchange is one request and its answer.
type exchange struct {
	cn      *Conn
	req     Request
	p       *prepared
	live    *Live
	timeout time.Duration

	start     int64  // nanoseconds from the epoch
	lastUS    int64  // latest arrival, from start
	tokenRead int64  // number of the read that brought the latest tokens
	merged    int64  // reads that brought several arrivals
	mergedAt  int64  // number of the latest of them
	status    int    // HTTP status, 0 before
	refusal   string // body of an answer with an error status
	res       Result
}

// run sends the request. A connection that the server closed while it was idle may show that only when it is used:
// then nothing of an answer comes, and the request is sent again on a fresh connection, which is no failure.
func (x *exchange) run(ctx context.Context) Result {
	for {
		stale, err := x.once(ctx)
		if !stale || ctx.Err() != nil {
			return x.result(ctx, err)
		}
	}
}

// once sends the request on an open connection and follows the answer. stale: send it again.
func (x *exchange) once(ctx context.Context) (stale bool, err error) {
	cn := x.cn
	x.begin()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	connectUS, err := cn.ready(ctx)
	if err != nil {
		return false, err
	}
	if connectUS != nil {
		x.res.Record.ConnectUS = connectUS
	}
	reused := cn.served > 0
	cn.served++
	if err := cn.w.begin(x.timeout); err != nil {
		cn.drop()
		return reused, err
	}
	w := cn.w
	stop := context.AfterFunc(ctx, w.cut)
	x.begin()
	head, err := x.send(ctx)
	if err == nil {
		err = x.receive(head)
	}
	stale = reused && x.status == 0 && cn.meter.reads == 0 && closedByPeer(err)
	uncut := stop()
	if err != nil || !uncut || !cn.t.finish() {
		cn.drop()
	}
	x.live.Active.Store(0)
	return stale, err
}

// begin forgets what an attempt before left and takes the start of the request: last, since the write follows.
func (x *exchange) begin() {
	x.lastUS, x.tokenRead, x.merged, x.mergedAt, x.status, x.refusal = 0, 0, 0, 0, 0, ""
	x.res = Result{Record: event.Request{
		ConnectUS: x.res.Record.ConnectUS, Clock: event.Process,
		AskedTokens: int32(x.req.MaxTokens), PromptSHA: x.p.prompt,
	}}
	x.cn.meter = meter{live: x.live}
	s := &x.cn.stream
	s.reset(x.req.MaxTokens)
	s.sink = x.arrived
	s.abort = x.req.ID != ""
	x.live.FirstUS.Store(0)
	x.live.Active.Store(0)
	x.start = int64(time.Since(x.cn.client.cfg.Epoch))
	x.res.Record.StartUS = x.start / 1000
	x.live.StartUS.Store(x.start / 1000)
}

func closedByPeer(err error) bool {
	if err == nil {
		return false
	}
	f := broken(err, new(wire), 0)
	return f.outcome == event.Truncated || f.outcome == event.Reset
}

// send writes the request and waits for the response header. An answer may come before a large request was taken,
// and close the connection: it is read even when the write failed.
func (x *exchange) send(ctx context.Context) (head, error) {
	sendErr := x.cn.t.send(ctx, x.p)
	if errors.Is(sendErr, context.Canceled) {
		return head{}, sendErr
	}
	h, err := x.cn.t.head()
	if err != nil && sendErr != nil {
		return h, sendErr
	}
	return h, err
}

// us is the arrival of the latest bytes, from the start. It never decreases.
func (x *exchange) us() int64 {
	x.lastUS = max(x.lastUS, (x.cn.w.at.Load()-x.start)/1000)
	return x.lastUS
}

// receive follows the answer whose header came.
func (x *exchange) receive(h head) error {
	rec := &x.res.Record
	rec.HeadersUS = pointer(x.us())
	rec.HTTPStatus = pointer(int32(h.status))
	x.status = h.status
	read, err := decoded(h.encoding, x.cn.t.read)
	if err != nil {
		return &fault{event.BadProtocol, err.Error()}
	}
	if h.status/100 != 2 {
		return x.refused(h, read)
	}
	if h.contentType == "text/html" {
		return notAStream(h.contentType, x.gather(read, 1<<10))
	}
	s := &x.cn.stream
	if err := x.follow(h, read); err != nil && !s.over() {
		return x.ended(err)
	}
	if s.failure != nil {
		return s.failure
	}
	rec.EndUS = pointer(s.doneUS)
	return nil
}

// follow feeds the stream until it is over or the body ends.
func (x *exchange) follow(h head, read func() ([]byte, error)) error {
	s := &x.cn.stream
	if t, ok := x.cn.t.(*http1); ok && t.followable() && plainEncoding(h.encoding) {
		return t.follow(func(b []byte) bool {
			s.feed(b, x.us())
			return !s.over()
		})
	}
	for !s.over() {
		b, err := read()
		if err != nil {
			return err
		}
		s.feed(b, x.us())
	}
	return nil
}

// refused reads the body of an answer with an error status.
func (x *exchange) refused(h head, read func() ([]byte, error)) error {
	body := x.gather(read, 64<<10)
	x.refusal = string(body)
	x.res.RetryAfter = 0
	if h.status == http.StatusTooManyRequests || h.status == http.StatusServiceUnavailable {
		x.res.RetryAfter = retryAfter(h.retryAfter, h.date, time.Now())
	}
	if h.status/100 == 3 {
		return faultf(event.BadRequest, "http %d: redirects are not followed; the server points to %q", h.status, h.location)
	}
	return faultf(outcomeOf(h.status), "http %d: %s", h.status, bodyMessage(body))
}

// gather reads a body that is no stream, up to limit bytes, and not longer than it keeps coming.
func (x *exchange) gather(read func() ([]byte, error), limit int) []byte {
	var body []byte
	if x.cn.w.begin(min(x.timeout, maxErrorBody)) != nil {
		return nil
	}
	for len(body) < limit {
		b, err := read()
		if err != nil {
			break // what came is what we have to quote
		}
		body = append(body, b...)
	}
	return body[:min(len(body), limit)]
}

// ended judges a stream that ended without saying so.
func (x *exchange) ended(err error) error {
	s := &x.cn.stream
	s.end(x.us())
	switch {
	case s.failure != nil:
		return s.failure
	case s.done:
		return nil
	case err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case s.rec.finish == "":
		return faultf(event.Truncated, "stream ended without a finish reason")
	}
	return nil
}

// arrived is told of each arrival of tokens.
func (x *exchange) arrived(us, tokens int64) {
	cn := x.cn
	if !cn.w.stamped.Load() {
		cn.stream.rec.process = true
	}
	if cn.meter.reads == x.tokenRead && x.mergedAt != x.tokenRead {
		x.mergedAt = x.tokenRead
		x.merged++
		x.live.MergedReads.Add(1)
	}
	x.tokenRead = cn.meter.reads
	cn.w.progress()
	if len(cn.stream.rec.us) == 1 {
		x.live.TTFTUS.Store(us)
		x.live.FirstUS.Store(x.start/1000 + us)
		x.live.Active.Store(1)
	}
	x.live.Tokens.Add(tokens)
}

// result completes the record with how the exchange ended.
func (x *exchange) result(ctx context.Context, err error) Result {
	rec, r := &x.res.Record, &x.cn.stream.rec
	now := int64(time.Since(x.cn.client.cfg.Epoch))
	x.res.ChunkChars = r.fill(rec)
	if len(rec.ChunkUS) > 0 && !r.process {
		rec.Clock = event.Kernel
	}
	if more := rec.Tokens() - r.live; more > 0 {
		x.live.Tokens.Add(more)
	}
	x.res.Reads = Reads{Reads: x.cn.meter.reads, Merged: x.merged}
	rec.Outcome = event.OK
	if rec.EndUS == nil {
		rec.EndUS = pointer(max((now-x.start)/1000, x.lastUS))
	}
	if err != nil {
		x.fail(ctx, err)
	}
	if n := len(rec.ChunkUS); n > 0 && *rec.EndUS < rec.ChunkUS[n-1] {
		rec.EndUS = pointer(rec.ChunkUS[n-1])
	}
	return x.res
}

func (x *exchange) fail(ctx context.Context, err error) {
	rec := &x.res.Record
	w := x.cn.w
	if w == nil {
		w = new(wire)
	}
	f := broken(err, w, x.timeout)
	if ctx.Err() != nil && f.outcome != event.ErrorInStream {
		f = &fault{outcome: event.Stopped}
	}
	rec.Outcome = f.outcome
	if f.outcome != event.Stopped {
		rec.Error = pointer(x.cn.client.redact.line(f.text))
	}
}
