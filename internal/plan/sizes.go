package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
)

// ParseSize reads a number of tokens as people type it: "8192", or "8K" with 1 K = 1,024.
// It refuses zero, negative numbers, fractions, other units and more than MaxTokens.
func ParseSize(s string) (int, error) {
	digits := strings.TrimSpace(s)
	scale := uint64(1)
	if n := len(digits); n > 0 && (digits[n-1] == 'K' || digits[n-1] == 'k') {
		digits, scale = digits[:n-1], event.K
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && v > MaxTokens/scale:
		return 0, fmt.Errorf("size %q: more than %dK tokens; write a smaller one", s, MaxTokens/event.K)
	case err != nil:
		return 0, fmt.Errorf("size %q: not a number of tokens; write it as 8192 or 8K (1 K = 1024)", s)
	case v == 0:
		return 0, fmt.Errorf("size %q: must be at least 1 token; write it as 8192 or 8K", s)
	}
	return int(v * scale), nil
}

// ParseSizes reads a comma-separated list of sizes, such as "8K,16K,1000". All bad entries are reported.
func ParseSizes(s string) ([]int, error) {
	return parseList(s, "8K,16K", ParseSize)
}

// ParseCounts reads a comma-separated list of whole numbers, such as "1,2,4". Whether they make sense is for
// Validate to say.
func ParseCounts(s string) ([]int, error) {
	return parseList(s, "1,2,4", func(item string) (int, error) {
		v, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil {
			return 0, fmt.Errorf("number %q: not a whole number; write it as 8", item)
		}
		return v, nil
	})
}

func parseList(s, example string, parse func(string) (int, error)) ([]int, error) {
	items := strings.Split(s, ",")
	if len(items) > maxListed {
		return nil, fmt.Errorf("list of %d entries: at most %d", len(items), maxListed)
	}
	var (
		out  []int
		errs []error
	)
	for _, item := range items {
		if strings.TrimSpace(item) == "" {
			errs = append(errs, fmt.Errorf("list %q: an entry is empty; write it as %s", s, example))
			continue
		}
		v, err := parse(item)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, v)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// Label is the short name of a size: "8K" for a whole number of K, else the plain number ("1000").
func Label(tokens int) string {
	if tokens > 0 && tokens%event.K == 0 {
		return strconv.Itoa(tokens/event.K) + "K"
	}
	return strconv.Itoa(tokens)
}

// Labels is the list form of Label, as it can be typed after a flag: "8K,16K,1000".
func Labels(tokens []int) string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = Label(t)
	}
	return strings.Join(out, ",")
}

// grouped prints a count with thousands separators, for reasons that people read: 2,621,440.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
