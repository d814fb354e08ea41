package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speedmatrix/internal/pack"
)

// Manifest is what a build tells the next one of the same output: which folders it wrote, of what, and how their files look on the disk.
// It is a help only: a build without it, or with a wrong one, gives the same bytes.
type Manifest struct {
	Units []Unit // sorted by folder
}

// Unit is one folder of the site whose files depend on nothing but what its key names.
type Unit struct {
	Folder string // "runs/<id>"; the files lie directly in it
	Key    string
	Files  []File
	Pages  []Outline
	Listed []Location
}

// File is a file of a unit and how to tell that nobody has changed it.
type File struct {
	Name string // from the site's root
	Size int64
	ModN int64 // modification time, nanoseconds since 1970
}

// Outline is what the link check needs of a page that is not written again.
type Outline struct {
	Name string
	IDs  []string
	Refs []string // addresses that lead out of the unit
}

// Location is a page of the sitemap.
type Location struct{ Path, Day string }

// ReadManifest decodes a manifest; one that cannot be read is an empty one.
func ReadManifest(b []byte) Manifest {
	var m Manifest
	if pack.Unmarshal(b, &m) != nil {
		return Manifest{}
	}
	return m
}

// Encode is the inverse of ReadManifest.
func (m Manifest) Encode() ([]byte, error) { return pack.Marshal(m) }

// Manifest describes the units of the site, for the next build. It is complete after Finish.
func (b *Builder) Manifest() Manifest {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := Manifest{Units: slices.Clone(b.done)}
	slices.SortFunc(m.Units, func(x, y Unit) int { return strings.Compare(x.Folder, y.Folder) })
	return m
}

// Unit makes the files of a folder, or takes them over from the site that stands at the output, when that has a unit of the same key
// whose files are as the earlier build left them. make may write into that folder only.
func (b *Builder) Unit(folder, key string, make func() error) error {
	if old, ok := b.previous[folder]; ok && old.Key == key && b.takeOver(old) {
		return nil
	}
	u := &Unit{Folder: folder, Key: key}
	b.mu.Lock()
	if b.open[folder] != nil {
		b.mu.Unlock()
		return fmt.Errorf("folder %q is made twice", folder)
	}
	b.open[folder] = u
	b.mu.Unlock()
	err := make()
	b.mu.Lock()
	delete(b.open, folder)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.record(u)
}

// PageUnit is Unit for one page whose model says everything about it.
func (b *Builder) PageUnit(template, folder string, model any) error {
	content, err := pack.Marshal(model)
	if err != nil {
		return fmt.Errorf("page %s: %w", folder, err)
	}
	return b.Unit(unitOf(folder), b.Key("page", template, string(content)), func() error { return b.Page(template, folder, model) })
}

// unitOf is the unit that a page's folder ("" or ending in "/") belongs to.
func unitOf(folder string) string { return path.Clean(folder) }

// Key names what a unit is made of: its parts, this program, the templates and the site's configuration.
func (b *Builder) Key(parts ...string) string { return keyOf(append([]string{b.base}, parts...)) }

// Page renders a model at folder ("" or ending in "/") and lists it in the sitemap.
func (b *Builder) Page(template, folder string, model any) error {
	b.listed(folder, "")
	return b.page(template, folder+"index.html", model)
}

// record completes a unit that was made: the state of its files, and what of its pages leads out of it.
func (b *Builder) record(u *Unit) error {
	pages, files := map[string]outline{}, map[string]bool{}
	b.mu.Lock()
	for _, f := range u.Files {
		files[f.Name] = true
		if o, ok := b.pages[f.Name]; ok {
			pages[f.Name] = o
		}
	}
	b.mu.Unlock()
	for i, f := range u.Files {
		info, err := os.Lstat(b.path(f.Name))
		if err != nil {
			return output(err)
		}
		u.Files[i].Size, u.Files[i].ModN = info.Size(), info.ModTime().UnixNano()
	}
	slices.SortFunc(u.Files, func(x, y File) int { return strings.Compare(x.Name, y.Name) })
	for _, f := range u.Files {
		o, ok := pages[f.Name]
		if !ok {
			continue
		}
		o.refs = slices.Clip(slices.Clone(slices.DeleteFunc(o.refs, func(ref string) bool {
			return !strings.HasPrefix(ref, "../") && deadLink(f.Name, ref, b.root, pages, files) == "" // the files of a unit lie in one folder
		})))
		o.ids = b.sharedIDs(o.ids)
		u.Pages = append(u.Pages, Outline{f.Name, o.ids, o.refs})
		pages[f.Name] = o
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, o := range pages {
		b.pages[name] = o
	}
	b.done = append(b.done, *u)
	return nil
}

// sharedIDs returns one list for all pages with these anchors: runs of one matrix have the same.
func (b *Builder) sharedIDs(ids []string) []string {
	key := keyOf(ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.anchors[key]; ok {
		return known
	}
	b.anchors[key] = slices.Clip(ids)
	return ids
}

// takeOver links the files of an old unit into the new site. It answers false, with nothing left behind, when one of them was changed.
func (b *Builder) takeOver(u Unit) bool {
	for _, f := range u.Files {
		info, err := os.Lstat(filepath.Join(b.opt.Out, filepath.FromSlash(f.Name)))
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size || info.ModTime().UnixNano() != f.ModN || path.Dir(f.Name) != u.Folder {
			return false
		}
	}
	if err := b.linkAll(u); err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range u.Files {
		b.files[f.Name] = true
	}
	for _, p := range u.Pages {
		b.pages[p.Name] = outline{ids: p.IDs, refs: p.Refs}
	}
	for _, l := range u.Listed {
		b.urls = append(b.urls, location{l.Path, l.Day})
	}
	b.done = append(b.done, u)
	return true
}

func (b *Builder) linkAll(u Unit) error {
	if len(u.Files) == 0 {
		return nil
	}
	if err := b.makeDir(u.Folder); err != nil {
		return err
	}
	for i, f := range u.Files {
		if err := os.Link(filepath.Join(b.opt.Out, filepath.FromSlash(f.Name)), b.path(f.Name)); err != nil {
			for _, done := range u.Files[:i] {
				err = errors.Join(err, os.Remove(b.path(done.Name)))
			}
			return err
		}
	}
	return nil
}

// makeDir makes a folder of the site once.
func (b *Builder) makeDir(dir string) error {
	b.mu.Lock()
	known := b.dirs[dir]
	b.mu.Unlock()
	if known {
		return nil
	}
	if dir == "." {
		return nil
	}
	if err := b.makeDir(path.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(b.path(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return output(err)
	}
	b.mu.Lock()
	b.dirs[dir] = true
	b.mu.Unlock()
	return nil
}

func (b *Builder) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }
