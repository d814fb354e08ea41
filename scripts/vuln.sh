#!/bin/sh
# Known vulnerabilities in what the programs reach. The database is a Go module, so this needs the module
# proxy only: no other host is asked.
set -eu
db=$(go mod download -json golang.org/x/vulndb@latest | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",$/\1/p')
test -d "$db/data/osv" || { echo "vuln: no database in module golang.org/x/vulndb; see go env GOPROXY" >&2; exit 1; }
exec go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "file://$db/data/osv" ./...
