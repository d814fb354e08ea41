// Package programs builds measure and sitegen for the tests of this folder, and runs them to their end.
package programs

import (
	"bytes"
	"context"
	"errors"
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
	bin := t.TempDir()
	args := []string{"build", "-o", bin + string(filepath.Separator)}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "speedmatrix/cmd/...")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
	return Bin(bin)
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
