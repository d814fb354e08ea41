// Package client sends one streaming request at a time over a connection of its own and says when each token
// arrived.
//
// The steps: New checks the configuration; Open dials (proxy, TLS) before any clock runs; Prepare encodes a request
// body; Do writes it, reads the answer, stamps each read with the kernel's receive timestamp (package file wire.go,
// stamp_linux.go), cuts the body out of HTTP (http1.go, http2.go) and the events out of the body (package sse),
// understands each event by the dialect (chat.go, completions.go, ollama.go), collects the arrivals (recorder.go) and
// names the outcome.
//
// A failure is data: Do never returns an error. Nothing is logged, locked, allocated or encoded between the arrival of
// one token and the next. The key and the headers of Config never stand in an error. It never decides when to send,
// never repeats a request that was answered, except without the optional fields that the answer refused, and never
// follows a redirect.
package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http/httpproxy"
)

// Default bounds of waiting.
const (
	defaultTimeout = 120 * time.Second
	maxConnect     = 30 * time.Second // for dialling, the proxy and TLS together
	maxErrorBody   = 5 * time.Second  // without a byte, for the body of an answer that is an error
	maxTail        = 10 * time.Millisecond
)

// Client holds what all connections to one server share. It is safe for concurrent use.
type Client struct {
	cfg     Config
	dialect dialect
	target  url.URL // of the streaming request, without user information
	address string  // host:port of the server
	proxy   *url.URL
	tls     *tls.Config // nil: plain
	header  [][2]string // in the order in which they are sent, without Host and Content-Length
	start   []byte      // HTTP/1.1 request header up to the value of Content-Length
	redact  redactor
	refused atomic.Uint32 // fields that the server refused
	stamps  any           // keeps the kernel stamping
}

// New checks cfg and returns all its mistakes at once. It sends nothing.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg}
	if c.cfg.Timeout == 0 {
		c.cfg.Timeout = defaultTimeout
	}
	if c.cfg.Epoch.IsZero() {
		c.cfg.Epoch = time.Now()
	}
	var err error
	if c.dialect, err = dialectOf(cfg.Endpoint); err != nil {
		return nil, err
	}
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	secrets := []string{cfg.Key}
	if password, ok := base.User.Password(); ok {
		secrets = append(secrets, password)
	}
	c.target = url.URL{Scheme: base.Scheme, Host: base.Host, Path: c.dialect.path(strings.TrimRight(base.Path, "/"))}
	c.address = hostPort(base)
	headers, headerSecrets, err := c.headers(base.User)
	errs := []error{err, c.setTLS(base), c.setProxy(base)}
	c.header = headers
	if c.proxy != nil {
		if password, ok := c.proxy.User.Password(); ok {
			secrets = append(secrets, password)
		}
	}
	// The host is redacted too: it may be private, and who runs the program knows it.
	c.redact = newRedactor(append(append(secrets, headerSecrets...), privateNames(base, c.address)...))
	c.start = c.requestStart()
	if cfg.Dial == nil {
		c.stamps = holdStamps()
	}
	return c, errors.Join(errs...)
}

func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("base URL %q is not of the form http://host:port/v1", redactURL(text))
	}
	return u, nil
}

// redactURL removes the user information of a URL that may not even parse.
func redactURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	} else {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "[redacted]" + rest[at:]
	}
	return scheme + rest
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func privateNames(base *url.URL, address string) []string {
	names := []string{address, base.Host}
	if strings.ContainsAny(base.Hostname(), ".:") {
		names = append(names, base.Hostname())
	}
	return names
}

// headers returns the request's headers and the values among them that are secret.
func (c *Client) headers(user *url.Userinfo) (list [][2]string, secrets []string, err error) {
	h := http.Header{
		"User-Agent":      {"speedmatrix"},
		"Content-Type":    {"application/json"},
		"Accept":          {c.dialect.accept},
		"Accept-Encoding": {"identity"},
	}
	if user != nil {
		r := http.Request{Header: h}
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
		secrets = append(secrets, strings.TrimPrefix(h.Get("Authorization"), "Basic "))
	}
	if c.cfg.Key != "" {
		h.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	var errs []error
	for name, values := range c.cfg.Header {
		h[http.CanonicalHeaderKey(name)] = values
		for _, v := range values {
			secrets = append(secrets, secretsOf(v)...)
		}
	}
	for name, values := range h {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
				errs = append(errs, fmt.Errorf("header %q or its value has characters that a header cannot hold", name))
			}
			list = append(list, [2]string{name, v})
		}
	}
	slices.SortStableFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return list, secrets, errors.Join(errs...)
}

// secretsOf returns a header's value, and what follows the scheme in one like "Bearer x". Values too short to be
// a secret would only spoil texts.
func secretsOf(value string) []string {
	var out []string
	if len(value) >= 4 {
		out = append(out, value)
	}
	if _, token, ok := strings.Cut(value, " "); ok && len(token) >= 4 {
		out = append(out, token)
	}
	return out
}

func (c *Client) setTLS(base *url.URL) error {
	if base.Scheme != "https" {
		return nil
	}
	c.tls = &tls.Config{
		ServerName:         base.Hostname(),
		InsecureSkipVerify: c.cfg.Insecure, // on the user's word only
		NextProtos:         []string{"http/1.1", "h2"},
	}
	if c.cfg.CAFile == "" {
		return nil
	}
	pem, err := os.ReadFile(c.cfg.CAFile)
	if err != nil {
		return fmt.Errorf("read CA file: %w", err)
	}
	c.tls.RootCAs = x509.NewCertPool()
	if !c.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("CA file %q holds no PEM certificate", c.cfg.CAFile)
	}
	return nil
}

// setProxy takes the proxy from the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY and their lower-case forms).
func (c *Client) setProxy(base *url.URL) error {
	if c.cfg.Dial != nil {
		return nil
	}
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(base)
	if err != nil {
		return errors.New("the proxy named by the environment is not a URL")
	}
	if proxy != nil && proxy.Scheme != "http" {
		return fmt.Errorf("the environment names a proxy of scheme %q; only http proxies are supported, unset it or set NO_PROXY", proxy.Scheme)
	}
	c.proxy = proxy
	return nil
}

// requestStart is the HTTP/1.1 request header, up to the value of Content-Length.
func (c *Client) requestStart() []byte {
	target := c.target.RequestURI()
	if c.absoluteForm() {
		target = c.target.String()
	}
	host := c.target.Host
	var b strings.Builder
	for _, h := range c.header {
		if h[0] == "Host" {
			host = h[1]
		}
	}
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", target, host)
	for _, h := range c.header {
		if h[0] != "Host" && h[0] != "Content-Length" {
			fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
		}
	}
	if c.absoluteForm() {
		b.WriteString(proxyAuthorization(c.proxy))
	}
	b.WriteString("Content-Length: ")
	return []byte(b.String())
}

// absoluteForm reports whether requests name the whole URL, as a proxy for plain HTTP wants it.
func (c *Client) absoluteForm() bool { return c.proxy != nil && c.tls == nil }

// proxyAuthorization is the header line for a proxy with user information, or "".
func proxyAuthorization(proxy *url.URL) string {
	if proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(proxy.User.Username(), password)
	return "Proxy-Authorization: " + r.Header.Get("Authorization") + "\r\n"
}
