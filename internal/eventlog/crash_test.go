package eventlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

var errKilled = errors.New("killed")

// killAt returns a disk hook that fails from the n-th step on, as a process does that has been killed, and a counter.
func killAt(n int) (hook func(op, path string) error, steps *int) {
	steps = new(int)
	return func(string, string) error {
		*steps++
		if *steps > n {
			return errKilled
		}
		return nil
	}, steps
}

// failOnce returns a disk hook that fails at the n-th step only, as a full disk does for which room is then made.
func failOnce(n int) func(op, path string) error {
	steps := 0
	return func(string, string) error {
		steps++
		if steps == n+1 {
			return errKilled
		}
		return nil
	}
}

func allSteps() []eventlog.Step { return []eventlog.Step{{Cell: 0}, {Cell: 1}, {Cell: 1, Repeat: 1}} }

// drive measures what is not done yet, and completes.
func drive(w *eventlog.Writer) error {
	defer w.Close()
	for _, s := range allSteps() {
		if w.Done()[s] {
			continue
		}
		if err := w.Part(s, passRequests(s), someSamples(s.Cell, s.Repeat, 3)); err != nil {
			return err
		}
		if err := w.Save(w.Run()); err != nil {
			return err
		}
	}
	_, err := w.Complete(w.Run())
	return err
}

func createAndDrive(hook func(op, path string) error, results string) error {
	w, err := eventlog.CreateOn(hook, results, sampleRun())
	if err != nil {
		return err
	}
	return drive(w)
}

// contents maps each file below dir to its bytes.
func contents(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range names(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

func reference(t testing.TB) map[string][]byte {
	t.Helper()
	dir, _, _ := writeRun(t, t.TempDir(), true)
	return contents(t, dir)
}

func sameContents(t testing.TB, got, want map[string][]byte) {
	t.Helper()
	for name, b := range want {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s differs from that of a run that was never cut (%d and %d bytes)", name, len(got[name]), len(b))
		}
	}
	if len(got) != len(want) {
		t.Errorf("the folder has %d files, want %d", len(got), len(want))
	}
}

// A kill ahead of each single step of the whole run leaves a folder whose finished passes can be read, and that Resume
// completes to the same bytes as a run that was never cut, without measuring a pass twice.
func TestKillAtEachStep(t *testing.T) {
	want := reference(t)
	never, total := killAt(1 << 30)
	if err := createAndDrive(never, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if *total < 40 {
		t.Fatalf("the run takes %d steps: the hook is not called", *total)
	}
	for n := range *total {
		results := t.TempDir()
		hook, _ := killAt(n)
		if err := createAndDrive(hook, results); !errors.Is(err, errKilled) {
			t.Fatalf("step %d: error %v, want the kill", n, err)
		}
		afterKill(t, n, results, want)
	}
}

func afterKill(t *testing.T, n int, results string, want map[string][]byte) {
	t.Helper()
	final := filepath.Join(results, sampleRun().ID)
	partial := final + ".partial"
	if _, err := os.Stat(final); err == nil { // killed after the renaming
		sameContents(t, contents(t, final), want)
		return
	}
	if _, err := os.Stat(filepath.Join(partial, "run.toml")); err != nil { // killed before anything was measured
		return
	}
	before := readPartial(t, n, partial)
	w, err := eventlog.ResumeOn(nil, partial)
	if err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	for s := range w.Done() {
		if w.Run().State != event.Complete && !before[s] {
			t.Errorf("step %d: %v is done but could not be read", n, s)
		}
	}
	if len(w.Done()) < len(before) {
		t.Errorf("step %d: %d passes could be read, %d are done", n, len(before), len(w.Done()))
	}
	if err := drive(w); err != nil {
		t.Fatalf("step %d: after resuming: %v", n, err)
	}
	sameContents(t, contents(t, final), want)
}

// readPartial reads what a killed run holds and returns its passes; each must be whole.
func readPartial(t *testing.T, n int, partial string) map[eventlog.Step]bool {
	t.Helper()
	l, err := eventlog.Open(partial)
	if err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	if !l.Partial() {
		t.Errorf("step %d: the run does not count as partial", n)
	}
	reqs, err := l.Requests()
	if err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	if _, err := l.Samples(); err != nil {
		t.Fatalf("step %d: %v", n, err)
	}
	if err := l.Verify(); err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	byStep := map[eventlog.Step][]event.Request{}
	for _, r := range reqs {
		s := eventlog.Step{Cell: int(r.Cell), Repeat: int(r.Repeat)}
		byStep[s] = append(byStep[s], r)
	}
	seen := map[eventlog.Step]bool{}
	for s, got := range byStep {
		seen[s] = true
		if !reflect.DeepEqual(got, passRequests(s)) {
			t.Errorf("step %d: pass %v is not whole", n, s)
		}
	}
	return seen
}

// A step that fails and later succeeds (a full disk) costs nothing: the same writer goes on.
func TestFailOnceAtEachStep(t *testing.T) {
	want := reference(t)
	hook, total := killAt(1 << 30)
	if err := createAndDrive(hook, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for n := range *total {
		results := t.TempDir()
		w, err := eventlog.CreateOn(failOnce(n), results, sampleRun())
		if err != nil {
			if got := names(t, results); len(got) != 0 {
				t.Errorf("step %d: Create failed and left %q", n, got)
			}
			continue
		}
		for range 2 {
			if err = driveOpen(w); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		w.Close()
		sameContents(t, contents(t, filepath.Join(results, sampleRun().ID)), want)
	}
}

// driveOpen is drive that keeps the writer open on failure, to try again.
func driveOpen(w *eventlog.Writer) error {
	if !strings.HasSuffix(w.Dir(), ".partial") {
		return nil // only the sync of the parent had failed
	}
	for _, s := range allSteps() {
		if !w.Done()[s] {
			if err := w.Part(s, passRequests(s), someSamples(s.Cell, s.Repeat, 3)); err != nil {
				return err
			}
		}
	}
	_, err := w.Complete(w.Run())
	return err
}
