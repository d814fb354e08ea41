package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// Exit codes (README, "Exit codes").
const (
	exitDone        = 0
	exitTool        = 1
	exitUsage       = 2
	exitCellFailed  = 3
	exitServer      = 4
	exitInterrupted = 130
)

// An exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func serverError(err error) error { return &exitError{exitServer, err} }

// report prints an error, one line for each that was joined, and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return exitDone
	}
	code := exitTool
	var e *exitError
	switch {
	case errors.As(err, &e):
		code = e.code
	case errors.Is(err, context.Canceled):
		code = exitInterrupted
	}
	for _, line := range lines(err) {
		fmt.Fprintln(w, "measure:", line)
	}
	return code
}

// lines are the messages of joined errors, in order.
func lines(err error) []string {
	var e *exitError
	if errors.As(err, &e) && e == err {
		return lines(e.err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range joined.Unwrap() {
			out = append(out, lines(e)...)
		}
		return out
	}
	return []string{err.Error()}
}
