package sse_test

import (
	"reflect"
	"testing"

	"speedmatrix/internal/sse"
)

// FuzzSplit demands that a stream means the same however it is cut, and that nothing makes the parser panic.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "\uFEFFdata: a\r\n\r\n", "event: e\nid: 1\nretry: 3\ndata: x\ndata: y\n\n",
		": c\n\ndata:a\r\rdata:b\n\r\n", "{\"error\":1}", "data\n\ndata\ndata\n\ndata:", "id\x00: 1\nid: \x00\n\n",
		"data: a\u2028\u0085\f\n\n", "\xEF\xBB", "\xEF\xBB\xBF", "\r\n\r\n\n\r",
	} {
		f.Add(s, uint16(1), uint16(3))
		f.Add(s, uint16(len(s)/2), uint16(len(s)-1))
	}
	f.Fuzz(func(t *testing.T, s string, a, b uint16) {
		i := int(a) % (len(s) + 1)
		j := i + int(b)%(len(s)-i+1)
		want := parse(0, s)
		if got := parse(0, s[:i], s[i:j], s[j:]); !reflect.DeepEqual(got, want) {
			t.Fatalf("split at %d and %d of %q:\n got %+v\nwant %+v", i, j, s, got, want)
		}
		single := make([]string, 0, len(s))
		for k := range len(s) {
			single = append(single, s[k:k+1])
		}
		if got := parse(0, single...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q byte by byte:\n got %+v\nwant %+v", s, got, want)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	event := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\"," +
		"\"choices\":[{\"index\":0,\"delta\":{\"content\":\" the\"},\"finish_reason\":null}]}\n\n")
	var p sse.Parser
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		p.Feed(event)
		for _, ok := p.Next(); ok; _, ok = p.Next() {
		}
	}
}
