package client

import (
	"bytes"
	"strings"
	"testing"

	"speedmatrix/internal/event"
)

// A server may keep a stream alive by comments, but not for ever; an event in between starts the count again.
func TestCommentsEnd(t *testing.T) {
	comments := bytes.Repeat([]byte(": keep-alive\n\n"), 1<<16)
	s := stream{dialect: chat(), sink: func(int64, int64) {}}
	fed := 0
	feed := func() {
		s.feed(comments, 1)
		fed += len(comments)
	}
	for fed+len(comments) <= maxIdle {
		feed()
	}
	if s.failure != nil {
		t.Fatalf("%d bytes of comments: %v", fed, s.failure)
	}
	s.feed([]byte(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n"), 2)
	for fed = 0; fed+len(comments) <= maxIdle; {
		feed()
	}
	if s.failure != nil {
		t.Fatalf("%d bytes of comments after an event: %v", fed, s.failure)
	}
	feed()
	if s.failure == nil || s.failure.outcome != event.BadProtocol || !strings.Contains(s.failure.Error(), "65 MiB came without an event") {
		t.Errorf("endless comments: %v", s.failure)
	}
}
