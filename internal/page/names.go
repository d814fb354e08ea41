package page

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names gives things one name each: the content of results/names.toml. Each table maps a name to its aliases. What it does not
// list keeps its own name, and pages mark it as unlisted. The zero value lists nothing.
type Names struct {
	Models        map[string][]string `toml:"models"`
	GPUs          map[string][]string `toml:"gpus"`
	Engines       map[string][]string `toml:"engines"`
	Quantizations map[string][]string `toml:"quantizations"`
}

// Validate returns every alias that two names claim.
func (n Names) Validate() error {
	var errs []error
	for _, t := range []struct {
		name  string
		table map[string][]string
	}{{"models", n.Models}, {"gpus", n.GPUs}, {"engines", n.Engines}, {"quantizations", n.Quantizations}} {
		owner := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(t.table)) {
			if strings.TrimSpace(name) == "" {
				errs = append(errs, fmt.Errorf("table %s: a name is empty", t.name))
			}
			for _, alias := range append([]string{name}, t.table[name]...) {
				key := nameKey(alias)
				if other, ok := owner[key]; ok && other != name {
					errs = append(errs, fmt.Errorf("table %s: %q stands for %q and for %q: keep one", t.name, alias, other, name))
				}
				owner[key] = name
			}
		}
	}
	return errors.Join(errs...)
}

// nameKey is what names are compared by: without case, outer spaces and the organisation in front of a model.
func nameKey(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// resolver answers many look-ups in one table.
type resolver map[string]string

func newResolver(table map[string][]string) resolver {
	r := resolver{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		for _, alias := range append([]string{name}, table[name]...) {
			r[nameKey(alias)] = name
		}
	}
	return r
}

// name returns the one name of what a run calls s, and whether the table lists it.
func (r resolver) name(s string) (string, bool) {
	if name, ok := r[nameKey(s)]; ok {
		return clip(Clean(name), 120), true
	}
	return s, false
}
