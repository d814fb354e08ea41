package check

import (
	"maps"
	"os"
	"slices"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/redact"
)

const mendText = "replace it by a word such as <redacted>, and change the secret if it is one: git keeps what was pushed"

// text refuses what should have been taken out of a text. The excerpts are redacted.
func (r *report) text(file, s string) (clean bool) {
	found := (redact.Redactor{}).Find(s)
	for _, m := range found {
		line := 1 + strings.Count(s[:m.Offset], "\n")
		r.refuse(file, "text", mendText, "line %d: %s: %s", line, m.Kind, m.Excerpt)
	}
	return len(found) == 0
}

// runText looks at run.toml as it is, comments included, and at the command lines as a shell would see them, in which a
// flag stands next to its value.
func (r *report) runText(run *event.Run) {
	raw, err := os.ReadFile(r.path(runFile))
	if err != nil || !r.text(runFile, string(raw)) {
		return
	}
	r.words(runFile, "launch.command", run.Launch.Command)
	r.words(runFile, "tool.flags", strings.Join(run.Tool.Flags, " "))
}

// rowText looks at the strings in the parquet files, each once.
func (r *report) rowText(reqs []event.Request, samples []event.Sample) {
	texts := map[string]bool{}
	for i := range reqs {
		for _, s := range []*string{reqs[i].Error, reqs[i].FinishReason} {
			if s != nil {
				texts[*s] = true
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(texts)) {
		r.words(requestsFile, "error or finish_reason", s)
	}
	clear(texts)
	for i := range samples {
		texts[samples[i].Source+" "+samples[i].Metric+" "+samples[i].Labels] = true
	}
	for _, s := range slices.Sorted(maps.Keys(texts)) {
		r.words(samplesFile, "labels", s)
	}
}

func (r *report) words(file, where, s string) {
	for _, m := range (redact.Redactor{}).Find(s) {
		r.refuse(file, "text", mendText, "%s: %s: %s", where, m.Kind, m.Excerpt)
	}
}
