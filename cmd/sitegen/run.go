package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

const overview = `sitegen: a website from measured runs

  sitegen [build]              build the site from results/
  sitegen serve                build, serve on this machine, rebuild on every change
  sitegen check results/<run>  validate runs before they are published
  sitegen diff A B             compare two runs, cell by cell

Each command has its own --help.
`

// errUsage marks errors of the command line: exit code 2.
var errUsage = errors.New("usage")

// usageError is an error of the command line.
func usageError(format string, args ...any) error {
	return fmt.Errorf("%w%w", errSilent{errUsage}, fmt.Errorf(format, args...))
}

// errSilent prints nothing, so that a marked error reads as it is.
type errSilent struct{ error }

func (errSilent) Error() string   { return "" }
func (e errSilent) Unwrap() error { return e.error }

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name, rest := "build", args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, rest = args[0], args[1:]
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
		fmt.Fprint(stdout, overview, "\n", buildFlags(&buildConfig{}).FlagUsages())
		return nil
	}
	switch name {
	case "build":
		return buildCommand(ctx, rest, stdout, stderr)
	case "check":
		return checkCommand(ctx, rest, stdout, stderr)
	case "diff":
		return diffCommand(ctx, rest, stdout, stderr)
	case "serve":
		return serveCommand(ctx, rest, stdout, stderr)
	case "version":
		fmt.Fprintln(stdout, "sitegen", version())
		return nil
	}
	return usageError("unknown command %q: want build, serve, check or diff (see sitegen --help)", name)
}

// parse reads a command's flags; --help prints them and ends the command.
func parse(set *pflag.FlagSet, args []string, stdout io.Writer) (done bool, err error) {
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	err = set.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(stdout, "sitegen %s\n\n%s", set.Name(), set.FlagUsages())
		return true, nil
	}
	if err != nil {
		return true, usageError("%v (see sitegen %s --help)", err, set.Name())
	}
	return false, nil
}

// report prints an error, one line for each that was joined, and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(w, "sitegen:", strings.TrimRight(line, "\n"))
	}
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

// oneLine joins the lines of an error, so that each run is one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
