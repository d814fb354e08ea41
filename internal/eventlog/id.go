package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

const (
	maxIDBytes = 200
	maxPart    = 40 // bytes of the model, the GPU and the engine within an id
)

// MakeID returns a run's id, "20261201t101500z-<model>-<gpu>-<engine>-<hash8>", in [a-z0-9.-]. The hash covers all that
// is given, so that two runs of one second differ by their salts (a seed, a host, a process number). A part that is not
// known is "unknown".
func MakeID(started time.Time, model, gpu, engine string, salt ...string) string {
	h := sha256.New()
	for _, s := range append([]string{started.UTC().Format(time.RFC3339Nano), model, gpu, engine}, salt...) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return strings.Join([]string{
		started.UTC().Format("20060102t150405z"), slug(model), slug(gpu), slug(engine), hex.EncodeToString(h.Sum(nil)[:4]),
	}, "-")
}

// slug lowers s and puts one dash for each stretch of other characters. A path gives its last element.
func slug(s string) string {
	s = strings.TrimRight(s, "/\\")
	if i := strings.LastIndexAny(s, "/\\"); i >= 0 {
		s = s[i+1:]
	}
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxPart {
			break
		}
	}
	if out := strings.Trim(b.String(), "-."); out != "" {
		return out
	}
	return "unknown"
}

// ValidID reports whether s can name a run's folder: lower-case letters, digits, dots and dashes, first and last a
// letter or a digit, no two dots in a row, and not ending like a folder in progress.
func ValidID(s string) bool {
	if s == "" || len(s) > maxIDBytes || strings.HasSuffix(s, partialSuffix) || strings.Contains(s, "..") {
		return false
	}
	const alnum = "abcdefghijklmnopqrstuvwxyz0123456789"
	return strings.Trim(s, alnum+".-") == "" && strings.Contains(alnum, s[:1]) && strings.Contains(alnum, s[len(s)-1:])
}
