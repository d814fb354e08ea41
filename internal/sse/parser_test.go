package sse_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"speedmatrix/internal/sse"
)

// parsed is everything a parser says about a stream.
type parsed struct {
	Events  []string // type|data|id
	Pending string
	Ignored string
	Retry   int64
	Err     error
}

// parse feeds the pieces one after the other. Each piece is overwritten once Next has returned false, so
// that a parser that kept a reference to it is found out.
func parse(max int, pieces ...string) parsed {
	p := sse.Parser{Max: max}
	out := parsed{Retry: -1}
	for _, piece := range pieces {
		b := []byte(piece)
		p.Feed(b)
		for ev, ok := p.Next(); ok; ev, ok = p.Next() {
			out.Events = append(out.Events, show(ev))
		}
		for i := range b {
			b[i] = '#'
		}
	}
	out.Err = p.Err()
	r := p.Rest()
	if r.Pending {
		out.Pending = show(r.Event)
	}
	out.Ignored = string(r.Ignored)
	if ms, ok := p.Retry(); ok {
		out.Retry = ms
	}
	return out
}

func show(ev sse.Event) string {
	return fmt.Sprintf("%s|%s|%s", ev.Type, ev.Data, ev.ID)
}

func TestStandard(t *testing.T) {
	check := func(name, in string, want parsed) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			if got := parse(0, in); !reflect.DeepEqual(got, want) {
				t.Errorf("parse %q:\n got %+v\nwant %+v", in, got, want)
			}
			bytewise := strings.Split(in, "")
			if got := parse(0, bytewise...); !reflect.DeepEqual(got, want) {
				t.Errorf("parse %q rune by rune:\n got %+v\nwant %+v", in, got, want)
			}
		})
	}
	events := func(e ...string) parsed { return parsed{Events: e, Retry: -1} }

	// The examples of the standard's section 9.2.6, in its order.
	check("three lines", "data: YHOO\ndata: +2\ndata: 10\n\n", events("|YHOO\n+2\n10|"))
	check("comment, ids", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
		events("|first event|1", "|second event|", "| third event|"))
	check("empty data", "data\n\ndata\ndata\n\ndata:", parsed{Events: []string{"||", "|\n|"}, Pending: "||", Retry: -1})
	check("space after the colon", "data:test\n\ndata: test\n\n", events("|test|", "|test|"))

	check("CR", "data: a\r\rdata: b\r\r", events("|a|", "|b|"))
	check("CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", events("|a|", "|b|"))
	check("mixed", "data: a\r\ndata: b\n\rdata: c\rdata: d\n\r\n", events("|a\nb|", "|c\nd|"))
	check("CR LF LF", "data: a\r\n\n", events("|a|"))
	check("byte order mark", "\uFEFFdata: a\n\n", events("|a|"))
	check("byte order mark once", "\uFEFF\uFEFFdata: a\n\n", parsed{Ignored: "\uFEFFdata: a", Retry: -1})
	check("byte order mark not first", "\n\uFEFFdata: a\n\n", parsed{Ignored: "\uFEFFdata: a", Retry: -1})
	check("byte order mark alone", "\uFEFF\ndata: a\n\n", events("|a|"))
	check("other separators are text", "data: a\u2028b\u0085c\fd\ve\n\n", events("|a\u2028b\u0085c\fd\ve|"))
	check("type", "event: ping\ndata: x\n\ndata: y\n\n", events("ping|x|", "|y|"))
	check("type without data is forgotten", "event: ping\n\ndata: y\n\n", events("|y|"))
	check("id stays", "id: 7\ndata: x\n\ndata: y\n\n", events("|x|7", "|y|7"))
	check("id with NUL is ignored", "id: 7\ndata: x\n\nid: 8\x00\ndata: y\n\n", events("|x|7", "|y|7"))
	check("id without data counts", "id: 7\n\ndata: y\n\n", events("|y|7"))
	check("retry", "retry: 1500\n\n", parsed{Retry: 1500})
	check("retry zero", "retry:0\n\n", parsed{Retry: 0})
	check("retry not digits", "retry: 15s\nretry: -1\nretry\n\n", events())
	check("retry is capped", "retry: 99999999999999999999999999\n\n", parsed{Retry: 1 << 53})
	check("field names are exact", "Data: a\n data: b\ndata : c\n\n", parsed{Ignored: "Data: a\n data: b\ndata : c", Retry: -1})
	check("colons in the value", "data: a: b\n\n", events("|a: b|"))
	check("comments", ":\n: keep-alive\ndata: a\n:x\ndata: b\n\n:", events("|a\nb|"))

	check("no blank line at the end", "data: a\n\ndata: b\n", parsed{Events: []string{"|a|"}, Pending: "|b|", Retry: -1})
	check("no line end at the end", "data: a\n\nevent: e\ndata: b", parsed{Events: []string{"|a|"}, Pending: "e|b|", Retry: -1})
	check("pending of two lines", "data: a\ndata: b", parsed{Pending: "|a\nb|", Retry: -1})
	check("bare line", "data: a\n\n{\"error\":\"x\"}", parsed{Events: []string{"|a|"}, Ignored: `{"error":"x"}`, Retry: -1})
	check("bare lines", "{\n \"error\": 1\n}\n", parsed{Ignored: "{\n \"error\": 1\n}", Retry: -1})
	check("nothing", "", events())
}

func TestEverySplit(t *testing.T) {
	const in = "\uFEFF: c\r\nid: 1\r\nevent: e\rdata: a é b\ndata:\r\n\r\n\ndata: c\r\rretry: 3\ndata: d\n\n{x}\n\ndata: e\ndata: f"
	want := parse(0, in)
	if len(want.Events) != 3 || want.Pending != "|e\nf|1" || want.Ignored != "{x}" {
		t.Fatalf("whole: %+v", want)
	}
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j++ {
			if got := parse(0, in[:i], in[i:j], in[j:]); !reflect.DeepEqual(got, want) {
				t.Fatalf("split at %d and %d:\n got %+v\nwant %+v", i, j, got, want)
			}
		}
	}
}

// An event is out with the byte that ends its blank line, without waiting for the LF of a CRLF.
func TestPromptDispatch(t *testing.T) {
	for _, in := range []string{"data: a\n\n", "data: a\r\n\r", "data: a\r\r", "data: a\r\n\n"} {
		var p sse.Parser
		p.Feed([]byte(in[:len(in)-1]))
		if _, ok := p.Next(); ok {
			t.Errorf("%q: event before its last byte", in)
		}
		p.Feed([]byte(in[len(in)-1:]))
		if ev, ok := p.Next(); !ok || string(ev.Data) != "a" {
			t.Errorf("%q: no event at its last byte", in)
		}
	}
}

func TestLimit(t *testing.T) {
	check := func(name string, want error, pieces ...string) {
		t.Helper()
		if got := parse(10, pieces...); !errors.Is(got.Err, want) {
			t.Errorf("%s: got error %v, want %v", name, got.Err, want)
		}
	}
	check("fits", nil, "data:abcde\n\n")
	check("line too long", sse.ErrTooLong, "data:abcdef\n\n")
	check("unfinished line too long", sse.ErrTooLong, "data:abc", "def")
	check("unfinished line in one piece", sse.ErrTooLong, strings.Repeat("x", 11))
	check("event too long", sse.ErrTooLong, "data:abcde\ndata:fghij\n\n")
	check("events apart fit", nil, "data:abcde\n\ndata:fghij\n\n")
}

func TestBigEvent(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	in := "data: " + big + "\n\n"
	var pieces []string
	for len(in) > 0 {
		n := min(len(in), 16<<10)
		pieces, in = append(pieces, in[:n]), in[n:]
	}
	got := parse(0, pieces...)
	if len(got.Events) != 1 || got.Events[0] != "|"+big+"|" {
		t.Errorf("got %d events", len(got.Events))
	}
}

func TestIgnoredIsBounded(t *testing.T) {
	var p sse.Parser
	for range 100 {
		p.Feed([]byte(strings.Repeat("x", 1000) + "\n"))
		p.Next()
	}
	if n := len(p.Rest().Ignored); n != 64<<10 {
		t.Errorf("kept %d bytes, want 65536", n)
	}
}

func TestReset(t *testing.T) {
	var p sse.Parser
	p.Feed([]byte("id: 1\nevent: e\ndata: a\nretry: 5\nfoo\ndata: b"))
	p.Next()
	p.Reset()
	p.Feed([]byte("\uFEFFdata: c\n\n"))
	ev, ok := p.Next()
	if !ok || show(ev) != "|c|" {
		t.Errorf("after Reset: %q %v", show(ev), ok)
	}
	if _, ok := p.Retry(); ok || p.Rest().Pending || len(p.Rest().Ignored) > 0 {
		t.Error("Reset left something behind")
	}
}

func TestNoAllocations(t *testing.T) {
	whole := []byte("data: {\"a\":1}\n\ndata: {\"b\":2}\n\n: c\n\n")
	first, second := []byte("id: 4\nevent: x\ndata: {\"a\""), []byte(":1}\ndata: more\r\n\r\n")
	var p sse.Parser
	n := 0
	feed := func(b []byte) {
		p.Feed(b)
		for _, ok := p.Next(); ok; _, ok = p.Next() {
			n++
		}
	}
	allocs := testing.AllocsPerRun(100, func() {
		feed(whole)
		feed(first)
		feed(second)
	})
	if allocs != 0 || n != 101*3 {
		t.Errorf("%v allocations for 3 events, %d events seen", allocs, n)
	}
}
