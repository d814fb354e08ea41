package redact

import (
	"regexp"
	"strings"
)

var (
	wholeFlag = regexp.MustCompile(`(?i)^` + secretFlag + `$`)
	flagValue = regexp.MustCompile(`(?is)^(` + secretFlag + `=).*$`)
	envValue  = regexp.MustCompile(`(?s)^(` + envName + `=).*$`)
	plainArg  = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)
	homeArg   = regexp.MustCompile(`^(?:/home/|/Users/|/root/)[A-Za-z0-9_./:=,@%+-]+$`)
)

// Command writes an argument list as one line for a shell, redacted. Knowing where each argument ends, it is exact
// where Text has to guess: a value with spaces or quotes is taken whole.
func (r Redactor) Command(args []string) string {
	words := make([]string, 0, len(args))
	secret := false
	for _, a := range args {
		switch {
		case secret && !strings.HasPrefix(a, "--"):
			words = append(words, Marker)
			secret = false
			continue
		case flagValue.MatchString(a):
			words = append(words, flagValue.ReplaceAllString(a, "${1}"+Marker))
		case envValue.MatchString(a):
			words = append(words, envValue.ReplaceAllString(a, "${1}"+Marker))
		default:
			words = append(words, shellQuote(splice(a, r.valueSpans(a))))
		}
		secret = wholeFlag.MatchString(a)
	}
	return r.Text(strings.Join(words, " "))
}

// shellQuote quotes an argument when a shell would not read it as it is. Paths below a home folder get double quotes,
// so that "$HOME/…" in their place still works.
func shellQuote(a string) string {
	switch {
	case homeArg.MatchString(a):
		return `"` + a + `"`
	case plainArg.MatchString(a), a == Marker:
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}
