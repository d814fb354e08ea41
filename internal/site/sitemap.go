package site

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"speedmatrix/internal/page"
)

// location is one page of the sitemap; day is when its content was measured, "" when it has no date.
type location struct{ path, day string }

// sitemap lists all pages, sorted by path.
func sitemap(s page.Site, urls []location) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, u := range urls {
		b.WriteString("<url><loc>")
		_ = xml.EscapeText(&b, []byte(strings.TrimRight(s.BaseURL, "/")+"/"+u.path)) // a bytes.Buffer does not fail
		b.WriteString("</loc>")
		if u.day != "" {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", u.day)
		}
		b.WriteString("</url>\n")
	}
	b.WriteString("</urlset>\n")
	return b.Bytes()
}

// robots lets everyone read everything, and names the sitemap where the site's address is known.
func robots(s page.Site) []byte {
	text := "User-agent: *\nAllow: /\n"
	if s.BaseURL != "" {
		text += "Sitemap: " + strings.TrimRight(s.BaseURL, "/") + "/sitemap.xml\n"
	}
	return []byte(text)
}
