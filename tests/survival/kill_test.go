package survival

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/simengine"
)

// kills counts what the killed runs left.
type kills struct {
	mu                                            sync.Mutex
	moments, nothing, unusable, partial, complete int
	kept, again                                   int
}

func (k *kills) count(add func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	add()
}

// TestKilledAtAnyMoment kills measure with SIGKILL at seeded moments of a run: after a time, or as soon as its folder
// has changed a number of times, so that the moments between two writes are hit too. One run in three is killed again
// while it resumes.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	moments, atOnce := 6, 6
	if *long {
		moments, atOnce = 50, 5
	}
	whole := uncut(t)
	var sum kills
	t.Run("moments", func(t *testing.T) {
		slots := make(chan struct{}, atOnce)
		for i := range moments {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				killOnce(t, rand.New(rand.NewPCG(*seed, uint64(i))), i, whole, &sum)
			})
		}
	})
	t.Logf("%d kills, %d of them during --resume: %d before there was a run, %d before its run.toml, %d left a partial run, %d came too late; %d finished passes found and kept, %d measured by --resume",
		sum.moments+sum.again, sum.again, sum.nothing, sum.unusable, sum.partial, sum.complete, sum.kept, len(whole.run.Cells)*sum.partial-sum.kept)
}

// undisturbed is the run that the others are compared with; it is made once.
var undisturbed struct {
	once sync.Once
	run  content
	took time.Duration
}

// uncut is a run that nothing disturbed.
func uncut(t *testing.T) content {
	t.Helper()
	undisturbed.once.Do(func() {
		e := newEngine(t, simengine.Options{})
		out := t.TempDir()
		began := time.Now()
		start(t, matrix(e.url(), out)...).must(0)
		undisturbed.run, undisturbed.took = read(t, runIn(t, out)), time.Since(began)
	})
	for _, cell := range undisturbed.run.run.Cells {
		if len(cell.Passes) != 1 || cell.Passes[0].Stop != event.StopDone {
			t.Fatalf("cell %s x %d of the undisturbed run: %+v, want one pass that is done", cell.Label, cell.Concurrency, cell)
		}
	}
	if len(undisturbed.run.run.Cells) != 4 {
		t.Fatal("the undisturbed run failed")
	}
	return undisturbed.run
}

func killOnce(t *testing.T, rng *rand.Rand, number int, whole content, sum *kills) {
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out)...)
	killAt(p, rng, number%2 == 1, undisturbed.took, out)
	sum.count(func() { sum.moments++ })

	dir := runIn(t, out)
	switch {
	case dir == "":
		sum.count(func() { sum.nothing++ })
		return
	case !strings.HasSuffix(dir, ".partial"):
		sum.count(func() { sum.complete++ })
		checkComplete(t, dir, whole, nil)
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "run.toml")); err != nil {
		sum.count(func() { sum.unusable++ })
		if code := start(t, resume(e.url(), dir)...).wait(); code != 1 && code != 2 {
			t.Errorf("resume of a folder without run.toml: exit code %d, want an error", code)
		}
		return
	}
	before := checkPartial(t, dir, nil)
	if number%3 == 2 {
		p := start(t, resume(e.url(), dir)...)
		killAt(p, rng, rng.IntN(2) == 0, undisturbed.took, out)
		sum.count(func() { sum.again++ })
		if dir = runIn(t, out); strings.HasSuffix(dir, ".partial") {
			before = checkPartial(t, dir, before)
		}
	}
	if strings.HasSuffix(dir, ".partial") {
		start(t, resume(e.url(), dir)...).must(0)
	}
	checkComplete(t, runIn(t, out), whole, before)
	start(t, "show", runIn(t, out)).must(0)
	sum.count(func() { sum.partial++; sum.kept += len(before) })
}

// killAt kills a run after a random time, or once its folder has changed a random number of times. A run whose program
// has ended before is left as it is.
func killAt(p *program, rng *rand.Rand, byChanges bool, took time.Duration, out string) {
	p.t.Helper()
	end := time.Now().Add(time.Duration(rng.Int64N(int64(took))))
	changes, jitter := 1+rng.IntN(24), time.Duration(rng.Int64N(int64(2*time.Millisecond)))
	if !byChanges {
		select {
		case <-p.ended:
		case <-time.After(time.Until(end)):
		}
	} else {
		for seen, last := 0, ""; seen < changes && p.running(); {
			if now := listing(out); now != last {
				seen, last = seen+1, now
			}
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(jitter)
	}
	if p.running() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // may have ended just now
	}
	<-p.ended
}

// listing is the names and sizes of all that is in a results folder.
func listing(out string) string {
	var b strings.Builder
	_ = filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && !d.IsDir() {
				fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
			}
		}
		return nil // files come and go while this looks
	})
	return b.String()
}

// checkPartial checks a run that was cut: every finished pass is there, what was finished before is unchanged, and it can
// be shown. It returns the finished passes.
func checkPartial(t testing.TB, dir string, before map[eventlog.Step][]event.Request) map[eventlog.Step][]event.Request {
	t.Helper()
	c := read(t, dir)
	for i, cell := range c.run.Cells {
		for _, p := range cell.Passes {
			if s := (eventlog.Step{Cell: i, Repeat: p.Repeat}); p.Stop == event.StopDone && len(c.steps[s]) == 0 {
				t.Errorf("%s: cell %d repeat %d is done and its events are lost", dir, i, p.Repeat)
			}
		}
	}
	now := c.finished()
	for s, reqs := range before {
		if len(now[s]) != len(reqs) {
			t.Errorf("%s: cell %d repeat %d had %d requests and has %d", dir, s.Cell, s.Repeat, len(reqs), len(now[s]))
		}
	}
	show := start(t, "show", dir)
	show.must(0)
	for s := range now {
		if label := c.run.Cells[s.Cell].Label; !strings.Contains(show.stdout.String(), label) {
			t.Errorf("measure show %s leaves out the finished cell %s:\n%s", dir, label, show.stdout.String())
		}
	}
	return now
}
