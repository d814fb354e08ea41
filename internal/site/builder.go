package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"speedmatrix/internal/page"
	"speedmatrix/internal/site/social"
)

// Builder writes one site. New makes it; Finish or Abort ends it.
type Builder struct {
	opt    Options
	site   page.Site
	assets assets
	render *renderer
	dir    string // the folder under construction
	held   *folderLock

	base     string          // names the program, the templates and the configuration
	root     string          // path of the base URL, "" without one
	previous map[string]Unit // of the build that made opt.Out, by folder
	painters sync.Pool       // *social.Painter

	mu      sync.Mutex
	pages   map[string]outline  // every HTML file, by its path from the root
	files   map[string]bool     // every file
	dirs    map[string]bool     // folders made
	urls    []location          // for the sitemap
	open    map[string]*Unit    // units being made, by folder
	anchors map[string][]string // lists of anchors that pages share, by their digest
	done    []Unit
}

// Run is everything that is published of one run.
type Run struct {
	Page   page.Run
	JSON   []byte            // run.json
	CSV    []byte            // cells.csv
	Curves []byte            // charts.json
	Strips []byte            // requests.json
	Copy   map[string]string // files to copy beside the page: name to path on disk
}

// New starts a site beside opt.Out. It fails when opt.Out must not be replaced, or when a template is missing or wrong.
func New(opt Options, s page.Site) (*Builder, error) {
	if err := checkReplaceable(opt.Out); err != nil {
		return nil, err
	}
	a, err := loadAssets(opt)
	if err != nil {
		return nil, err
	}
	r, err := newRenderer(opt, a)
	if err != nil {
		return nil, err
	}
	base, err := baseKey(opt, s)
	if err != nil {
		return nil, err
	}
	dir, held, err := makeBeside(opt.Out)
	if err != nil {
		return nil, err
	}
	b := &Builder{opt: opt, site: s, assets: a, render: r, dir: dir, held: held, pages: map[string]outline{}, files: map[string]bool{},
		base: base, root: rootOf(s.BaseURL), previous: map[string]Unit{}, dirs: map[string]bool{}, open: map[string]*Unit{}, anchors: map[string][]string{}}
	for _, u := range opt.Previous.Units {
		b.previous[u.Folder] = u
	}
	for name, content := range a.files {
		if err := b.File(name, content); err != nil {
			return nil, errors.Join(err, b.Abort())
		}
	}
	return b, nil
}

// Abort removes the unfinished site; the old one stays. After Finish it does nothing.
func (b *Builder) Abort() error {
	if b.dir == "" {
		return nil
	}
	err := os.RemoveAll(b.dir)
	b.dir = ""
	b.held.release()
	return err
}

// File writes a file that is no page at a slash-separated path from the root.
func (b *Builder) File(name string, content []byte) error {
	if err := b.claim(name); err != nil {
		return err
	}
	return b.write(name, content)
}

// Run renders a run's page and writes its twins and its social image.
func (b *Builder) Run(r Run) error {
	dir := page.RunPath(r.Page.ID)
	if err := b.page("run.html", dir+"index.html", r.Page); err != nil {
		return fmt.Errorf("run %s: %w", r.Page.ID, err)
	}
	picture, err := b.picture(r.Page.Card)
	if err != nil {
		return fmt.Errorf("run %s: social image: %w", r.Page.ID, err)
	}
	twins := []struct {
		name    string
		content []byte
	}{
		{"run.json", r.JSON}, {"cells.csv", r.CSV}, {"charts.json", r.Curves}, {"requests.json", r.Strips}, {"social.png", picture},
	}
	for _, t := range twins {
		if err := b.File(dir+t.name, t.content); err != nil {
			return err
		}
	}
	for name, from := range r.Copy {
		if err := b.copyFile(dir+name, from); err != nil {
			return fmt.Errorf("run %s: %w", r.Page.ID, err)
		}
	}
	b.listed(dir, r.Page.Date.Day)
	return nil
}

// picture draws the social image of a card, as PNG.
func (b *Builder) picture(c page.Card) ([]byte, error) {
	p, _ := b.painters.Get().(*social.Painter)
	if p == nil {
		var err error
		if p, err = social.NewPainter(); err != nil {
			return nil, err
		}
	}
	defer b.painters.Put(p)
	var out bytes.Buffer
	err := p.Draw(&out, c)
	return out.Bytes(), err
}

// Home renders the list of runs and data/runs.json.
func (b *Builder) Home(h page.Home, index []byte) error {
	if err := b.page("home.html", "index.html", h); err != nil {
		return err
	}
	b.listed("", "")
	return b.File("data/runs.json", index)
}

// Methodology renders one version of the methodology at its path.
func (b *Builder) Methodology(m page.Methodology) error {
	b.listed(m.Path, "")
	return b.page("methodology.html", m.Path+"index.html", m)
}

// NotFound renders 404.html.
func (b *Builder) NotFound(n page.NotFound) error { return b.page("404.html", "404.html", n) }

// Finish writes what depends on all pages, checks every internal link and swaps the new site into place. After an error the old
// site is as it was, and Abort removes the new one.
func (b *Builder) Finish() error {
	if err := b.File("robots.txt", robots(b.site)); err != nil {
		return err
	}
	if b.site.BaseURL != "" {
		slices.SortFunc(b.urls, func(x, y location) int { return strings.Compare(x.path, y.path) })
		search, err := openSearch(b.site)
		err = errors.Join(err, b.File("sitemap.xml", sitemap(b.site, b.urls)), b.File("opensearch.xml", search))
		if err != nil {
			return err
		}
	}
	if err := checkLinks(b.pages, b.files, b.root); err != nil {
		return err
	}
	if err := b.File(marker, []byte(markerText)); err != nil {
		return err
	}
	if err := swap(b.dir, b.opt.Out); err != nil {
		return err
	}
	b.dir = ""
	b.held.release()
	return nil
}

// page renders a model, remembers its links and anchors, and writes it.
func (b *Builder) page(template, name string, model any) error {
	if err := b.claim(name); err != nil {
		return err
	}
	return b.render.render(template, model, func(content []byte) error {
		o, err := outlineOf(content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.mu.Lock()
		b.pages[name] = o
		b.mu.Unlock()
		return b.write(name, content)
	})
}

// claim reserves a path; two files of one name are a mistake of the caller, as are paths that leave the folder.
func (b *Builder) claim(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return fmt.Errorf("file %q would lie outside the site", name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.files[name] {
		return fmt.Errorf("file %q is written twice", name)
	}
	b.files[name] = true
	if u := b.open[path.Dir(name)]; u != nil {
		u.Files = append(u.Files, File{Name: name})
	}
	return nil
}

func (b *Builder) write(name string, content []byte) error {
	if err := b.makeDir(path.Dir(name)); err != nil {
		return err
	}
	return output(os.WriteFile(b.path(name), content, 0o644))
}

// OutputError says that the site itself could not be written, which is no fault of what it is made of.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return "the site cannot be written: " + e.Err.Error() }

func (e *OutputError) Unwrap() error { return e.Err }

func output(err error) error {
	if err == nil {
		return nil
	}
	return &OutputError{err}
}

func (b *Builder) copyFile(name, from string) error {
	if err := b.claim(name); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := b.makeDir(path.Dir(name)); err != nil {
		return err
	}
	out, err := os.OpenFile(b.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return output(err)
	}
	_, err = io.Copy(out, in)
	return output(errors.Join(err, out.Close()))
}

func (b *Builder) listed(path, day string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.urls = append(b.urls, location{path, day})
	if u := b.open[unitOf(path)]; u != nil {
		u.Listed = append(u.Listed, Location{path, day})
	}
}
