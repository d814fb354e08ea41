package main

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// inParallel calls do for 0 … n-1, several at once, and joins the errors in order.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// addMany writes the pages about several runs: lists, facets, comparisons, trends, feeds, and the texts of the site's owner. Runs are newest first.
func addMany(b *site.Builder, opt site.Options, s page.Site, records []record, x extras) error {
	all := make([]page.Listed, len(records))
	keys := map[string]string{}
	digests := map[string]map[string]string{}
	for i, r := range records {
		all[i] = r.Listed
		keys[r.Listed.Entry.ID], digests[r.Listed.Entry.ID] = r.Key, r.Files
	}
	all = page.Canonical(all, x.names)
	entries := page.Entries(all)
	if err := addHome(b, s, entries); err != nil {
		return err
	}
	facets, err := page.NewFacets(all, x.names, s)
	if err != nil {
		return err
	}
	trends, err := page.NewTrends(all, x.names, s)
	if err != nil {
		return err
	}
	facets = append(facets, trends...)
	if err := inParallel(len(facets), func(i int) error { return addFacet(b, facets[i]) }); err != nil {
		return err
	}
	if err := addComparisons(b, s, all, x.names, keys); err != nil {
		return err
	}
	return errors.Join(
		b.File("feed.xml", page.NewFeed(s.Title, "", entries, s)),
		b.File("data/SHA256SUMS", page.Checksums(all, digests)),
		addProse(b, opt, s),
	)
}

// addHome writes the home page, the pages of older runs and data/runs.json.
func addHome(b *site.Builder, s page.Site, entries []page.Entry) error {
	index, err := page.NewIndex(entries).JSON()
	if err != nil {
		return err
	}
	home := page.NewHome(entries, s)
	home.Browse = page.Browse("")
	home.Alternates = append(home.Alternates, page.Alternate{Type: "application/atom+xml", Href: "feed.xml", Title: "New runs"})
	if err := b.Home(home, index); err != nil {
		return err
	}
	older := page.NewOlder(entries, s)
	return inParallel(len(older), func(i int) error { return b.PageUnit("older.html", older[i].Path, older[i]) })
}

func addFacet(b *site.Builder, f page.FacetPage) error {
	if f.Feed != nil {
		if err := b.File(f.Path+"feed.xml", f.Feed); err != nil {
			return err
		}
	}
	return b.PageUnit(f.Template, f.Path, f.Model)
}

// addComparisons writes a page for each run, against its predecessor, and the page for any two.
func addComparisons(b *site.Builder, s page.Site, all []page.Listed, names page.Names, keys map[string]string) error {
	before := page.Predecessors(all, names)
	err := inParallel(len(all), func(i int) error {
		run, old := &all[i], before[all[i].Entry.ID]
		parts := []string{"compare", keys[run.Entry.ID], run.Entry.Title} // all else of a page is in its run.toml
		if old != nil {
			parts = append(parts, keys[old.Entry.ID], old.Entry.Title)
		}
		path := page.ComparePath(run.Entry.ID)
		return b.Unit(strings.TrimSuffix(path, "/"), b.Key(parts...), func() error {
			return b.Page("compare.html", path, page.NewCompare(run, old, s))
		})
	})
	if err != nil {
		return err
	}
	return b.PageUnit("compare-any.html", "compare/", page.NewCompareAny(all, before, s))
}

// addProse writes the pages whose text stands in the templates.
func addProse(b *site.Builder, opt site.Options, s page.Site) error {
	for _, p := range []struct {
		file, path, heading, description string
		files                            []page.Download
	}{
		{"data.md", "data/", "Data", "The numbers and raw events of all runs, and how to read them.", page.DataFiles()},
		{"contribute.md", "contribute/", "Contribute a run", "How to measure a server and publish the run here.", nil},
	} {
		text, err := opt.Markdown(p.file)
		if err != nil {
			return err
		}
		if err := b.Page("prose.html", p.path, page.NewProse(p.path, p.heading, p.description, text, p.files, s)); err != nil {
			return err
		}
	}
	schema, err := opt.Markdown("run.schema.json")
	if err != nil {
		return err
	}
	return b.File("data/run.schema.json", []byte(schema))
}
