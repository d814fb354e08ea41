// Package programs builds measure and sitegen for the tests of this folder, and runs them to their end.
package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bin is a folder that holds the built programs.
type Bin string

// Build compiles both programs into a folder of the test, with the race detector when the test itself has it.
func Build(t testing.TB) Bin {
	t.Helper()
	bin, err := BuildInto(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// BuildInto is Build into a folder of the caller, for programs that several tests share.
func BuildInto(dir string) (Bin, error) {
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "speedmatrix/cmd/...")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
	return Bin(dir), nil
}

// Result is what a program left: its streams, its exit code and how long it took.
type Result struct {
	Stdout, Stderr string
	Code           int
	Took           time.Duration
}

// Run runs a program to its end. It fails the test when the program does not start, or not end within limit.
func (b Bin) Run(t testing.TB, limit time.Duration, program string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(string(b), program), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %s: not done within %s\n%s%s", program, strings.Join(args, " "), limit, r.Stdout, r.Stderr)
	case errors.As(err, &exit):
		r.Code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", program, err)
	}
	return r
}

// Must runs a program that has to succeed, and returns what it printed on stdout.
func (b Bin) Must(t testing.TB, limit time.Duration, program string, args ...string) string {
	t.Helper()
	r := b.Run(t, limit, program, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s%s", program, strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// Simulate starts the simulated engine on a free port until the test ends, and returns the base URL of its API.
// flags are further flags of "measure simulate".
func (b Bin) Simulate(t testing.TB, flags ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(string(b), "measure"), append([]string{"simulate", "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed: the error says only that
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("measure simulate: %v", err)
	}
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("measure simulate printed %q, want its address", line)
	}
	go io.Copy(io.Discard, out)
	return url
}
