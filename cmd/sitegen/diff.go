package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/page"
	"speedmatrix/internal/unit"
)

// diffCommand compares two runs as the compare pages do, in the terminal or as Markdown for a comment.
func diffCommand(_ context.Context, args []string, stdout, _ io.Writer) error {
	set := pflag.NewFlagSet("diff", pflag.ContinueOnError)
	set.SortFlags = false
	markdown := set.Bool("markdown", false, "print Markdown, for a comment on a pull request")
	if done, err := parse(set, args, stdout); done {
		return err
	}
	if set.NArg() != 2 {
		return usageError("diff needs two runs, such as: sitegen diff results/<first> results/<second>")
	}
	var runs [2]compare.Run
	for i := range runs {
		l, err := eventlog.Open(set.Arg(i))
		if err != nil {
			return err
		}
		if l.Partial() {
			return fmt.Errorf("%s: %w", set.Arg(i), errPartial)
		}
		sum, err := summarize(l, &workspace{})
		if err != nil {
			return err
		}
		runs[i] = compare.Of(&sum)
	}
	r := compare.Runs(runs[0], runs[1])
	if *markdown {
		return writeMarkdown(stdout, r)
	}
	return writeTable(stdout, r)
}

// headings of the cells' table, shared by both forms.
var diffHead = []string{"phase", "context", "requests", "first tok/s", "second tok/s", "ratio", "95 % interval", "verdict"}

// diffRow is one cell as text.
func diffRow(p compare.Pair) []string {
	c := p.Cell()
	verdict := string(p.Verdict)
	if p.Why != "" {
		verdict += ": " + p.Why
	}
	interval := unit.Dash
	if p.Low != nil && p.High != nil {
		interval = page.RatioInterval(*p.Low, *p.High)
		if p.Repeats < 3 {
			interval += " (within the runs)"
		}
	}
	return []string{string(c.Phase), page.Clean(c.Label), fmt.Sprint(c.Concurrency), diffRate(p.A), diffRate(p.B), unit.Ratio(p.Ratio), interval, verdict}
}

func diffRate(c *compare.Cell) string {
	if c == nil {
		return unit.Dash
	}
	return unit.Rate(c.TokS)
}

func writeTable(w io.Writer, r compare.Result) error {
	fmt.Fprintf(w, "first:  %s (%s)\nsecond: %s (%s)\n\n", page.Clean(r.A.Title), r.A.ID, page.Clean(r.B.Title), r.B.ID)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(r.Differences) == 0 {
		fmt.Fprintln(t, "no recorded fact differs")
	}
	for _, d := range r.Differences {
		fmt.Fprintf(t, "%s\t%s\t%s\n", d.Key, known(d.A), known(d.B))
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, why := range r.Refusals {
		fmt.Fprintf(w, "not divided by each other: %s\n", page.Clean(why))
	}
	fmt.Fprintln(t, strings.Join(diffHead, "\t"))
	for _, p := range r.Cells {
		fmt.Fprintln(t, strings.Join(diffRow(p), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", page.VerdictCounts(r))
	return err
}

func known(s string) string {
	if s == "" {
		return "not recorded"
	}
	return page.Clean(s)
}

// writeMarkdown keeps the cells folded: a comment is read for its first lines.
func writeMarkdown(w io.Writer, r compare.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\nFirst: %s (`%s`)  \nSecond: %s (`%s`)\n\n", page.VerdictCounts(r), cellText(r.A.Title), r.A.ID, cellText(r.B.Title), r.B.ID)
	for _, why := range r.Refusals {
		fmt.Fprintf(&b, "**Not divided by each other:** %s\n\n", cellText(why))
	}
	if len(r.Differences) == 0 {
		b.WriteString("No recorded fact differs.\n")
	} else {
		b.WriteString("| fact | first | second |\n|---|---|---|\n")
		for _, d := range r.Differences {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cellText(d.Key), cellText(known(d.A)), cellText(known(d.B)))
		}
	}
	b.WriteString("\n<details><summary>Cell by cell</summary>\n\n| " + strings.Join(diffHead, " | ") + " |\n|" + strings.Repeat("---|", len(diffHead)) + "\n")
	for _, p := range r.Cells {
		row := diffRow(p)
		for i := range row {
			row[i] = cellText(row[i])
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// cellText makes contributed text safe in a Markdown table: nothing in it is markup, a mention, a reference or a link. Entities keep
// Markdown from reading a character; where the forge reads the rendered text again (mentions, references, addresses), only a zero-width
// space parts what it looks for.
func cellText(s string) string {
	s = parted.ReplaceAllString(page.Clean(s), "$0\u200b")
	s = strings.ReplaceAll(s, "://", ":\u200b//")
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]()#+!|<>~@&:$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// parted finds the beginnings of what a forge makes a link of: @name and mail addresses, #1, GH-1, www.example.org.
var parted = regexp.MustCompile(`(?i)[@#]|\bgh-|www`)
