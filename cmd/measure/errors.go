package main

import (
	"slices"
	"strings"
)

// sortErrors puts errors in order of their text, so that a map's order never shows.
func sortErrors(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}
