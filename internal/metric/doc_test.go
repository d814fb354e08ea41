package metric_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"speedmatrix/internal/metric"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

// docs/metrics.md is the catalogue as a page of the repository: it fails when stale.
func TestDocsMetrics(t *testing.T) {
	const path = "../../docs/metrics.md"
	want := metricsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: go test ./internal/metric -run TestDocsMetrics -update", path)
	}
}

// metricsPage writes the catalogue as Markdown.
func metricsPage() string {
	var b strings.Builder
	b.WriteString("# The numbers\n\nEvery number that a page shows, defined once. This page is made from `internal/metric`, as is the site's methodology\npage; [method.md](method.md) says how a cell is run.\n\n")
	b.WriteString("## Notation\n\n| symbol | meaning |\n|---|---|\n")
	for _, s := range metric.Notation() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.Letter, cell(s.Meaning))
	}
	b.WriteString("\n## Metrics\n\n| metric | unit | of a | better | definition | formula |\n|---|---|---|---|---|---|\n")
	for _, m := range metric.Catalogue() {
		fmt.Fprintf(&b, "| %s (`%s`) | %s | %s | %s | %s | %s |\n", m.Name, m.ID, m.Unit, m.Scope, m.Better, cell(m.Definition), code(m.Formula))
	}
	terms(&b, "Kinds of time to first token", metric.TTFTKinds())
	terms(&b, "Statuses of a cell", metric.Statuses())
	terms(&b, "How tokens are counted", metric.TokenSources())
	terms(&b, "How arrivals are stamped", metric.Clocks())
	terms(&b, "How requests end", metric.Outcomes())
	b.WriteString("\n## Warnings\n\nWords in braces stand for figures of the cell.\n\n| warning | sentence |\n|---|---|\n")
	for _, w := range metric.Warnings() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", w.ID, cell(w.Sentence))
	}
	return b.String()
}

func terms(b *strings.Builder, title string, list []metric.Term) {
	fmt.Fprintf(b, "\n## %s\n\n| term | meaning |\n|---|---|\n", title)
	for _, t := range list {
		fmt.Fprintf(b, "| %s (`%s`) | %s |\n", t.Name, t.ID, cell(t.Definition))
	}
}

// cell makes text fit for a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}
