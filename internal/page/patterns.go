package page

import "regexp"

var (
	// repoPattern is host/owner/name, nothing that could steer a link elsewhere.
	repoPattern = regexp.MustCompile(`^(github\.com|gitlab\.com|codeberg\.org|huggingface\.co)(/[A-Za-z0-9._-]+){2,3}$`)

	commitPattern = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	hashPattern   = regexp.MustCompile(`^(sha256:)?[0-9a-f]{12,64}$`)

	// idPattern is what a run's id may be; it becomes a folder of the site.
	idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,199}$`)
)
