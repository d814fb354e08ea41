//go:build linux

package instrument

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speedmatrix/tests/programs"
)

// cell is what measure run --json prints of a finished pass.
type cell struct {
	Status string
	Reason string
	TokS   *float64 `json:"tok_s"`
}

// measuring is a measure run under way: one cell of 64 streams in lock step, a token every 25 ms.
type measuring struct {
	cmd   *exec.Cmd
	cells chan cell // of the run's passes; closed at its end
}

func start(t *testing.T, bin programs.Bin) measuring {
	t.Helper()
	url := bin.Simulate(t, "--profile", "pace", "--speed", "0.4")
	m := measuring{
		cmd: exec.Command(filepath.Join(string(bin), "measure"), "run", "--url", url, "--contexts", "512", "--concurrency", "64",
			"--prefill", "none", "--max-tokens", "256", "--duration", "3s", "--json", "--out", t.TempDir()),
		cells: make(chan cell, 16),
	}
	m.cmd.Stderr = t.Output()
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill() // it has ended, unless the test failed
		_ = m.cmd.Wait()
	})
	go func() {
		defer close(m.cells)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var c cell
			if json.Unmarshal(lines.Bytes(), &c) == nil && c.Status != "" {
				m.cells <- c
			}
		}
	}()
	return m
}

func TestHealthyClientInLockStep(t *testing.T) {
	t.Parallel()
	m := start(t, programs.Build(t))
	c, ok := <-m.cells
	if !ok || c.Status != "valid" || c.TokS == nil {
		t.Errorf("a healthy client's cell is %+v, want valid with a rate", c)
	}
}

// The client runs for 15 of every 165 ms: a tenth of a core, in pieces that are longer apart than the tokens of a stream.
func TestClientWithAFractionOfACore(t *testing.T) {
	t.Parallel()
	m := start(t, programs.Build(t))
	stop := make(chan struct{})
	starved := make(chan struct{})
	go func() {
		defer close(starved)
		starve(m.cmd, stop)
	}()
	c, ok := <-m.cells
	close(stop)
	<-starved
	if !ok || c.Status != "client-bound" || !strings.Contains(c.Reason, "client") {
		t.Errorf("a starved client's cell is %+v, want client-bound with the reason", c)
	}
}

// starve stops and continues a process until stop is closed; it leaves it running.
func starve(cmd *exec.Cmd, stop <-chan struct{}) {
	pause := func(d time.Duration, sig syscall.Signal) bool {
		if cmd.Process.Signal(sig) != nil {
			return false // it has ended
		}
		select {
		case <-time.After(d):
			return true
		case <-stop:
			return false
		}
	}
	for pause(150*time.Millisecond, syscall.SIGSTOP) && pause(15*time.Millisecond, syscall.SIGCONT) {
	}
	_ = cmd.Process.Signal(syscall.SIGCONT) // ended already, or free to end
}
