package page

import (
	"net/url"
	"strings"
)

// Site is what all pages of one site share: the content of templates/site.toml and of the command line.
// The zero value is a site without a name, an address or a menu.
type Site struct {
	Title       string `toml:"title"`       // "Speedmatrix"
	Tagline     string `toml:"tagline"`     // one line under the title of the home page
	Description string `toml:"description"` // for search engines
	BaseURL     string `toml:"base_url"`    // "https://example.org/speed/"; "" leaves out everything that needs an address
	DataURL     string `toml:"data_url"`    // folder that holds the result folders, for links to raw files; "" when there is none
	Source      string `toml:"source_url"`  // the repository, linked in the footer
	Menu        []Link `toml:"menu"`        // Href is relative to the site's root or an http(s) address

	CopyData  bool   `toml:"-"` // raw files stand beside each run page
	Generator string `toml:"-"` // "sitegen 1.2.3"
}

// Link is an anchor: its text, its address, and whether it leads to another site.
type Link struct {
	Text     string `toml:"text"`
	Href     string `toml:"href"`
	Current  bool   `toml:"-"`
	External bool   `toml:"-"`
}

// Alternate is a machine-readable twin of a page.
type Alternate struct {
	Type, Href, Title string
}

// Frame is the part of a page that surrounds its content.
type Frame struct {
	SiteTitle   string
	Title       string // for <title>, complete
	Description string // plain text, one or two sentences
	Root        string // prefix from this page to the site's root: "", "../" or "../../"
	Path        string // the page's folder from the root: "" or "runs/<id>/"
	Canonical   string // absolute address, "" without a base URL
	Image       string // absolute address of the social image, "" without a base URL or an image
	ImageAlt    string
	Kind        string // "home", "run", "methodology" or "missing": a class of the body
	NoIndex     bool
	Search      bool // the site has opensearch.xml, which needs an address
	Menu        []Link
	Alternates  []Alternate
	Source      string
	Generator   string
}

// frame starts the frame of the page at path, which ends in "/" or is "".
func (s Site) frame(kind, path, title, description string) Frame {
	root := strings.Repeat("../", strings.Count(path, "/"))
	f := Frame{
		SiteTitle: s.Title, Title: title, Description: description, Root: root, Path: path,
		Kind: kind, Source: httpURL(s.Source), Generator: s.Generator,
	}
	if s.Title != "" && s.Title != title {
		f.Title = title + " · " + s.Title
	}
	if s.BaseURL != "" {
		f.Canonical, f.Search = s.absolute(path), true
	}
	for _, l := range s.Menu {
		if httpURL(l.Href) != "" {
			f.Menu = append(f.Menu, Link{Text: l.Text, Href: l.Href, External: true})
			continue
		}
		href := root + l.Href
		if href == "" {
			href = "./"
		}
		f.Menu = append(f.Menu, Link{Text: l.Text, Href: href, Current: l.Href == path})
	}
	return f
}

// absolute returns the address of a path of the site. The base URL may lack its final slash.
func (s Site) absolute(path string) string {
	return strings.TrimRight(s.BaseURL, "/") + "/" + path
}

// httpURL returns s when it is an absolute http or https address, else "".
func httpURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

// rootPath is the path of a base URL, beginning and ending in a slash.
func rootPath(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "/"
	}
	return "/" + strings.TrimLeft(strings.TrimRight(u.EscapedPath(), "/")+"/", "/")
}
