package page_test

import (
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/page"
)

// Every place that a run's page names is a page that the site has, whatever the names are.
func TestPlacesExist(t *testing.T) {
	names := page.Names{Models: map[string][]string{"Gemma 4": {"gemma-4-raw"}}}
	var all []page.Listed
	for i, name := range []string{"gemma-4-raw", "Gemma 4", "gemma_4", "A+", "A", "模型甲", "模型乙", "<script>", "../..", "", "older", "C#", "c♯",
		"..", ".", "x/..", "...", "/", "index.html", "feed.xml", "Feed.XML", "v1.", "v1", strings.Repeat("a", 300), strings.Repeat("a", 301), strings.Repeat("a.", 150)} {
		all = append(all, page.Listed{Entry: page.Entry{
			ID: "r" + strconv.Itoa(i), Title: "x", State: event.Complete, Started: time.Unix(int64(1000-i), 0).UTC(),
			Model: name, GPU: name, Device: name, GPUCount: 1, Engine: name, Version: name, Quantization: name,
		}})
	}
	site := page.Site{Title: "t"}
	facets, err := page.NewFacets(page.Canonical(all, names), names, site)
	if err != nil {
		t.Fatal(err)
	}
	trends, err := page.NewTrends(page.Canonical(all, names), names, site)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, p := range append(facets, trends...) {
		if have[p.Path] {
			t.Errorf("page %q is made twice", p.Path)
		}
		have[p.Path] = true
		if clean := path.Clean(p.Path) + "/"; clean != p.Path || len(path.Base(p.Path)) > 200 || strings.HasSuffix(p.Path, ".xml/") || strings.HasSuffix(p.Path, ".html/") {
			t.Errorf("page %q is not a folder of its own (%q)", p.Path, clean)
		}
	}
	places := page.NewPlaces(names)
	of := map[string][]page.Link{}
	for _, l := range all {
		links := places.Of(l)
		of[l.Entry.Model] = links
		if last := links[len(links)-1]; last.Href != page.ComparePath(l.Entry.ID) {
			t.Errorf("%q: last place %q, want its comparison", l.Entry.Model, last.Href)
		}
		for _, link := range links[:len(links)-1] {
			if !have[link.Href] {
				t.Errorf("%q: %s leads to %q, which no page has", l.Entry.Model, link.Text, link.Href)
			}
		}
		if want := 6; l.Entry.Model != "" && len(links) != want || l.Entry.Model == "" && len(links) != 1 {
			t.Errorf("%q: places %v", l.Entry.Model, links)
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"gemma-4-raw", "Gemma 4", true}, {"Gemma 4", "gemma_4", true}, {"A+", "A", false}, {"模型甲", "模型乙", false}, {"C#", "c♯", false},
		{"..", ".", false}, {"feed.xml", "Feed.XML", true}, {"v1.", "v1", false}, {strings.Repeat("a", 300), strings.Repeat("a", 301), false}} {
		if got := of[c.a][0] == of[c.b][0]; got != c.same {
			t.Errorf("%q and %q share a page: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}
