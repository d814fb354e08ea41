// Package survival breaks what a run depends on, and looks at what is left: it kills the program at seeded moments, stops
// and restarts the server, cuts the network, fills the disk, interrupts, and sends tens of thousands of requests of which
// many fail. Afterwards every finished cell must be readable, --resume must complete the run, nothing may have been
// measured twice, and every request must be accounted for.
//
// The programs are the real ones; the server is the simulated engine on a real socket. No check depends on how fast
// anything is. The short form runs with all tests, the long form with
//
//	go test -count=1 -v ./tests/survival -args -long
package survival

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/simengine"
	"speedmatrix/tests/programs"
)

var (
	long = flag.Bool("long", false, "the long form: 50 kills, 100,000 requests")
	seed = flag.Uint64("seed", 1, "of the moments at which the program is killed")
)

// patience bounds every wait of these tests; only a program that hangs meets it.
const patience = 5 * time.Minute

// bin holds the programs; TestMain builds them for all tests.
var bin programs.Bin

func TestMain(m *testing.M) {
	// These tests wait far more than they work, so more of them run side by side than there are cores. A typed flag wins.
	_ = flag.Set("test.parallel", "12") // it exists
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "survival")
	if err == nil {
		defer os.RemoveAll(dir)
		bin, err = programs.BuildInto(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// An engine is a simulated server that can die and come back at the same address.
type engine struct {
	t       testing.TB
	profile string
	opt     simengine.Options
	truth   simengine.Recorder
	address string
	stop    func()
}

// newEngine starts an engine of the profile tiny that ends with the test.
func newEngine(t testing.TB, opt simengine.Options) *engine {
	t.Helper()
	return newEngineOf(t, "tiny", opt)
}

// newEngineOf starts an engine of another profile.
func newEngineOf(t testing.TB, profile string, opt simengine.Options) *engine {
	t.Helper()
	e := &engine{t: t, profile: profile, opt: opt, address: "127.0.0.1:0"}
	e.opt.Truth = e.truth.Add
	if e.opt.Seed == 0 {
		e.opt.Seed = 1
	}
	e.start()
	t.Cleanup(func() { e.stop() })
	return e
}

// start serves, after a stop at the same address.
func (e *engine) start() {
	e.t.Helper()
	profile, err := simengine.LoadProfile(e.profile)
	if err != nil {
		e.t.Fatal(err)
	}
	sim, err := simengine.New(profile, e.opt)
	if err != nil {
		e.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		e.t.Fatal(err)
	}
	e.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sim.Serve(ctx, listener) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			e.t.Errorf("engine: %v", err)
		}
	})
}

func (e *engine) url() string { return "http://" + e.address + "/v1" }

// A program is a measure process under way.
type program struct {
	t              testing.TB
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
	code           int // -1 when a signal ended it; set once ended is closed
}

// start starts measure.
func start(t testing.TB, args ...string) *program {
	t.Helper()
	return startCommand(t, exec.Command(filepath.Join(string(bin), "measure"), args...))
}

func startCommand(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		err := cmd.Wait()
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			p.code = exit.ExitCode()
		} else if err != nil {
			p.code = -2
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // has ended already, as a rule
		<-p.ended
	})
	return p
}

// wait waits for the end and returns the exit code.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // prints what each goroutine does
		<-p.ended
		p.t.Fatalf("%s: not done within %s\n%s%s", strings.Join(p.cmd.Args, " "), patience, p.stdout.String(), p.stderr.String())
	}
	return p.code
}

// must waits for the end, which has to be of this code.
func (p *program) must(code int) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d\n%s%s", strings.Join(p.cmd.Args, " "), got, code, p.stdout.String(), p.stderr.String())
	}
}

// running reports whether the program has not ended.
func (p *program) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// until waits for a condition that the program brings about; it ends the test when the program ends before.
func (p *program) until(what string, condition func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if !p.running() {
			p.t.Fatalf("%s: ended with code %d before %s\n%s%s", strings.Join(p.cmd.Args, " "), p.code, what, p.stdout.String(), p.stderr.String())
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: no %s within %s", strings.Join(p.cmd.Args, " "), what, patience)
		}
	}
}

// matrix are the flags of a small run: two prefill rows and two decode cells, about ten seconds.
func matrix(url, out string, more ...string) []string {
	return append([]string{
		"run", "--url", url, "--contexts", "512", "--prefill", "512,1K", "--concurrency", "1,2", "--max-tokens", "64",
		"--duration", "1s", "--seed", "1", "--yes", "--out", out,
	}, more...)
}

// resume are the flags that go on with a run.
func resume(url, dir string, more ...string) []string {
	return append([]string{"run", "--url", url, "--resume", dir, "--yes"}, more...)
}

// runIn is the one run in a results folder, "" when there is none.
func runIn(t testing.TB, results string) string {
	t.Helper()
	entries, err := os.ReadDir(results)
	if errors.Is(err, os.ErrNotExist) || len(entries) == 0 {
		return ""
	}
	if err != nil || len(entries) > 1 {
		t.Fatalf("%s holds %d entries (%v), want one run", results, len(entries), err)
	}
	return filepath.Join(results, entries[0].Name())
}

// parts counts the finished passes of the one run in a results folder.
func parts(results string) int {
	names, err := filepath.Glob(filepath.Join(results, "*.partial", "part-*.requests.parquet"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return len(names)
}

// finishedIn counts the passes of the one run in a results folder of which both the events and run.toml tell.
func finishedIn(t testing.TB, results string) int {
	dir := runIn(t, results)
	if _, err := os.Stat(filepath.Join(dir, "run.toml")); dir == "" || err != nil {
		return 0
	}
	log, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range log.Run().Cells {
		n += len(c.Passes)
	}
	return n
}

// content is what a run's folder says.
type content struct {
	run   event.Run
	steps map[eventlog.Step][]event.Request
}

// read reads a run, finished or not.
func read(t testing.TB, dir string) content {
	t.Helper()
	log, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	reqs, err := log.Requests()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Samples(); err != nil {
		t.Fatal(err)
	}
	if err := log.Verify(); err != nil {
		t.Fatal(err)
	}
	c := content{log.Run(), map[eventlog.Step][]event.Request{}}
	for _, r := range reqs {
		s := eventlog.Step{Cell: int(r.Cell), Repeat: int(r.Repeat)}
		c.steps[s] = append(c.steps[s], r)
	}
	return c
}

// finished are the passes that the run says are finished, and of which it has the events.
func (c content) finished() map[eventlog.Step][]event.Request {
	done := map[eventlog.Step][]event.Request{}
	for i, cell := range c.run.Cells {
		for _, p := range cell.Passes {
			if s := (eventlog.Step{Cell: i, Repeat: p.Repeat}); p.Stop != event.StopInterrupted && len(c.steps[s]) > 0 {
				done[s] = c.steps[s]
			}
		}
	}
	return done
}

// shape is what two runs of one plan have in common: cells, statuses, and how each pass stopped.
func (c content) shape() []event.Cell {
	cells := make([]event.Cell, len(c.run.Cells))
	for i, cell := range c.run.Cells {
		cells[i] = cell
		cells[i].Passes = nil
		for _, p := range cell.Passes {
			cells[i].Passes = append(cells[i].Passes, event.Pass{Repeat: p.Repeat, Stop: p.Stop})
		}
	}
	return cells
}

// checkComplete checks a finished run: in shape one that was never cut, the passes that were finished before kept as they
// were, and no two windows at the same time.
func checkComplete(t testing.TB, dir string, uncut content, before map[eventlog.Step][]event.Request) {
	t.Helper()
	got := read(t, dir)
	if got.run.State != event.Complete {
		t.Errorf("%s: state %q, want complete", dir, got.run.State)
	}
	if !reflect.DeepEqual(got.shape(), uncut.shape()) {
		t.Errorf("%s: cells\n%+v\nwant those of a run that was never cut:\n%+v", dir, got.shape(), uncut.shape())
	}
	for s, reqs := range before {
		if !reflect.DeepEqual(got.steps[s], reqs) {
			t.Errorf("%s: cell %d repeat %d has %d requests, unlike the %d that it had when it was finished: it was measured twice", dir, s.Cell, s.Repeat, len(got.steps[s]), len(reqs))
		}
	}
	var windows []event.Pass
	for i, cell := range got.run.Cells {
		for _, p := range cell.Passes {
			if len(got.steps[eventlog.Step{Cell: i, Repeat: p.Repeat}]) == 0 {
				t.Errorf("%s: cell %d repeat %d has a pass and no requests", dir, i, p.Repeat)
			}
			for _, w := range windows {
				if p.WindowStartUS < w.WindowEndUS && w.WindowStartUS < p.WindowEndUS {
					t.Errorf("%s: windows %+v and %+v overlap", dir, p, w)
				}
			}
			windows = append(windows, p)
		}
	}
}
