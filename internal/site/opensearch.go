package site

import (
	"cmp"
	"encoding/xml"
	"strings"

	"speedmatrix/internal/page"
)

// openSearch describes the search of all runs, so that a browser can offer the site beside its other search engines (OpenSearch 1.1).
// The site's address must be known. What is found is the home page with its filter filled in.
func openSearch(s page.Site) ([]byte, error) {
	type address struct {
		Type     string `xml:"type,attr"`
		Template string `xml:"template,attr"`
	}
	name := []rune(cmp.Or(s.Title, "Speed tests"))
	out, err := xml.MarshalIndent(struct {
		XMLName       xml.Name `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
		ShortName     string   // at most 16 characters, says the standard
		Description   string
		InputEncoding string
		URL           address `xml:"Url"`
	}{
		ShortName: strings.TrimSpace(string(name[:min(len(name), 16)])), Description: "Runs by model, GPU, engine and version", InputEncoding: "UTF-8",
		URL: address{"text/html", strings.TrimRight(s.BaseURL, "/") + "/?q={searchTerms}"},
	}, "", " ")
	return append([]byte(xml.Header), append(out, '\n')...), err
}
