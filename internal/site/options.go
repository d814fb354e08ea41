package site

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/BurntSushi/toml"

	"speedmatrix/internal/page"
)

// Options says where a site comes from and where it goes.
type Options struct {
	Out       string // the output folder; need not exist
	Templates fs.FS  // base.html, style.css, …: the folder templates/
	Overrides fs.FS  // files that win over those of the same name; nil for none

	Program  string   // names the code that makes pages: when it changes, no page of an earlier build is taken over
	Previous Manifest // of the build that made Out; the zero value makes everything anew
}

// layered reads a file from the overrides, else from the templates.
func (o Options) layered(name string) ([]byte, error) {
	if o.Overrides != nil {
		b, err := fs.ReadFile(o.Overrides, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	b, err := fs.ReadFile(o.Templates, name)
	if err != nil {
		return nil, fmt.Errorf("read template %q: %w", name, err)
	}
	return b, nil
}

// Config reads site.toml. Keys that it does not know are an error: they are most often misspelt.
func Config(o Options) (page.Site, error) {
	const name = "site.toml"
	var s page.Site
	b, err := o.layered(name)
	if err != nil {
		return s, err
	}
	meta, err := toml.Decode(string(b), &s)
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return s, fmt.Errorf("%s: key %q is not known: want title, tagline, description, base_url, data_url, source_url or menu", name, extra[0].String())
	}
	return s, CheckURLs(s)
}

// CheckURLs returns the addresses of a site's configuration that are neither empty nor http(s).
func CheckURLs(s page.Site) error {
	var errs []error
	for _, u := range []struct{ name, value string }{{"base_url", s.BaseURL}, {"data_url", s.DataURL}, {"source_url", s.Source}} {
		if u.value == "" {
			continue
		}
		p, err := url.Parse(u.value)
		if err != nil || p.Host == "" || (p.Scheme != "http" && p.Scheme != "https") {
			errs = append(errs, fmt.Errorf("%s %q: want an address that begins with https:// or http://", u.name, u.value))
		}
	}
	return errors.Join(errs...)
}

// Markdown reads a text of the templates, such as "methodology.md".
func (o Options) Markdown(name string) (string, error) {
	b, err := o.layered(name)
	return string(b), err
}
