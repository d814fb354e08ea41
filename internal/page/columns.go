package page

import (
	"strconv"

	"speedmatrix/internal/metric"
)

// Column is a header of "All measurements".
type Column struct {
	Name    string
	Href    string // its sentence on the methodology page
	Key     string // for sorting and for the address
	Numeric bool
}

// columnAnchors of the methodology page for what is no metric.
const (
	anchorPhase    = "phase"
	anchorContext  = "context"
	anchorRequests = "requests-at-once"
	anchorStatus   = "status"
)

// methodologyPath is the page that defines the numbers of a run measured by one version of the method.
func methodologyPath(version int) string {
	return "methodology/v" + strconv.Itoa(version) + "/"
}

// columns lists the twelve headers of the seed, linked to their definitions under base.
func columns(base string) []Column {
	own := func(name, anchor, key string, numeric bool) Column {
		return Column{Name: name, Href: base + "#" + anchor, Key: key, Numeric: numeric}
	}
	of := func(id metric.ID, key string) Column {
		m, _ := metric.Lookup(id)
		return own(m.Name, m.Slug, key, true)
	}
	return []Column{
		own("Phase", anchorPhase, "phase", false), own("Context", anchorContext, "context", true),
		own("Requests at once", anchorRequests, "requests", true), own("Status", anchorStatus, "status", false),
		of(metric.IDTokS, "total"), of(metric.IDPerRequestTokS, "per-request"), of(metric.IDTTFT, "ttft"),
		of(metric.IDBetweenTokens, "between"), of(metric.IDActiveRequests, "active"),
		of(metric.IDCompletedRequests, "completed"), of(metric.IDOutputTokens, "output"), of(metric.IDMeasured, "measured"),
	}
}
