package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The engine's profile, and the tokens a second of each stream that it makes at speed 1.
const (
	profile   = "pace"
	paceRate  = 100.0
	startWait = 10 * time.Second
	stopWait  = 5 * time.Second
)

// engine is a running process of the built-in engine.
type engine struct {
	url    string // base URL
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan error
}

// engineFlags make the engine give each stream rate tokens a second. It speaks SGLang's API, whose requests carry an id:
// by that its log is matched with what the client saw.
func engineFlags(rate float64, spread bool, log string) []string {
	return []string{
		"--listen", "127.0.0.1:0", "--profile", profile, "--dialect", "sglang", "--log", log,
		"--speed", strconv.FormatFloat(rate/paceRate, 'g', -1, 64), "--spread=" + strconv.FormatBool(spread),
	}
}

// startEngine runs the command and waits until it says where it listens.
func startEngine(ctx context.Context, command, flags []string) (*engine, error) {
	e := &engine{ended: make(chan error, 1)}
	e.cmd = exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], flags...)...)
	e.cmd.Stderr = &e.stderr
	e.cmd.Cancel = func() error { return e.cmd.Process.Signal(os.Interrupt) }
	e.cmd.WaitDelay = stopWait
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				address <- url
			}
		}
		e.ended <- e.cmd.Wait() // all of stdout was read
	}()
	select {
	case e.url = <-address:
		return e, nil
	case err := <-e.ended:
		return nil, fmt.Errorf("the engine ended before it listened: %w: %s", errors.Join(err, ctx.Err()), firstLine(e.stderr.String()))
	case <-time.After(startWait):
		_ = e.cmd.Process.Kill() // it ends with the error that it did not listen
		<-e.ended
		return nil, fmt.Errorf("the engine did not listen within %s", startWait)
	}
}

// stop interrupts the engine, which then writes the rest of its log, and waits for its end.
func (e *engine) stop() error {
	if err := e.cmd.Process.Signal(os.Interrupt); err != nil {
		_ = e.cmd.Process.Kill() // a platform without interrupts
	}
	select {
	case <-e.ended:
		return nil // whether its log is whole shows when it is read
	case <-time.After(stopWait):
		_ = e.cmd.Process.Kill()
		<-e.ended
		return fmt.Errorf("the engine did not end within %s of being asked to", stopWait)
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
