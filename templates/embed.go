// Package templates holds the pages' HTML, styles, scripts and texts, so that an installed sitegen works without a checkout.
package templates

import "embed"

// Files is the content of this folder: what a site is built from when no other folder is named.
//
//go:embed *.html *.css *.js *.md *.svg *.toml *.json assets
var Files embed.FS
