package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"speedmatrix/internal/plan"
	"speedmatrix/internal/probe"
)

// A target is the server to be measured, found to be usable, with the plan for it.
type target struct {
	url     *url.URL
	secrets secrets
	server  *probe.Server
	plan    plan.Plan
}

// target reads secrets, looks at the server and decides the plan. It sends no load.
func (o *options) target(ctx context.Context, p process) (target, error) {
	var t target
	cfg, err := o.planConfig()
	kv, limit, limitErr := o.overrides()
	var urlErr error
	if t.url, urlErr = parseURL(o.url); urlErr != nil || err != nil || limitErr != nil {
		return t, joinUsage(flatten(urlErr, err, limitErr))
	}
	if t.secrets, err = o.readSecrets(p.getenv); err != nil {
		return t, err
	}
	hc, err := o.httpClient()
	if err != nil {
		return t, err
	}
	t.server, err = probe.Detect(ctx, probe.Target{
		BaseURL: t.url.String(), Key: t.secrets.key, Header: t.secrets.header, Model: o.model, Engine: o.engine,
		HTTP: hc,
	})
	if err != nil {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		if !probe.Unusable(err) {
			return t, &exitError{exitUsage, err}
		}
		return t, serverError(err)
	}
	lim := plan.Limits{
		CapacityTokens: t.server.CapacityTokens, CapacitySource: t.server.CapacitySource,
		Context: t.server.Limit, ContextSource: t.server.LimitSource,
	}
	if kv != nil {
		lim.CapacityTokens, lim.CapacitySource = kv, "--kv-tokens"
	}
	if limit != nil {
		lim.Context, lim.ContextSource = limit, "--max-model-len"
	}
	t.plan, err = plan.Build(cfg, lim)
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	return t, nil
}

// parseURL reads --url: an absolute http or https address.
func parseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("--url is missing; give the API's base URL, e.g. --url http://localhost:8000/v1")
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usageError("--url %q: want an address such as http://localhost:8000/v1", text)
	}
	if u.User != nil {
		return nil, usageError("--url: user and password in the address would be stored; use --api-key-env or --header-env")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

// flatten drops nil errors and takes joined ones apart.
func flatten(errs ...error) []error {
	var out []error
	for _, err := range errs {
		var e *exitError
		if errors.As(err, &e) {
			err = e.err
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			out = append(out, flatten(joined.Unwrap()...)...)
		} else if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// httpClient is for questions to the server beside the load: its own certificate rules, no redirects.
func (o *options) httpClient() (*http.Client, error) {
	tr := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: o.insecure}}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, usageError("--ca: %v", err)
		}
		tr.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !tr.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usageError("--ca %s: holds no PEM certificate", o.ca)
		}
	}
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}
