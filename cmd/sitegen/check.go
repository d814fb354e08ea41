package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"speedmatrix/internal/check"
)

// errRefused says that a run must not be published as it is; the problems have been printed.
var errRefused = errors.New("refused")

func checkCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := pflag.NewFlagSet("check", pflag.ContinueOnError)
	set.SortFlags = false
	now := set.String("now", "", "`time` after which a run lies in the future, as 2026-12-01T10:15:00Z; the clock's without it")
	changes := set.String("changes", "", "`file` with the output of git diff --name-status --no-renames -z, - for standard input: refuse changes to existing runs")
	results := set.String("results", "results", "folder of `runs`, from the root of the repository, for --changes")
	if done, err := parse(set, args, stdout); done {
		return err
	}
	if set.NArg() == 0 && *changes == "" {
		return usageError("check needs a run or a folder of runs, such as: sitegen check results")
	}
	at := time.Now()
	if *now != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, *now); err != nil {
			return usageError("--now %q: want a time such as 2026-12-01T10:15:00Z", *now)
		}
	}
	runs, folders, err := expand(set.Args(), stderr)
	if err != nil {
		return err
	}
	var problems []check.Problem
	for _, dir := range folders {
		problems = append(problems, checkFolder(dir)...)
	}
	problems = append(problems, check.Duplicates(withSiblings(runs))...)
	for _, dir := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		problems = append(problems, check.Run(dir, check.Options{Now: at})...)
	}
	if *changes != "" {
		found, err := checkChanges(*changes, *results)
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	}
	return tell(stdout, problems, len(runs))
}

// expand turns folders of runs into their runs, and returns those folders too. A path that is neither a run nor holds any is checked as
// it is: the check says what is wrong with it.
func expand(paths []string, stderr io.Writer) (out, folders []string, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, nil, fmt.Errorf("%q does not exist: name a run or a folder of runs", p)
		}
		if _, err := os.Lstat(filepath.Join(p, runFile)); err == nil || !info.IsDir() {
			out = append(out, filepath.Clean(p))
			continue
		}
		runs, partial, err := scan(p)
		if err != nil {
			return nil, nil, err
		}
		folders = append(folders, filepath.Clean(p))
		for _, dir := range partial {
			fmt.Fprintf(stderr, "sitegen: %s is not complete and is not checked\n", dir)
		}
		out = append(out, runs...)
	}
	slices.Sort(out)
	slices.Sort(folders)
	return slices.Compact(out), slices.Compact(folders), nil
}

// withSiblings adds the runs beside those given, so that a new run is compared with all that are there.
func withSiblings(runs []string) []string {
	out := slices.Clone(runs)
	var parents []string
	for _, dir := range runs {
		if p := filepath.Dir(dir); !slices.Contains(parents, p) {
			parents = append(parents, p)
			if beside, _, err := scan(p); err == nil {
				out = append(out, beside...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func checkChanges(file, results string) ([]check.Problem, error) {
	var b []byte
	var err error
	if file == "-" {
		b, err = io.ReadAll(os.Stdin)
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	list, err := check.ParseNameStatus(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return check.Changes(filepath.ToSlash(results), list), nil
}

// tell prints one line a problem; a warning does not fail the check.
func tell(stdout io.Writer, problems []check.Problem, n int) error {
	refused := 0
	for _, p := range problems {
		fmt.Fprintln(stdout, p)
		if p.Severity == check.Refuse {
			refused++
		}
	}
	if refused > 0 {
		return fmt.Errorf("%w: %d of the lines above must be mended", errRefused, refused)
	}
	fmt.Fprintf(stdout, "%s checked, nothing to mend\n", runsText(n))
	return nil
}
