package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/textview"
	"speedmatrix/internal/unit"
)

const showUsage = `usage: measure show results/<run> | FILE…

Prints the tables of a run, finished or interrupted, or the rows of one parquet file. As git's textconv:
git config diff.speedmatrix.textconv "measure show"
`

// showCommand is `measure show`: runs and files as text.
func showCommand(_ context.Context, args []string, p process) error {
	if len(args) == 0 {
		return usageError("show: name a run's folder or a file, e.g. measure show results/<run>")
	}
	for _, path := range args {
		if path == "--help" || path == "-h" {
			fmt.Fprint(p.stdout, showUsage)
			return nil
		}
		if strings.HasPrefix(path, "-") {
			return usageError("show: unknown flag %q; it takes none, see measure show --help", path)
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("show: %w", err)
		}
		if !info.IsDir() {
			err = showFile(p.stdout, path)
		} else {
			err = showRun(p.stdout, path)
		}
		if err != nil {
			return fmt.Errorf("show %s: %w", path, err)
		}
	}
	return nil
}

func showRun(w io.Writer, dir string) error {
	s, err := summarize(dir)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, textview.Text(s))
	return err
}

// showFile prints a lone run.toml as it is, and a parquet file a line a row: what a diff needs.
func showFile(w io.Writer, path string) error {
	if strings.HasSuffix(path, ".toml") {
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	f, err := eventlog.ReadFile(path)
	if err != nil {
		return err
	}
	if f.Kind == eventlog.KindSamples {
		for _, s := range f.Samples {
			if _, err := fmt.Fprintf(w, "cell %d repeat %d at %d us  %s %s %s %g\n", s.Cell, s.Repeat, s.AtUS, s.Source, s.Metric, s.Labels, s.Value); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range f.Requests {
		if _, err := fmt.Fprintln(w, requestLine(&f.Requests[i])); err != nil {
			return err
		}
	}
	return nil
}

// requestLine is one request in a line: where it belongs, how it ended, its tokens and its first token.
func requestLine(r *event.Request) string {
	ttft := unit.Dash
	if len(r.ChunkUS) > 0 {
		ms := float64(r.ChunkUS[0]) / 1000
		ttft = unit.Millis(&ms)
	}
	tokens := r.Tokens()
	return fmt.Sprintf("cell %d repeat %d stream %d request %d %s: %s, %s tokens in %d chunks, TTFT %s, prompt %s cached %s, start %d us",
		r.Cell, r.Repeat, r.Stream, r.Ordinal, r.Stage, r.Outcome, unit.Count(&tokens), len(r.ChunkUS), ttft, unit.Count(r.PromptTokens), unit.Count(r.CachedTokens), r.StartUS)
}
