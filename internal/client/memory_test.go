//go:build unix

package client_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"speedmatrix/internal/client"
)

// TestMemoryPerStream holds 256 streams that are under way to 40 KB each, beyond what the kernel keeps. The server is
// another process.
func TestMemoryPerStream(t *testing.T) {
	const streams, limit = 256, 40 << 10
	address := startServer(t)
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	c, err := client.New(client.Config{BaseURL: "http://" + address + "/paced/20000"})
	if err != nil {
		t.Fatal(err)
	}
	before := used()
	ctx, cancel := context.WithCancel(t.Context())
	lives := make([]client.Live, streams)
	var wg sync.WaitGroup
	for i := range lives {
		cn, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cn.Close() })
		req := c.Prepare(client.Request{Prompt: "hi", MaxTokens: 4096})
		wg.Go(func() { cn.Do(ctx, req, &lives[i]) })
	}
	for i := range lives {
		for lives[i].Tokens.Load() < 20 {
			time.Sleep(ms)
		}
	}
	each := (used() - before) / streams
	cancel()
	wg.Wait()
	t.Logf("%d bytes a stream", each)
	if each > limit {
		t.Errorf("a stream takes %d bytes, more than %d", each, limit)
	}
}
