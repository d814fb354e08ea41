package site

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unique"

	"golang.org/x/net/html"
)

// outline is what the link check needs of a page.
type outline struct {
	ids  []string // sorted
	refs []string // every address that the page names, in order, each once
}

func (o outline) has(id string) bool {
	_, ok := slices.BinarySearch(o.ids, id)
	return ok
}

// isRef tells the attributes that hold addresses; data-source and data-charts are read by the script.
func isRef(name []byte) bool {
	return named(name, "href") || named(name, "src") || named(name, "data-source") || named(name, "data-charts")
}

// outlineOf reads a page's anchors and addresses. Two elements with one id are an error: a link to it would be ambiguous.
func outlineOf(content []byte) (outline, error) {
	var o outline
	seen := map[string]bool{} // as written
	var err error
	eachAttribute(content, func(name, quoted []byte) {
		switch {
		case named(name, "id"):
			o.ids = append(o.ids, kept(html.UnescapeString(string(quoted))))
		case isRef(name) && !seen[string(quoted)]:
			written := string(quoted)
			seen[written] = true
			o.refs = append(o.refs, kept(html.UnescapeString(written)))
		}
	})
	slices.Sort(o.ids)
	for i := 1; i < len(o.ids); i++ {
		if o.ids[i] == o.ids[i-1] {
			err = errors.Join(err, fmt.Errorf("two elements have the id %q", o.ids[i]))
		}
	}
	return o, err
}

// kept is s as one copy for all pages that have it: ten thousand runs have the same anchors.
func kept(s string) string { return unique.Make(s).Value() }

// checkLinks resolves every address of every page, and joins all that lead nowhere: page, address, why. Addresses of other
// sites are not looked at. Absolute paths are allowed below root, the path of the base URL.
func checkLinks(pages map[string]outline, files map[string]bool, root string) error {
	var errs []error
	names := make([]string, 0, len(pages))
	for name := range pages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, ref := range pages[name].refs {
			if why := deadLink(name, ref, root, pages, files); why != "" {
				errs = append(errs, fmt.Errorf("page %s: link %q %s", name, ref, why))
			}
		}
	}
	return errors.Join(errs...)
}

// rootOf is the path of a base URL, ending in a slash; "" without one.
func rootOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || baseURL == "" {
		return ""
	}
	return strings.TrimRight(u.Path, "/") + "/"
}

// deadLink says why an address leads nowhere, "" when it does not.
func deadLink(from, ref, root string, pages map[string]outline, files map[string]bool) string {
	if p, isPage := pages[from]; isPage && len(ref) > 1 && ref[0] == '#' && p.has(ref[1:]) {
		return "" // most addresses of a page are its own rows
	}
	u, err := url.Parse(ref)
	if err != nil {
		return "is not an address"
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	target := from
	switch {
	case strings.HasPrefix(u.Path, "/"):
		if root == "" || !strings.HasPrefix(u.Path, root) {
			return "is absolute, so it breaks when the site stands in a sub-folder"
		}
		target = asFile(strings.TrimPrefix(u.Path, root))
	case u.Path != "":
		target = asFile(path.Join(path.Dir(from), u.Path) + trailing(u.Path))
	}
	if strings.HasPrefix(target, "..") {
		return "leaves the site"
	}
	p, isPage := pages[target]
	if !isPage && !files[target] {
		return "leads to no file of the site"
	}
	if u.Fragment != "" && isPage && !p.has(u.Fragment) {
		return "names an anchor that the page does not have"
	}
	return ""
}

// trailing keeps the slash that path.Join drops, and marks "." and ".." as folders.
func trailing(p string) string {
	if strings.HasSuffix(p, "/") || path.Base(p) == "." || path.Base(p) == ".." {
		return "/"
	}
	return ""
}

// asFile names the file that a server sends for a path.
func asFile(p string) string {
	p = strings.TrimPrefix(p, "./")
	if p == "" || p == "/" {
		return "index.html"
	}
	if strings.HasSuffix(p, "/") {
		return p + "index.html"
	}
	return p
}
