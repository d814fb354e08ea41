package page

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Prose is a page of Markdown written by the site's owner: data, contribute.
type Prose struct {
	Frame
	Heading string
	Body    HTML
	Files   []Download // for machines, above the text; nil for none
}

// NewProse builds such a page at path.
func NewProse(path, heading, description, markdown string, files []Download, s Site) Prose {
	// Code scrolls sideways on a small screen: it must take the focus.
	body := HTML(strings.ReplaceAll(string(renderOwn(markdown)), "<pre>", `<pre tabindex="0">`))
	return Prose{Frame: s.frame("prose", path, heading, description), Heading: heading, Body: body, Files: files}
}

// DataFiles are the files that the data page lists.
func DataFiles() []Download {
	return []Download{
		{"runs.json", "runs.json", "a summary of every run", "application/json"},
		{"run.schema.json", "run.schema.json", "the JSON Schema of each run.json", "application/schema+json"},
		{"SHA256SUMS", "SHA256SUMS", "checksums of the raw files of every run, for sha256sum --check in the results folder", "text/plain"},
	}
}

// Checksums is SHA256SUMS: the digests of the raw files as the runs state them, sorted by path.
func Checksums(all []Listed, digests map[string]map[string]string) []byte {
	var lines []string
	for _, l := range all {
		for name, digest := range digests[l.Entry.ID] {
			hex := strings.TrimPrefix(digest, "sha256:")
			if len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == "" && !strings.ContainsAny(name, "/\\\n") {
				lines = append(lines, fmt.Sprintf("%s  %s/%s", hex, l.Entry.ID, name))
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if len(lines) == 0 {
		return []byte{}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// Erratum is what was found wrong with a published run, which itself never changes: results/errata/<run-id>.toml.
type Erratum struct {
	Date   string `toml:"date"`   // "2026-12-24"
	Text   string `toml:"text"`   // what is wrong, one paragraph
	Action string `toml:"action"` // "banner": shown above the run; "tombstone": shown instead of it
}

// The two actions of an erratum.
const (
	Banner    = "banner"
	Tombstone = "tombstone"
)

// Validate returns all mistakes of an erratum.
func (e Erratum) Validate() error {
	var bad []string
	if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
		bad = append(bad, fmt.Sprintf("date %q: want a day such as \"2026-12-24\"", e.Date))
	}
	if strings.TrimSpace(e.Text) == "" {
		bad = append(bad, "text is empty: say what is wrong with the run")
	}
	if e.Action != Banner && e.Action != Tombstone {
		bad = append(bad, fmt.Sprintf("action %q: want \"banner\" or \"tombstone\"", e.Action))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return nil
}

// Caveat is the banner's text.
func (e Erratum) Caveat() Caveat {
	return Caveat{Text: "Erratum of " + Clean(e.Date) + ": " + sentence(Clean(e.Text))}
}

// Stone stands in the place of a run that was withdrawn.
type Stone struct {
	Frame
	Heading string
	ID      string
	Date    string
	Text    string
}

// NewStone builds the page of a withdrawn run.
func NewStone(id string, e Erratum, s Site) Stone {
	p := Stone{Frame: s.frame("stone", RunPath(id), "Withdrawn run "+id, "This run was withdrawn."), Heading: "Withdrawn run", ID: id, Date: Clean(e.Date),
		Text: sentence(Clean(e.Text))}
	p.NoIndex = true
	return p
}
