package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"

	"speedmatrix/internal/unit"
)

// feedEntries bounds a feed: readers of feeds look at what is new.
const feedEntries = 30

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Title   string      `xml:"title"`
	ID      string      `xml:"id"`
	Updated string      `xml:"updated"`
	Author  atomAuthor  `xml:"author"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// NewFeed is the Atom feed (RFC 4287) of the newest of entries, which are newest first; it stands at path + "feed.xml". Its dates are
// those of the runs. Without a base URL links are relative to the feed and identifiers are URNs.
func NewFeed(title, path string, entries []Entry, s Site) []byte {
	root := strings.Repeat("../", strings.Count(path, "/"))
	f := atomFeed{Title: title, Author: atomAuthor{or(s.Title, "Speedmatrix")}, ID: "urn:speedmatrix:feed:" + or(path, "all"), Updated: "1970-01-01T00:00:00Z"}
	if s.Title != "" && s.Title != title {
		f.Title = title + " · " + s.Title
	}
	page := or(root+path, "./")
	if s.BaseURL != "" {
		page, f.ID = s.absolute(path), s.absolute(path+"feed.xml")
		f.Links = append(f.Links, atomLink{"self", "application/atom+xml", f.ID})
	}
	f.Links = append(f.Links, atomLink{"alternate", "text/html", page})
	for i, e := range entries {
		if i == feedEntries {
			break
		}
		a := atomEntry{Title: e.Title, ID: "urn:speedmatrix:run:" + e.ID, Updated: stamp(e.Started), Summary: feedSummary(&e)}
		a.Link = atomLink{"alternate", "text/html", root + RunPath(e.ID)}
		if s.BaseURL != "" {
			a.ID = s.absolute(RunPath(e.ID))
			a.Link.Href = a.ID
		}
		f.Entries = append(f.Entries, a)
	}
	if len(entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", " ")
	_ = enc.Encode(f) // a bytes.Buffer does not fail, and the types are known
	b.WriteByte('\n')
	return b.Bytes()
}

func feedSummary(e *Entry) string {
	var parts []string
	for _, p := range []string{e.GPU, strings.TrimSpace(e.Engine + " " + e.Version), e.Quantization} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if e.Peak != nil {
		parts = append(parts, fmt.Sprintf("up to %s tok/s at %s", unit.Rate(e.Peak), e.PeakCell))
	}
	if e.Lone != nil {
		parts = append(parts, unit.Rate(e.Lone)+" tok/s for one request")
	}
	return strings.Join(parts, ", ")
}

// shortDigest tells names of one slug apart.
func shortDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}
