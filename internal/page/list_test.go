package page

import (
	"fmt"
	"testing"
)

// A new run changes no page of older runs, every run stands on one page, and no page is too long.
func TestOlderPagesStayAsTheyAre(t *testing.T) {
	entries := func(n int) []Entry { // newest first
		out := make([]Entry, n)
		for i := range out {
			out[i].ID = fmt.Sprint(n - i)
		}
		return out
	}
	before := map[string]string{}
	for n := range 5 * pageRows {
		pages := split(entries(n))
		total, next := 0, n
		for i, p := range pages {
			if (i == 0) != (p.folder == "") || len(p.entries) >= 2*pageRows || i > 0 && len(p.entries) != pageRows {
				t.Fatalf("%d runs: page %d (%q) has %d", n, i, p.folder, len(p.entries))
			}
			total += len(p.entries)
			for _, e := range p.entries {
				if e.ID != fmt.Sprint(next) {
					t.Fatalf("%d runs: page %d has run %s, want %d", n, i, e.ID, next)
				}
				next--
			}
			if i == 0 {
				continue
			}
			content := p.entries[0].ID + " to " + p.entries[len(p.entries)-1].ID
			if old, ok := before[p.folder]; ok && old != content {
				t.Fatalf("%d runs: %s went from %s to %s", n, p.folder, old, content)
			}
			before[p.folder] = content
		}
		if total != n {
			t.Fatalf("%d runs: %d on pages", n, total)
		}
	}
}
