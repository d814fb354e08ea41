package page

import (
	"cmp"
	"slices"
	"strings"

	"speedmatrix/internal/compare"
)

// methodNames returns how to tell runs of one list apart by their method: the parts in which not all runs are equal, in words;
// "" when there are none.
func methodNames(runs []*Listed) func(*Listed) string {
	if len(runs) == 0 {
		return func(*Listed) string { return "" }
	}
	first := methodParts(&runs[0].Compared.Method)
	differs := make([]bool, len(first))
	for _, l := range runs[1:] {
		for i, part := range methodParts(&l.Compared.Method) {
			differs[i] = differs[i] || part.value != first[i].value
		}
	}
	if !slices.Contains(differs, true) {
		return func(*Listed) string { return "" }
	}
	return func(l *Listed) string {
		var words []string
		for i, part := range methodParts(&l.Compared.Method) {
			if differs[i] {
				words = append(words, part.before+clip(Clean(cmp.Or(part.value, "not recorded")), 40)+part.after)
			}
		}
		return strings.Join(words, ", ")
	}
}

// methodPart is a part of a method with the words around it.
type methodPart struct{ before, value, after string }

func methodParts(m *compare.Method) [5]methodPart {
	return [5]methodPart{
		{"", m.Prompts, " prompts"}, {"", m.Start, " start"}, {"", m.OutputTokens, " output tokens"},
		{"tokens counted ", string(cmp.Or(m.Counting, compare.ByServer)), ""}, {"method version ", m.Version, ""},
	}
}
