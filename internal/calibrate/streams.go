package calibrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/health"
)

// prompt is short: what is sent is not what is measured.
const prompt = "Count."

// observed is what the client saw at one number of streams.
type observed struct {
	streams  int
	clock    wallClock
	requests []answered
	cpu      time.Duration // of this process, user and system, while it streamed; 0: not told
}

// answered is one request with the id that the engine has in its log.
type answered struct {
	id      string
	restart bool // not the first of its stream: its start stood alone, as those of a measurement's probe phase
	request client.Request
	result  client.Result
}

// stream opens n connections to the engine and streams requests over all of them, for about the configured duration.
func (c Config) stream(ctx context.Context, url string, n int) (observed, error) {
	epoch := time.Now()
	cl, err := client.New(client.Config{BaseURL: url, Model: profile, Epoch: epoch})
	if err != nil {
		return observed{}, err
	}
	conns, err := openAll(ctx, cl, n)
	defer closeAll(conns)
	if err != nil {
		return observed{}, err
	}
	tokens := max(int(c.rate(n)*c.duration().Seconds()), fewestTokens)
	perStream := make([][]answered, n)
	for i := range n {
		perStream[i] = prepare(cl, i, lengths(tokens, restarts(n), i, n))
	}
	o := observed{streams: n, clock: readWall(epoch)}
	before := health.CPUTime()
	live := client.Live{Lag: new(client.Lag)}
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() { follow(ctx, conn, perStream[i], &client.Live{Lag: live.Lag}) })
	}
	wg.Wait()
	o.cpu = health.CPUTime() - before
	for _, list := range perStream {
		o.requests = append(o.requests, list...)
	}
	if err := o.clock.check(epoch); err != nil {
		return o, err
	}
	return o, o.failures()
}

func openAll(ctx context.Context, cl *client.Client, n int) ([]*client.Conn, error) {
	conns, errs := make([]*client.Conn, n), make([]error, n)
	slots := make(chan struct{}, connectAtOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			conns[i], errs[i] = cl.Open(ctx)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return conns, fmt.Errorf("connect to the engine: %w", err)
		}
	}
	return conns, nil
}

func closeAll(conns []*client.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// restarts is how many requests a stream sends after its first one.
func restarts(n int) int { return max(1, (fewestStarts+n-1)/n) }

// lengths cuts the tokens of stream i of n into requests, so that the restarts of all streams are spread evenly over the
// time: all streams begin together, stream i ends its first request after the share (i+1/2)/n of a full one.
func lengths(tokens, restarts, i, n int) []int {
	full := max(tokens/(restarts), 2)
	first := max(int((float64(i)+0.5)/float64(n)*float64(full)), 2)
	out := []int{first}
	for range restarts - 1 {
		out = append(out, full)
	}
	return append(out, max(full-first, 2))
}

// prepare encodes the requests of a stream before any clock runs.
func prepare(cl *client.Client, stream int, lengths []int) []answered {
	out := make([]answered, len(lengths))
	for k, tokens := range lengths {
		id := "s" + strconv.Itoa(stream) + "r" + strconv.Itoa(k)
		out[k] = answered{id: id, restart: k > 0, request: cl.Prepare(client.Request{
			Prompt: prompt, MaxTokens: tokens, IgnoreEOS: true, ContinuousUsage: true, ID: id,
		})}
	}
	return out
}

// follow sends a stream's requests one after the other.
func follow(ctx context.Context, conn *client.Conn, list []answered, live *client.Live) {
	for i := range list {
		list[i].result = conn.Do(ctx, list[i].request, live)
		if list[i].result.Record.Outcome != event.OK {
			return
		}
	}
}

// failures says which request failed first, and how many did.
func (o observed) failures() error {
	failed := 0
	var first error
	for i := range o.requests {
		r := &o.requests[i].result.Record
		if r.Outcome == event.OK {
			continue
		}
		if failed++; first == nil {
			text := string(r.Outcome)
			if r.Error != nil {
				text += ": " + *r.Error
			}
			first = errors.New(text)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d requests failed or were not sent, the first: %w", failed, len(o.requests), first)
	}
	return nil
}
