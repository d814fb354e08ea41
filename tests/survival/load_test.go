package survival

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/simengine"
)

// TestLoadTable has the rows of the table "Load" that need a process, a socket or a disk; those that are decided within
// a pass are in internal/load, in virtual time, and the step of the clock in internal/client.
func TestLoadTable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"more streams than file descriptors", descriptors},
		{"more streams than the server runs at once", queued},
		{"a worker's request fails", requestsFail},
		{"slow terminal, stderr to a slow disk", slowTerminal},
		{"the network drops for 5 s", networkDrops},
		{"server dies and stays dead", serverDies},
		{"interrupt (Ctrl-C) once", interruptOnce},
		{"interrupt (Ctrl-C) twice", interruptTwice},
		{"results folder not writable", notWritable},
		{"disk full before the run", diskFullBefore},
		{"disk full during the run", diskFullDuring},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.test(t)
		})
	}
}

// limited starts measure under limits of open files.
func limited(t *testing.T, limits string, args ...string) *program {
	t.Helper()
	script := limits + ` && exec "$0" "$@"`
	return startCommand(t, exec.Command("sh", append([]string{"-c", script, filepath.Join(string(bin), "measure")}, args...)...))
}

func descriptors(t *testing.T) {
	e := newEngine(t, simengine.Options{MaxRunning: 128, KVTokens: 1 << 20})
	out := filepath.Join(t.TempDir(), "results")
	args := matrix(e.url(), out, "--prefill", "none", "--concurrency", "100", "--quiet")

	p := limited(t, "ulimit -n 120", args...)
	p.must(2)
	if want := "100 streams need 164 file descriptors, this process may have 120"; !strings.Contains(p.stderr.String(), want) {
		t.Errorf("said %q, want %q in it", p.stderr.String(), want)
	}
	if n := len(e.truth.Served()); n > 0 || runIn(t, out) != "" {
		t.Errorf("%d requests were sent and %q made, want an error before any load", n, runIn(t, out))
	}
	p = limited(t, "ulimit -Sn 120", args...) // the hard limit is higher
	p.must(0)
	if cell := read(t, runIn(t, out)).run.Cells[0]; cell.Passes[0].Stop != event.StopDone {
		t.Errorf("cell %+v, want the soft limit raised and 100 streams measured", cell)
	}
}

func queued(t *testing.T) {
	e := newEngine(t, simengine.Options{MaxRunning: 2})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out, "--prefill", "none", "--concurrency", "2,4,8")...)
	p.must(0)
	cells := read(t, runIn(t, out)).run.Cells
	if cells[1].Passes[0].Stop != event.StopQueued || cells[1].Reason != "the server ran 2 of 4 requests at once" || cells[2].Status != event.Skipped {
		t.Errorf("cells %+v, want queued with 2 of 4, and what is above skipped", cells)
	}
}

func requestsFail(t *testing.T) {
	e := newEngine(t, simengine.Options{Faults: simengine.Faults{Rate: 0.2, Kinds: []simengine.Fault{simengine.FaultReset, simengine.Fault500}}})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out, "--prefill", "none", "--concurrency", "2", "--max-tokens", "16")...)
	// The first requests, by which prompts get their length, may fail too: then there is no run.
	if code := p.wait(); code == 4 {
		t.Skipf("seed: a first request failed: %s", p.stderr.String())
	} else if code != 3 {
		t.Fatalf("exit code %d, want 3: a cell failed\n%s", code, p.stderr.String())
	}
	if !strings.Contains(p.stdout.String(), "failed") {
		t.Errorf("the cell does not say that requests failed:\n%s", p.stdout.String())
	}
}

// slowTerminal gives the program an output that nobody reads until it has measured everything.
func slowTerminal(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	read1, write1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read1.Close()
	// Filled but for what is printed before the first request.
	const room = 4 << 10
	if _, err := write1.Write(make([]byte, pipeSize(t, write1)-room)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(string(bin), "measure"), matrix(e.url(), out, "--concurrency", "1,2", "--contexts", "256,512", "--json")...)
	cmd.Stdout, cmd.Stderr = write1, write1
	p := startCommand(t, cmd)
	_ = write1.Close() // the program has its own
	p.until("all passes stored", func() bool { return parts(out) == 6 || !strings.HasSuffix(runIn(t, out), ".partial") })
	if _, err := io.Copy(io.Discard, read1); err != nil {
		t.Fatal(err)
	}
	p.must(0)
	for _, cell := range read(t, runIn(t, out)).run.Cells {
		if len(cell.Passes) != 1 || cell.Passes[0].Stop != event.StopDone {
			t.Errorf("cell %+v, want one pass that is done", cell)
		}
	}
}

func pipeSize(t *testing.T, f *os.File) int {
	t.Helper()
	const getPipeSize = 1032 // F_GETPIPE_SZ of Linux
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), getPipeSize, 0)
	if errno != 0 {
		t.Skipf("the size of a pipe is not told: %v", errno)
	}
	return int(n)
}

func networkDrops(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	p := newProxy(t, e.address)
	out := t.TempDir()
	m := start(t, matrix(p.url(), out, "--contexts", "512,1K", "--duration", "8s", "--prefill", "512", "--concurrency", "2")...)
	m.until("a first pass", func() bool { return finishedIn(t, out) == 1 })
	time.Sleep(5 * time.Second) // about a second into the window: a drop in another phase must do no harm either
	p.drop()
	time.Sleep(5 * time.Second)
	p.mend()
	if code := m.wait(); code != 3 && code != 0 {
		t.Fatalf("exit code %d, want the run to go on\n%s%s", code, m.stdout.String(), m.stderr.String())
	}
	c := read(t, runIn(t, out))
	failed := map[event.Outcome]int{}
	for _, reqs := range c.steps {
		for _, r := range reqs {
			if r.Outcome.Failed() {
				failed[r.Outcome]++
			}
		}
	}
	if failed[event.Reset]+failed[event.Truncated]+failed[event.Unreachable] == 0 {
		t.Errorf("failures %v, want those of a network that dropped", failed)
	}
	for _, cell := range c.run.Cells {
		if len(cell.Passes) != 1 {
			t.Errorf("cell %+v, want every cell measured", cell)
		}
	}
	t.Logf("failures by type: %v", failed)
}

func serverDies(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out, "--timeout", "5s")...)
	p.until("the prefill rows", func() bool { return finishedIn(t, out) == 2 })
	time.Sleep(time.Second)
	e.stop()
	p.must(4) // how long this may take is tested in virtual time, in internal/load
	if !strings.Contains(p.stderr.String(), "--resume") || !strings.Contains(p.stderr.String(), "gone") {
		t.Errorf("said %q, want that the server is gone and how to go on", p.stderr.String())
	}
	dir := runIn(t, out)
	before := checkPartial(t, dir, nil)
	if len(before) != 2 {
		t.Errorf("%d finished passes kept, want the two of before", len(before))
	}
	start(t, resume(e.url(), dir)...).must(4) // still dead: nothing is lost
	if again := checkPartial(t, dir, before); len(again) != 2 {
		t.Errorf("%d finished passes after a resume without a server", len(again))
	}
	e.start()
	start(t, resume(e.url(), dir)...).must(0)
	checkComplete(t, runIn(t, out), uncut(t), before)
}

func interruptOnce(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out, "--duration", "60s")...)
	p.until("a window", func() bool { return finishedIn(t, out) == 2 && len(e.truth.Served()) > 20 })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.must(130)
	if !strings.Contains(p.stderr.String(), "--resume") {
		t.Errorf("said %q, want how to go on", p.stderr.String())
	}
	dir := runIn(t, out)
	c := read(t, dir)
	if len(c.finished()) != 2 {
		t.Errorf("%d finished passes, want the two of before", len(c.finished()))
	}
	var kept int
	for _, reqs := range c.steps {
		kept += len(reqs)
	}
	if kept < len(e.truth.Served())-3 { // less those by which prompts got their length
		t.Errorf("%d requests kept of the %d that the engine served: the bookkeeping of the interrupted cell was not finished", kept, len(e.truth.Served()))
	}
	start(t, "show", dir).must(0)

	// A kill between the two steps of measuring such a pass again leaves its place in run.toml without its events.
	for s := range c.steps {
		if _, done := c.finished()[s]; done {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("part-c%05d-*", s.Cell)))
		if err != nil || len(files) == 0 {
			t.Fatalf("parts of cell %d: %v %v", s.Cell, files, err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkPartial(t, dir, c.finished())
}

func interruptTwice(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	out := t.TempDir()
	p := start(t, matrix(e.url(), out)...)
	p.until("the prefill rows", func() bool { return finishedIn(t, out) == 2 })
	for p.running() {
		_ = p.cmd.Process.Signal(os.Interrupt) // may have ended just now
		time.Sleep(time.Millisecond)
	}
	p.must(130)
	dir := runIn(t, out)
	before := checkPartial(t, dir, nil)
	if len(before) != 2 {
		t.Errorf("%d finished passes kept, want the two of before", len(before))
	}
	start(t, resume(e.url(), dir)...).must(0)
	checkComplete(t, runIn(t, out), uncut(t), before)
}

func notWritable(t *testing.T) {
	e := newEngine(t, simengine.Options{})
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, nil)
	for _, out := range []string{file, filepath.Join(file, "results"), "/proc/results"} {
		p := start(t, matrix(e.url(), out)...)
		p.must(1)
		if want := fmt.Sprintf("cannot write to the results folder %q", out); !strings.Contains(p.stderr.String(), want) {
			t.Errorf("said %q, want %q in it", p.stderr.String(), want)
		}
	}
	if n := len(e.truth.Served()); n > 0 {
		t.Errorf("%d requests were sent, want an error before any load", n)
	}
}

// smallDisk mounts a file system of a few hundred KB, or skips the test where that is not allowed.
func smallDisk(t *testing.T, kb int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kb)); err != nil {
		t.Skipf("no mount: %v (the same is simulated in internal/eventlog)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill writes until the disk is full, and returns the file that takes up the room.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	return path
}

func diskFullBefore(t *testing.T) {
	disk := smallDisk(t, 256)
	fill(t, disk)
	e := newEngine(t, simengine.Options{})
	p := start(t, matrix(e.url(), filepath.Join(disk, "results"))...)
	p.must(1)
	if s := p.stderr.String(); !strings.Contains(s, "cannot write to the results folder") || !strings.Contains(s, "no space left on device") {
		t.Errorf("said %q, want that there is no room", s)
	}
	if n := len(e.truth.Served()); n > 0 {
		t.Errorf("%d requests were sent, want an error before any load", n)
	}
	if _, err := os.Stat(filepath.Join(disk, "results")); err == nil {
		t.Error("a results folder was left behind")
	}
}

func diskFullDuring(t *testing.T) {
	disk := smallDisk(t, 512)
	out := filepath.Join(disk, "results")
	e := newEngine(t, simengine.Options{})
	p := start(t, matrix(e.url(), out)...)
	p.until("the prefill rows", func() bool { return finishedIn(t, out) == 2 })
	filler := fill(t, disk)
	p.must(1)
	if s := p.stderr.String(); !strings.Contains(s, "no space left on device") || !strings.Contains(s, "--resume") {
		t.Errorf("said %q, want that there is no room, and how to go on", s)
	}
	dir := runIn(t, out)
	before := checkPartial(t, dir, nil)
	if len(before) != 2 {
		t.Errorf("%d finished passes survived, want the two of before", len(before))
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	start(t, resume(e.url(), dir)...).must(0)
	checkComplete(t, runIn(t, out), uncut(t), before)
}
