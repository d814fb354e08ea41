package client_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// othersFile is what tests/conformance/others.py wrote: what other clients reported of the same bytes.
const othersFile = "../../tests/conformance/others.tsv"

// slack is how far, in milliseconds, a TTFT of the wall clock may be from the exact one and still be called right.
const slack = 20

// said is one line of othersFile.
type said struct {
	client, stream, variant string
	result, tokens, ttft    string
	words                   string
}

// others reads the file and returns the clients ("name version, date") in its order.
func others(t *testing.T) (clients []string, all []said) {
	t.Helper()
	b, err := os.ReadFile(othersFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 9 {
			t.Fatalf("%s: %d fields in %q, want 9", othersFile, len(f), line)
		}
		if f[0] == "client" {
			continue
		}
		s := said{client: fmt.Sprintf("%s %s, %s", f[0], f[1], f[2]), stream: f[3], variant: f[4], result: f[5], tokens: f[6], ttft: f[7], words: f[8]}
		if !slices.Contains(clients, s.client) {
			clients = append(clients, s.client)
		}
		all = append(all, s)
	}
	return clients, all
}

// cellOf is what the client said of the row, against the right answer.
func cellOf(client string, all []said, r row) string {
	i := slices.IndexFunc(all, func(s said) bool { return s.client == client && s.stream == r.stream && s.variant == r.variant })
	if i < 0 {
		return "not run"
	}
	s := all[i]
	report, tokens := s.result, "%s tokens"
	if !countable(r) {
		tokens += " (not compared)"
	}
	for _, part := range [][2]string{{s.tokens, tokens}, {s.ttft, "TTFT %s"}, {s.words, "%s"}} {
		if part[0] != "" {
			report += "; " + fmt.Sprintf(part[1], part[0])
		}
	}
	if r.variant == "brotli" && s.result != "ok" {
		return "not judged (the server sends brotli unasked): " + report
	}
	if wrong := s.wrong(r); wrong != "" {
		return "wrong (" + wrong + "): " + report
	}
	return "right: " + report
}

// wrong says what differs from the row's right answer, "" for nothing. Only what the client reported is judged.
func (s said) wrong(r row) string {
	failed := !strings.HasPrefix(r.want, "ok")
	switch {
	case failed && s.result == "ok":
		return "counted as a success"
	case failed:
		return ""
	case s.result != "ok":
		return "counted as a failure"
	}
	var out []string
	if want := number(r.want, `(\d+) tokens`); s.tokens != "" && countable(r) && number(s.tokens, `(.+)`) != want {
		out = append(out, fmt.Sprintf("%.0f tokens", want))
	}
	if want := number(r.want, `TTFT ([\d.]+)`); s.ttft == "" {
		out = append(out, "no TTFT")
	} else if math.Abs(number(s.ttft, `(.+)`)-want) > slack {
		out = append(out, fmt.Sprintf("TTFT %.0f", want))
	}
	return strings.Join(out, ", ")
}

func number(s, pattern string) float64 {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(s); m != nil {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// countable reports whether a client that counts words with a tokenizer can know the row's tokens.
func countable(r row) bool {
	for _, s := range []string{"U+2028", "a chunk of 3 MB", "tool-call", "the same with no usage", "or a rune"} {
		if strings.Contains(r.stream, s) {
			return false
		}
	}
	return true
}
