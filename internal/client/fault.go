package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"speedmatrix/internal/event"
)

// maxError bounds the text of an error, in bytes.
const maxError = 300

// fault is how a request failed: what goes into its record.
type fault struct {
	outcome event.Outcome
	text    string
}

func (f *fault) Error() string { return f.text }

func faultf(outcome event.Outcome, format string, args ...any) *fault {
	return &fault{outcome, fmt.Sprintf(format, args...)}
}

// outcomeOf maps an HTTP status that is no success.
func outcomeOf(status int) event.Outcome {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return event.Unauthorized
	case status == http.StatusNotFound:
		return event.NotFound
	case status == http.StatusTooManyRequests:
		return event.RateLimited
	case status >= 500:
		return event.ServerError
	}
	return event.BadRequest
}

// broken maps an error of reading or writing an open connection. timeout is named when it passed.
func broken(err error, w *wire, timeout time.Duration) *fault {
	var f *fault
	switch {
	case errors.As(err, &f):
		return f
	case w.cutOff.Load():
		return &fault{outcome: event.Stopped}
	case errors.Is(err, os.ErrDeadlineExceeded) && w.dripped(time.Now()):
		return faultf(event.Stalled, "bytes, but no token, for %v", patience*timeout)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return faultf(event.Stalled, "no bytes for %v", timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return faultf(event.Truncated, "connection closed")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return faultf(event.Reset, "connection reset")
	}
	return faultf(event.Reset, "connection failed: %s", cause(err))
}

// cause is the text of a network error without the addresses that the net package puts around it.
func cause(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op) && op.Err != nil:
		return cause(op.Err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	}
	return err.Error()
}

// redactor replaces the values that must not leave this program.
type redactor struct{ r *strings.Replacer }

func newRedactor(secrets []string) redactor {
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, "[redacted]")
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// line makes text fit for a record: redacted, one line, at most maxError bytes, valid UTF-8.
func (r redactor) line(text string) string {
	text = r.r.Replace(text)
	var b strings.Builder
	space := false
	for _, c := range text {
		if unicode.IsSpace(c) || unicode.IsControl(c) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(c) // an invalid byte becomes U+FFFD
		if b.Len() > maxError {
			break
		}
	}
	out := b.String()
	if len(out) <= maxError {
		return out
	}
	const more = "…"
	cut := maxError - len(more)
	for !utf8.RuneStart(out[cut]) {
		cut--
	}
	return out[:cut] + more
}

// bodyMessage is what an answer that is no stream says: its JSON error, else its text.
func bodyMessage(body []byte) string {
	if o, err := decodeObject(body); err == nil {
		if m, ok := errorOf(o); ok {
			return m
		}
		return messageOf(map[string]any(o))
	}
	return string(body)
}

// errorIn finds the error object in what a stream held outside its events: a bare JSON object, or a line that
// begins with "error:", as llama.cpp once sent it.
func errorIn(ignored []byte) (string, bool) {
	text := strings.TrimSpace(string(ignored))
	candidates := append([]string{text}, strings.Split(text, "\n")...)
	for _, c := range candidates {
		body, labelled := strings.CutPrefix(strings.TrimSpace(c), "error:")
		o, err := decodeObject([]byte(body))
		if err != nil {
			continue
		}
		if m, ok := errorOf(o); ok {
			return m, true
		}
		if labelled {
			return messageOf(map[string]any(o)), true
		}
	}
	return "", false
}

// retryAfter reads the Retry-After header, in seconds or as a date, which is judged by the server's own date.
func retryAfter(value, date string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if s, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(s, 0), int64(most/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(date); err == nil {
		now = d
	}
	return min(max(at.Sub(now), 0), most)
}
