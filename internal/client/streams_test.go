package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"

	"speedmatrix/internal/client"
)

func gzipper(w io.Writer) flusher { return gzip.NewWriter(w) }

func brotlier(w io.Writer) flusher { return brotli.NewWriter(w) }

type flusher interface {
	io.WriteCloser
	Flush() error
}

// compressed encodes the writes as one stream, flushed at each.
func compressed(w []write, encoder func(io.Writer) flusher) []write {
	var b bytes.Buffer
	e := encoder(&b)
	out := append([]write(nil), w...)
	for i := range out {
		io.WriteString(e, out[i].body)
		if i == len(out)-1 {
			e.Close()
		} else {
			e.Flush()
		}
		out[i].body = b.String()
		b.Reset()
	}
	return out
}

func (r row) name() string {
	name, _, _ := strings.Cut(r.stream+"/"+r.variant, "\n")
	return strings.TrimSuffix(name, "/")
}

// virtual replays the row over net.Pipe in virtual time.
func (r row) virtual(t *testing.T) (result client.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := r.config
		cfg.Dial = pipeDial(r.script)
		cn := open(t, cfg)
		result = cn.Do(t.Context(), r.request, nil)
		cn.Close()
		// Let the server, which may linger, end.
		time.Sleep(time.Hour)
	})
	return result
}

func TestStreamsInVirtualTime(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name(), func(t *testing.T) {
			if got := answer(r.virtual(t), true); got != r.want {
				t.Errorf("\n got %s\nwant %s", got, r.want)
			}
		})
	}
}

// timeless is the part of a wanted answer that holds at any speed.
func timeless(want string) string {
	want, _, _ = strings.Cut(want, "; TTFT")
	return want
}

func TestStreamsOverSocket(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			s := listen(t, r.script)
			epoch := time.Now()
			cfg := r.config
			cfg.BaseURL, cfg.Epoch = s.url, epoch
			cn := open(t, cfg)
			res := cn.Do(t.Context(), r.request, nil)
			cn.Close()
			if got := answer(res, false); got != timeless(r.want) {
				t.Errorf("\n got %s\nwant %s", got, timeless(r.want))
			}
			checkStamps(t, res, epoch, s.sent())
		})
	}
}

// checkStamps demands what holds on any machine: no token arrived before the server sent its first, nor do arrivals
// go backwards. A kernel stamp is converted between two clocks, hence the tolerance.
func checkStamps(t *testing.T, res client.Result, epoch time.Time, sent []time.Time) {
	t.Helper()
	rec := res.Record
	last := int64(0)
	for i, us := range rec.ChunkUS {
		if us < last {
			t.Errorf("chunk %d arrived at %d us, the one before at %d", i, us, last)
		}
		last = us
	}
	if len(rec.ChunkUS) == 0 || len(sent) == 0 {
		return
	}
	first := epoch.Add(time.Duration(rec.StartUS+rec.ChunkUS[0]) * time.Microsecond)
	if first.Before(sent[0].Add(-ms)) {
		t.Errorf("first token %v before anything was sent", sent[0].Sub(first))
	}
	if *rec.EndUS < last {
		t.Errorf("the stream ended at %d us, before its last token at %d", *rec.EndUS, last)
	}
}

// TestStreamsAtEverySplit cuts the bytes of each answer in two reads, everywhere.
func TestStreamsAtEverySplit(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { r.everySplit(t) })
		})
	}
}

func (r row) everySplit(t *testing.T) {
	whole := r.script.whole()
	step := 1
	if len(whole) > 100_000 {
		step = 7919 * 13 // a prime's multiple: the offsets fall anywhere in a line
	} else if len(whole) > 10_000 {
		step = 101
	} else if testing.Short() {
		step = 7
	}
	conn := &splitConn{}
	cfg := r.config
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	early := 0
	for i := 0; i <= len(whole); i += step {
		*conn = splitConn{pieces: []string{whole[:i], whole[i:]}, end: r.script.end}
		cn := open(t, cfg)
		res := cn.Do(t.Context(), r.request, nil)
		cn.Close()
		if got := answer(res, false); got != timeless(r.want) {
			t.Fatalf("split at %d, %q | %q\n got %s\nwant %s", i, near(whole, i-20, i), near(whole, i, i+20), got, timeless(r.want))
		}
		now := 0
		for _, us := range res.Record.ChunkUS {
			if us == 0 {
				now++
			} else if us != 1000 {
				t.Fatalf("split at %d: an arrival at %d us, between the reads", i, us)
			}
		}
		if now < early {
			t.Fatalf("split at %d: %d tokens came with the first read, with a shorter one %d", i, now, early)
		}
		early = now
	}
	if want := strings.Contains(r.want, "; TTFT"); (early > 0) != want {
		t.Errorf("%d tokens with the whole answer in one read", early)
	}
}

func near(s string, i, j int) string { return s[max(i, 0):min(j, len(s))] }
