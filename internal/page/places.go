package page

import (
	"path"
	"strings"
	"unicode"
)

// Places finds the pages about several runs on which a run stands. They follow from the run's own facts and names.toml alone, so that a
// run's page can link to them before the other runs are known, and stays as it is when runs are added.
type Places struct {
	names *namer
	f     *faceter
}

// NewPlaces prepares the look-up of names.
func NewPlaces(names Names) *Places {
	n := newNamer(names)
	return &Places{names: n, f: &faceter{names: n}}
}

// Of lists the places of a run in the order of the facets, then those that compare. Addresses are relative to the site's root.
func (p *Places) Of(l Listed) []Link {
	l = p.names.canonical(l)
	e := &l.Entry
	var out []Link
	for _, k := range facetKinds() {
		if name := p.f.key(k)(e); name != "" {
			out = append(out, Link{Text: "same " + k.One, Href: k.Folder + facetFolder(name)})
		}
	}
	if name := trendName(e); name != "" {
		out = append(out, Link{Text: "over time", Href: trendsFolder + facetFolder(name)})
	}
	return append(out, Link{Text: "compare with another run", Href: ComparePath(e.ID)})
}

// facetFolder is the folder of a value's page, below that of its kind. It depends on the name alone. Names that differ in case and in the
// punctuation between words share one; where more than that is lost in an address, a digest tells them apart. No name can be the folder
// itself, one above it, or a file that stands there.
func facetFolder(name string) string {
	plain := slug(name)
	folder := strings.Trim(plain[:min(len(plain), maxFolder)], "-.")
	if folder != plain || strings.ContainsFunc(name, lostInSlug) || path.Ext(folder) == ".html" || path.Ext(folder) == ".xml" {
		folder = strings.TrimPrefix(folder+"-"+shortDigest(strings.ToLower(name)), "-")
	}
	return folder + "/"
}

// maxFolder bounds the bytes of a name in an address: file systems take 255.
const maxFolder = 120

// lostInSlug tells the characters that mean something and that a slug does not keep.
func lostInSlug(r rune) bool {
	return r > unicode.MaxASCII && r != '×' && !unicode.IsSpace(r) || strings.ContainsRune("+*#%&=<>!?@$^~|", r)
}
