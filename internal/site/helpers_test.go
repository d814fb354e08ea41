package site_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
	"speedmatrix/internal/summary"
	"speedmatrix/templates"
)

// publish makes what site publishes of a run.
func publish(t testing.TB, s summary.Run, notes string, cfg page.Site) (site.Run, page.Entry) {
	t.Helper()
	p, err := page.NewRun(&s, page.RunInput{Notes: notes, Site: cfg})
	if err != nil {
		t.Fatal(err)
	}
	out := site.Run{Page: p, CSV: page.CellsCSV(&s), Curves: page.NewCurves(&s).JSON(), Strips: page.NewStrips(&s).JSON()}
	if out.JSON, err = page.NewTwin(&s).JSON(); err != nil {
		t.Fatal(err)
	}
	return out, page.NewEntry(&s)
}

// options is a site of the embedded templates in a folder of the test.
func options(t testing.TB) (site.Options, page.Site) {
	t.Helper()
	opt := site.Options{Out: filepath.Join(t.TempDir(), "site"), Templates: templates.Files}
	if dir := os.Getenv("SITE_OUT"); dir != "" {
		opt.Out = dir // to look at the pages: SITE_OUT=/some/folder go test -run Seed ./internal/site
	}
	cfg, err := site.Config(opt)
	if err != nil {
		t.Fatal(err)
	}
	// The pages that build writes: the program's tests have the others.
	cfg.Menu = slices.DeleteFunc(cfg.Menu, func(l page.Link) bool { return l.Href != "" && l.Href != "methodology/" })
	return opt, cfg
}

// build writes a whole site of runs and returns its folder.
func build(t testing.TB, opt site.Options, cfg page.Site, runs ...summary.Run) error {
	t.Helper()
	b, err := site.New(opt, cfg)
	if err != nil {
		return err
	}
	t.Cleanup(func() { b.Abort() })
	var entries []page.Entry
	for _, s := range runs {
		r, e := publish(t, s, "", cfg)
		if err := b.Run(r); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	page.SortEntries(entries)
	index, err := page.NewIndex(entries).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Home(page.NewHome(entries, cfg), index); err != nil {
		return err
	}
	for _, v := range []int{0, 1} {
		if err := b.Methodology(page.NewMethodology(1, []int{1}, page.MethodologyPath(v), "text", cfg)); err != nil {
			return err
		}
	}
	if err := b.NotFound(page.NewNotFound(cfg)); err != nil {
		return err
	}
	return b.Finish()
}
