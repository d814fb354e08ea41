package probe

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sample is one line of the Prometheus text format.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// parseMetrics reads the Prometheus text format, version 0.0.4. Comments, and lines that are not of the format, are
// passed over: a broken line of some other metric must not hide ours.
func parseMetrics(text string) []sample {
	var samples []sample
	for line := range strings.Lines(text) {
		if s, ok := parseSample(strings.TrimSpace(line)); ok {
			samples = append(samples, s)
		}
	}
	return samples
}

// parseSample reads `name{label="value",…} number [timestamp]`.
func parseSample(line string) (sample, bool) {
	end := strings.IndexFunc(line, func(r rune) bool { return r == '{' || r == ' ' || r == '\t' })
	if end <= 0 || line[0] == '#' {
		return sample{}, false
	}
	s, rest := sample{name: line[:end]}, line[end:]
	if rest[0] == '{' {
		var ok bool
		if s.labels, rest, ok = parseLabels(rest[1:]); !ok {
			return sample{}, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return sample{}, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return sample{}, false
	}
	s.value = value
	return s, true
}

// parseLabels reads up to the closing brace and returns what follows it.
func parseLabels(text string) (labels map[string]string, rest string, ok bool) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, ", \t")
		if strings.HasPrefix(text, "}") {
			return labels, text[1:], true
		}
		name, after, found := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, "", false
		}
		after = strings.TrimLeft(after, " \t")
		if !strings.HasPrefix(after, `"`) {
			return nil, "", false
		}
		value, remains, closed := parseQuoted(after[1:])
		if !closed {
			return nil, "", false
		}
		labels[name], text = value, remains
	}
}

// parseQuoted reads a label's value up to its quote; \\, \" and \n are escapes.
func parseQuoted(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
			if c = text[i]; c == 'n' {
				c = '\n'
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// family returns the samples of exactly that name.
func family(samples []sample, name string) []sample {
	var f []sample
	for _, s := range samples {
		if s.name == name {
			f = append(f, s)
		}
	}
	return f
}

// replicas are labels of processes that work on the same requests and report the same numbers: tensor, pipeline and
// expert ranks. Data-parallel ranks have requests of their own.
var replicas = []string{"tp_rank", "pp_rank", "moe_ep_rank", "ep_rank", "attn_tp_rank", "pid"}

// ranks returns one value for each engine that has requests of its own, of a family's label sets. Replicas count once
// (the largest). Where a series per priority stands beside their total (the label is there and empty), only the total
// counts. Values that are no count (NaN, infinite, negative) are left out.
func ranks(samples []sample, name string) []float64 {
	fam := family(samples, name)
	isTotal := func(s sample) bool {
		priority, has := s.labels["priority"]
		return has && priority == ""
	}
	hasTotal := slices.ContainsFunc(fam, isTotal)
	values := map[string]float64{}
	for _, s := range fam {
		if hasTotal && !isTotal(s) || math.IsNaN(s.value) || math.IsInf(s.value, 0) || s.value < 0 {
			continue
		}
		key := identity(s.labels)
		if old, seen := values[key]; !seen || s.value > old {
			values[key] = s.value
		}
	}
	var out []float64
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, values[key])
	}
	return out
}

// identity is a label set without the labels of replicas, as text.
func identity(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(replicas, name) {
			b.WriteString(strconv.Quote(name) + "=" + strconv.Quote(labels[name]) + ",")
		}
	}
	return b.String()
}

// sum adds a gauge over all engines; false when it is not there.
func sum(samples []sample, name string) (float64, bool) {
	values := ranks(samples, name)
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total, len(values) > 0
}

// mean averages a share (0..1) over all engines; nil when it is not there.
func mean(samples []sample, names ...string) *float64 {
	for _, name := range names {
		if total, ok := sum(samples, name); ok {
			total /= float64(len(ranks(samples, name)))
			return &total
		}
	}
	return nil
}
