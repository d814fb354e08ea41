package probe

import (
	"errors"
	"fmt"
	"strings"
)

// What an engine may lack.
var (
	ErrNoGauges    = errors.New("the server tells no running and waiting requests")
	ErrNoTokenizer = errors.New("the server has no tokenizer endpoint")
)

// Unusable reports whether err says that the server cannot be measured as asked (unreachable, not an API, refused,
// wrong model), as opposed to a fault of this program.
func Unusable(err error) bool {
	var (
		unreachable  *UnreachableError
		notAPI       *NotAPIError
		unauthorized *UnauthorizedError
		model        *ModelError
	)
	return errors.As(err, &unreachable) || errors.As(err, &notAPI) || errors.As(err, &unauthorized) || errors.As(err, &model)
}

// UnreachableError: nothing answered at the address.
type UnreachableError struct {
	URL string // without credentials
	Why string // "connection refused", "no such host", "no answer within 5s"
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot reach %q: %s; check --url and that the server is up", e.URL, e.Why)
}

// NotAPIError: something answered that is not an OpenAI-compatible API.
type NotAPIError struct {
	URL     string // what was asked for
	Why     string // "answered 404 Not Found", "answered HTML"
	Begin   string // the first bytes of the answer, on one line; may be empty
	Suggest string // a base URL that does answer as an API; "" when none was found
}

func (e *NotAPIError) Error() string {
	begin := ""
	if e.Begin != "" {
		begin = fmt.Sprintf(" beginning %q", e.Begin)
	}
	mend := "give the base URL of an OpenAI-compatible API, e.g. http://localhost:8000/v1"
	if e.Suggest != "" {
		mend = "use --url " + e.Suggest
	}
	return fmt.Sprintf("%q is not an OpenAI-compatible API: %s%s; %s", e.URL, e.Why, begin, mend)
}

// UnauthorizedError: the server wants a key, or another one.
type UnauthorizedError struct {
	URL    string
	Status int  // 401 or 403
	Keyed  bool // a key was sent
}

func (e *UnauthorizedError) Error() string {
	if e.Keyed {
		return fmt.Sprintf("%q refused the key (status %d); check the key that --api-key-env or --api-key-file names", e.URL, e.Status)
	}
	return fmt.Sprintf("%q wants a key (status %d); give one with --api-key-env or --api-key-file", e.URL, e.Status)
}

// ModelError: the model asked for is not served, or none was named and there is not exactly one.
type ModelError struct {
	Want   string   // "" when none was named
	Served []string // as the server lists them
}

// listed is how many models an error names; a public endpoint can serve hundreds.
const listed = 12

func (e *ModelError) Error() string {
	names := make([]string, 0, listed)
	for _, m := range e.Served[:min(len(e.Served), listed)] {
		names = append(names, fmt.Sprintf("%q", m))
	}
	served := strings.Join(names, ", ")
	if more := len(e.Served) - listed; more > 0 {
		served += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case len(e.Served) == 0:
		return "the server lists no model; load one, or name it with --model"
	case e.Want == "":
		return fmt.Sprintf("the server serves %d models; choose one with --model: %s", len(e.Served), served)
	}
	return fmt.Sprintf("model %q is not served; choose one with --model: %s", e.Want, served)
}
