// Command measure measures the speed of an LLM inference server over a matrix of context lengths and
// simultaneous requests, and keeps every raw event it saw.
//
//	measure run --url http://localhost:8000/v1      measure with the standard matrix
//	measure plan …same flags…                       print the cells, send no load
//	measure calibrate                               measure the instrument itself
//	measure simulate --listen 127.0.0.1:8000        serve the built-in simulated engine
//	measure show results/<run>                      the run's tables as text
//
// Exit codes: 0 done, 1 the tool failed, 2 usage, 3 done but some cell failed, 4 the server is not usable,
// 130 interrupted (what was measured is kept; --resume goes on).
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts // finish the bookkeeping of the pass under way, then stop
		cancel()
		// A stderr that nobody reads must not keep a second interrupt from being heard.
		go fmt.Fprintln(os.Stderr, "\nmeasure: stopping; interrupt again to stop at once")
		<-interrupts
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], process{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		terminal: term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd())),
		width:    func() int { return terminalWidth(int(os.Stdout.Fd())) },
	}))
}

// A process is what the operating system gives a program, so that tests can give something else.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	terminal       bool       // a person sits at both ends
	width          func() int // columns of the terminal
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, p process) int {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, overview)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "--help", "-h":
		fmt.Fprint(p.stdout, overview)
		return exitDone
	case "version", "--version":
		fmt.Fprintln(p.stdout, "measure", version())
		return exitDone
	}
	for _, c := range commands() {
		if c.name == name {
			return report(p.stderr, c.run(ctx, rest, p))
		}
	}
	return report(p.stderr, usageError("unknown command %q; the commands are run, plan, calibrate, simulate, show (see measure --help)", name))
}

// A command is one word of the command line.
type command struct {
	name string
	run  func(ctx context.Context, args []string, p process) error
}

func commands() []command {
	return []command{
		{"run", runCommand},
		{"plan", planCommand},
		{"show", showCommand},
		{"calibrate", calibrateCommand},
		{"simulate", func(ctx context.Context, args []string, p process) error {
			return simulate(ctx, args, p.stdout, p.stderr)
		}},
	}
}

const overview = `measure: how fast is an LLM inference server?

  measure run --url http://localhost:8000/v1    measure with the standard matrix
  measure plan --url …                          print the cells, what each needs, how long; send no load
  measure calibrate                             measure this program's own error
  measure simulate --listen 127.0.0.1:8000      serve the built-in simulated engine
  measure show results/<run> | FILE             a run's tables, or one file's, as text

Each command has its own --help.
`

// terminalWidth is the columns of a terminal, 80 when it does not tell.
func terminalWidth(fd int) int {
	if w, _, err := term.GetSize(fd); err == nil && w > 0 {
		return w
	}
	return 80
}
