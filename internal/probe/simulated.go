package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// profileFacts asks the simulated engine what it pretends to be. Its word is the only source of hardware facts for such
// a run: the machine under it has nothing to do with the figures.
func (s *session) profileFacts(ctx context.Context) []event.Fact {
	told := factList{source: event.FromServer}
	told.flag("engine", event.KeySimulated, true)
	told.text("engine", "profile", s.simulated)

	var profile struct {
		Facts map[string]any `json:"facts"` // "hardware.gpu": …
	}
	a, err := s.get(ctx, s.root+"/speedmatrix/profile")
	if err != nil || !a.ok() {
		return told.facts
	}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if decoder.Decode(&profile) != nil {
		return told.facts
	}
	for _, name := range slices.Sorted(maps.Keys(profile.Facts)) {
		table, key, _ := strings.Cut(name, ".")
		if isTable(table) && keyPattern.MatchString(key) && !fixed(table, key) {
			told.scalar(table, key, profile.Facts[name])
		}
	}
	return told.facts
}
