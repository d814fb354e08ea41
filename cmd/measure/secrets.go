package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
)

// secrets are what must never be written anywhere: the API key and the values of further headers.
type secrets struct {
	key    string
	header http.Header
}

// readSecrets takes the key and headers from the environment or a file.
func (o *options) readSecrets(getenv func(string) string) (secrets, error) {
	s := secrets{header: http.Header{}}
	if o.apiKeyEnv != "" && o.apiKeyFile != "" {
		return s, usageError("--api-key-env and --api-key-file: give one of them")
	}
	if o.apiKeyEnv != "" {
		if s.key = getenv(o.apiKeyEnv); s.key == "" {
			return s, usageError("--api-key-env %s: the environment has no such variable, or it is empty", o.apiKeyEnv)
		}
	}
	if o.apiKeyFile != "" {
		text, err := os.ReadFile(o.apiKeyFile)
		if err != nil {
			return s, usageError("--api-key-file: %v", err)
		}
		if s.key = strings.TrimSpace(string(text)); s.key == "" {
			return s, usageError("--api-key-file %s: the file is empty", o.apiKeyFile)
		}
	}
	if strings.ContainsAny(s.key, "\r\n") {
		return s, usageError("the API key holds a line break; it must be one line")
	}
	for _, h := range o.headerEnv {
		name, variable, ok := strings.Cut(h, "=")
		value := getenv(variable)
		if !ok || name == "" || value == "" {
			return s, usageError("--header-env %q: want Header=VARIABLE, with VARIABLE set in the environment", h)
		}
		s.header.Set(name, value)
	}
	return s, nil
}

// values are all secret texts, for redaction.
func (s secrets) values() []string {
	var out []string
	if s.key != "" {
		out = append(out, s.key)
	}
	for _, vs := range s.header {
		out = append(out, vs...)
	}
	slices.Sort(out)
	return out
}
