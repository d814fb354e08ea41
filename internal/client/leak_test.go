package client_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

// TestFaultsLeakNothing sends requests to servers that fail in every way, cuts some of them, and demands that each is
// accounted for and that goroutines and descriptors are what they were.
func TestFaultsLeakNothing(t *testing.T) {
	total := 2000
	if testing.Short() {
		total = 300
	}
	short := mapped(reference(plain)[:5], func(s string) string { return s })
	for i := range short {
		short[i].at = 0
	}
	scripts := []script{
		{writes: then(short, finish("stop")+done)},
		{writes: then(short, finish("stop")+done), plain: true},
		{writes: short, end: endClose},
		{writes: short, end: endReset},
		{writes: short, end: endHang},
		{writes: then(short, `data: {"error":{"message":"no"}}`+"\n\n")},
		{status: "429 Too Many Requests", writes: at(0, "{}")},
		{header: "Content-Type: text/html\r\n", writes: at(0, "<html>")},
		{header: "Content-Encoding: gzip\r\n", writes: compressed(then(short, finish("stop")+done), gzipper)},
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	counts := map[event.Outcome]int{}
	var mu sync.Mutex
	t.Run("requests", func(t *testing.T) {
		for w, s := range scripts {
			srv := listen(t, s)
			t.Run("", func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(1, uint64(w)))
				cn := open(t, client.Config{BaseURL: srv.url})
				for range total / len(scripts) {
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(20) == 0 {
						time.AfterFunc(time.Duration(random.IntN(500))*time.Microsecond, cancel)
					}
					res := cn.Do(ctx, client.Request{Timeout: 5 * ms}, nil)
					cancel()
					mu.Lock()
					counts[res.Record.Outcome]++
					mu.Unlock()
				}
			})
		}
	})
	sum := 0
	for _, n := range counts {
		sum += n
	}
	t.Logf("%v", counts)
	if want := total / len(scripts) * len(scripts); sum != want || counts[""] != 0 {
		t.Errorf("%d requests accounted for, %d sent: %v", sum, want, counts)
	}
	for range 100 { // goroutines that have been told to end take a moment
		if runtime.NumGoroutine() <= goroutines && openFiles() <= files {
			return
		}
		runtime.GC() // closes what only finalizers hold
		time.Sleep(20 * ms)
	}
	t.Errorf("%d goroutines and %d files before, %d and %d after", goroutines, files, runtime.NumGoroutine(), openFiles())
}

// openFiles counts this process's descriptors, where the system tells them.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
