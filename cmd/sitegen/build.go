package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"speedmatrix/internal/event"
	"speedmatrix/internal/page"
	"speedmatrix/internal/site"
	"speedmatrix/templates"
)

// buildConfig is the flags of build. The zero value is not usable: buildFlags sets the defaults.
type buildConfig struct {
	results, templates, overrides, out, baseURL string
	cache                                       string // "" keeps nothing between builds
	copyData, keepGoing                         bool
	templatesGiven                              bool // --templates was typed, so it must exist
}

func buildFlags(c *buildConfig) *pflag.FlagSet {
	set := pflag.NewFlagSet("build", pflag.ContinueOnError)
	set.SortFlags = false
	set.StringVar(&c.results, "results", "results", "folder of `runs`")
	set.StringVar(&c.templates, "templates", "templates", "`folder` of templates; without it those inside this program are used")
	set.StringVar(&c.overrides, "overrides", "", "`folder` whose files win over templates of the same name")
	set.StringVar(&c.out, "out", "site", "output `folder`, replaced as a whole")
	set.StringVar(&c.baseURL, "base-url", "", "`address` of the site, over base_url of site.toml")
	set.StringVar(&c.cache, "cache", ".cache", "`folder` that keeps what was computed of each run for the next build; \"\" for none")
	set.BoolVar(&c.copyData, "copy-data", false, "copy the raw parquet files beside each page")
	set.BoolVar(&c.keepGoing, "keep-going", false, "leave out broken runs with a warning")
	return set
}

func buildCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c buildConfig
	set := buildFlags(&c)
	if done, err := parse(set, args, stdout); done {
		return err
	}
	if set.NArg() > 0 {
		return usageError("build takes no arguments, got %q: name the folder of runs with --results", set.Arg(0))
	}
	c.templatesGiven = set.Changed("templates")
	n, err := build(ctx, c, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s\n", filepath.Join(c.out, "index.html"), runsText(n))
	return nil
}

func runsText(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// options opens the folders that a build reads, and reads the site's configuration.
func (c buildConfig) options() (site.Options, page.Site, error) {
	opt := site.Options{Out: c.out, Templates: templates.Files}
	if err := c.checkFolders(); err != nil {
		return opt, page.Site{}, err
	}
	switch info, err := os.Stat(c.templates); {
	case err == nil && info.IsDir():
		opt.Templates = os.DirFS(c.templates)
	case c.templatesGiven:
		return opt, page.Site{}, usageError("templates folder %q does not exist: leave --templates out to use those of this program", c.templates)
	}
	if c.overrides != "" {
		if info, err := os.Stat(c.overrides); err != nil || !info.IsDir() {
			return opt, page.Site{}, usageError("overrides folder %q does not exist", c.overrides)
		}
		opt.Overrides = os.DirFS(c.overrides)
	}
	s, err := site.Config(opt)
	if err != nil {
		return opt, s, err
	}
	if c.baseURL != "" {
		s.BaseURL = c.baseURL
		if err := site.CheckURLs(s); err != nil {
			return opt, s, usageError("--base-url: %v", err)
		}
	}
	s.CopyData, s.Generator = c.copyData, "sitegen "+version()
	return opt, s, nil
}

// checkFolders refuses an output that holds what the build reads, which would be replaced with it, or lies in it, which the next build
// would read.
func (c buildConfig) checkFolders() error {
	if c.out == "" {
		return usageError("--out is empty: name the folder to write, such as --out site")
	}
	if c.results == "" {
		return usageError("--results is empty: name the folder of runs, such as --results results")
	}
	for _, f := range []struct{ flag, path string }{{"results", c.results}, {"templates", c.templates}, {"overrides", c.overrides}, {"cache", c.cache}} {
		if f.path == "" {
			continue
		}
		if within(f.path, c.out) {
			return usageError("--%s %q lies in the output %q, which is replaced as a whole: name another folder with --out", f.flag, f.path, c.out)
		}
		if within(c.out, f.path) {
			return usageError("--out %q lies in --%s %q: name a folder outside of it", c.out, f.flag, f.path)
		}
	}
	return nil
}

// within reports whether path is the folder dir or lies in it, links followed.
func within(path, dir string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved is the path without links, as far as it exists.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// build makes the site and returns how many runs it shows. When it fails, the old site is untouched.
func build(ctx context.Context, c buildConfig, stderr io.Writer) (n int, err error) {
	opt, s, err := c.options()
	if err != nil {
		return 0, err
	}
	dirs, partial, err := scan(c.results)
	if err != nil {
		return 0, err
	}
	for _, dir := range partial {
		fmt.Fprintf(stderr, "sitegen: %s is not complete and is left out: finish it with measure run --resume %s\n", dir, dir)
	}
	x, wrong := readExtras(c.results)
	if err := errors.Join(wrong...); err != nil {
		return 0, err
	}
	st := openStore(c.cache, c.out)
	opt.Program, opt.Previous = st.program, st.previous()
	b, err := site.New(opt, s)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	w := &runWriter{b: b, site: s, store: st, extras: x, places: page.NewPlaces(x.names)}
	records, err := w.addRuns(ctx, dirs, c.keepGoing, stderr)
	if err != nil {
		return 0, err
	}
	if err := addPages(b, opt, s, records, x); err != nil {
		return 0, err
	}
	if err := b.Finish(); err != nil {
		return 0, err
	}
	if err := st.save(b.Manifest()); err != nil {
		fmt.Fprintf(stderr, "sitegen: the next build starts without a cache: %s\n", oneLine(err))
	}
	return len(records), nil
}

// runWriter writes the folders of single runs.
type runWriter struct {
	b      *site.Builder
	site   page.Site
	store  *store
	extras extras
	places *page.Places

	workspaces sync.Pool // of *workspace
}

// addRuns loads and writes all runs, several at once, and returns their records, newest first. A broken run is an error that names it;
// with keepGoing it is a warning. Where the site cannot be written, that is the only error: it says nothing about runs.
func (w *runWriter) addRuns(ctx context.Context, dirs []string, keepGoing bool, stderr io.Writer) ([]record, error) {
	records, errs := make([]*record, len(dirs)), make([]error, len(dirs))
	_ = inParallel(len(dirs), func(i int) error {
		if errs[i] = ctx.Err(); errs[i] == nil {
			records[i], errs[i] = w.add(dirs[i])
		}
		return nil // told below, by run
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if unwritten := new(site.OutputError); errors.As(err, &unwritten) {
			return nil, unwritten
		}
	}
	var out []record
	var broken []error
	for i, dir := range dirs {
		switch {
		case errors.Is(errs[i], errPartial):
			fmt.Fprintf(stderr, "sitegen: %s is not complete and is left out: finish it with measure run --resume %s\n", dir, dir)
		case errs[i] != nil && keepGoing:
			fmt.Fprintf(stderr, "sitegen: %s is broken and is left out: %s\n", dir, oneLine(errs[i]))
		case errs[i] != nil:
			broken = append(broken, fmt.Errorf("%s: %s (mend or remove it, or leave it out with --keep-going)", dir, oneLine(errs[i])))
		case records[i] != nil:
			out = append(out, *records[i])
		}
	}
	slices.SortFunc(out, func(x, y record) int { return page.CompareEntries(x.Listed.Entry, y.Listed.Entry) })
	return out, errors.Join(broken...)
}

// addPages writes the pages that are about all runs or none.
func addPages(b *site.Builder, opt site.Options, s page.Site, records []record, x extras) error {
	if err := addMany(b, opt, s, records, x); err != nil {
		return err
	}
	if err := addMethodology(b, opt, s); err != nil {
		return err
	}
	return b.NotFound(page.NewNotFound(s))
}

// addMethodology writes a page for each version of the method, and the newest under the short address.
func addMethodology(b *site.Builder, opt site.Options, s page.Site) error {
	var versions []int
	for v := 1; v <= event.MethodVersion; v++ {
		versions = append(versions, v)
	}
	for _, v := range append([]int{0}, versions...) {
		of := v
		if of == 0 {
			of = event.MethodVersion
		}
		text, err := methodologyText(opt, of)
		if err != nil {
			return err
		}
		if err := b.Methodology(page.NewMethodology(of, versions, page.MethodologyPath(v), text, s)); err != nil {
			return err
		}
	}
	return nil
}

// methodologyText reads methodology.v1.md where an older version was kept, else methodology.md, which is of the newest.
func methodologyText(opt site.Options, version int) (string, error) {
	text, err := opt.Markdown(fmt.Sprintf("methodology.v%d.md", version))
	if errors.Is(err, fs.ErrNotExist) {
		return opt.Markdown("methodology.md")
	}
	return text, err
}
