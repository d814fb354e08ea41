package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"speedmatrix/internal/redact"
)

// session asks one server questions.
type session struct {
	target Target
	base   string // without a trailing slash, e.g. "http://h:8000/v1"
	root   string // base without "/v1"
	http   *http.Client
	redact redact.Redactor

	entries []modelEntry // the server's list of models; nil when it has none
	model   string       // the model to be measured; "" when not known yet

	detecting bool       // one goroutine asks; the two fields below are written then and never later
	simulated string     // profile of the simulated engine, from the header; "" for a real server
	peer      netip.Addr // who answered; invalid when not known
}

// answer is a response, its body read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func newSession(t Target) (*session, error) {
	u, err := url.Parse(t.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The text may hold credentials that did not parse; show it redacted.
		return nil, fmt.Errorf("base URL %q is not an http or https URL; give e.g. http://localhost:8000/v1",
			redact.New(redact.Options{}, t.Key).Text(t.BaseURL))
	}
	u.RawQuery, u.Fragment = "", ""
	base := strings.TrimRight(u.String(), "/")
	s := &session{target: t, base: base, root: strings.TrimSuffix(base, "/v1"), http: t.HTTP}
	secrets := []string{t.Key}
	for _, values := range t.Header {
		secrets = append(secrets, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password)
	}
	s.redact = redact.New(redact.Options{}, secrets...)
	if s.http == nil {
		s.http = &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: countTimeout},
			// A redirect could carry the key to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return s, nil
}

// shown is a URL fit for an error.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the server"
	}
	u.User = nil
	return u.String()
}

// get asks for a URL. An answer of any status is an answer; the error is *UnreachableError, or that of ctx.
func (s *session) get(ctx context.Context, url string) (answer, error) {
	return s.do(ctx, http.MethodGet, url, nil, askTimeout, answerBound)
}

// post sends JSON.
func (s *session) post(ctx context.Context, url string, body any, timeout time.Duration, bound int64) (answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("encode a question to the server: %w", err)
	}
	return s.do(ctx, http.MethodPost, url, data, timeout, bound)
}

func (s *session) do(ctx context.Context, method, url string, body []byte, timeout time.Duration, bound int64) (answer, error) {
	asked, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(s.traced(asked), method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("ask %q: %w", shown(url), err)
	}
	for name, values := range s.target.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if s.target.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.target.Key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(resp.Body, bound)); err == nil {
			if name := resp.Header.Get(SimulatedHeader); s.detecting && name != "" {
				s.simulated = Clean(name)
			}
			return answer{resp.StatusCode, resp.Header, data}, nil
		}
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	return answer{}, &UnreachableError{URL: shown(url), Why: s.redact.Text(why(err, timeout))}
}

// traced notes whose address the connection reached.
func (s *session) traced(ctx context.Context) context.Context {
	if !s.detecting {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if addr, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			s.peer = addr.Addr().Unmap()
		}
	}})
}

// why says in a few words what kept an answer away.
func why(err error, timeout time.Duration) string {
	var dns *net.DNSError
	var timedOut interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return fmt.Sprintf("no such host %q", dns.Name)
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return fmt.Sprintf("no answer within %s", timeout)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold credentials
	}
	return Clean(err.Error())
}

// ok reports whether the answer is a success.
func (a answer) ok() bool { return a.status >= 200 && a.status < 300 }

// decode reads the answer as a JSON object or list of the expected shape.
func (a answer) decode(into any) bool {
	return a.ok() && lenient(a.body, into)
}

// lenient decodes JSON. A field of an unexpected type stays at its zero value: versions change the fields that we do
// not need as often as those that we do. The whole must be of the expected shape, though.
func lenient(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch) && mismatch.Field != ""
}

// ask gets a URL and decodes it; false when anything is in the way.
func (s *session) ask(ctx context.Context, url string, into any) bool {
	a, err := s.get(ctx, url)
	return err == nil && a.decode(into)
}

// begin is the first bytes of the body, on one line and redacted.
func (s *session) begin(a answer) string {
	return cut(s.redact.Text(Clean(string(a.body[:min(len(a.body), 512)]))), 60)
}
