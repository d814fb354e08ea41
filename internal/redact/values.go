package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// minSecret is the shortest secret that is taken out by value, in bytes.
const minSecret = 4

// forms returns the ways in which a secret is commonly written: itself, URL-encoded, as JSON text and in base64 at each
// of the three alignments that it can have inside a longer base64 text ("user:key").
func forms(secret string) []string {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret || strings.Contains(Marker, secret) {
		return nil
	}
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			if core := base64Core(enc, secret, shift); len(core) >= 8 {
				all = append(all, core)
			}
		}
	}
	return all
}

// base64Core is the part of the base64 text that depends on the secret alone, when shift bytes precede it.
func base64Core(enc *base64.Encoding, secret string, shift int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
	skip := [3]int{0, 2, 3}[shift] // characters that hold bits of the preceding bytes
	// A last partial group mixes with what follows; without it the rest is the same whatever follows.
	whole := (shift + len(secret)) / 3 * 4
	if skip >= whole {
		return ""
	}
	return text[skip:whole]
}

// valueSpans finds the secrets' forms, never inside a marker that stands there already.
func (r Redactor) valueSpans(s string) []span {
	var spans []span
	for at := 0; at < len(s); {
		if m := markerAt(s, at); m > 0 {
			at += m
			continue
		}
		n := 0
		for _, v := range r.values {
			if strings.HasPrefix(s[at:], v) {
				n = len(v)
				break
			}
		}
		if n == 0 {
			at++
			continue
		}
		spans = append(spans, span{at, at + n, Marker})
		at += n
	}
	return spans
}

func markerAt(s string, at int) int {
	for _, m := range []string{Marker, Host, Address} {
		if strings.HasPrefix(s[at:], m) {
			return len(m)
		}
	}
	return 0
}
