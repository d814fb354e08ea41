package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"speedmatrix/internal/event"
	"speedmatrix/internal/redact"
)

// longest is the most that is kept of a text in a fact, in characters.
const longest = 300

// Clean makes a text of a server fit for a fact and for a terminal: one line, no control characters, valid UTF-8, not too long.
func Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar:
			return -1
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(s), " "), longest)
}

// cut shortens to n characters, with an ellipsis when something is gone.
func cut(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

// factList collects facts of one source.
type factList struct {
	source event.Source
	facts  []event.Fact
}

// text adds a fact unless it is empty or a word for "nothing".
func (l *factList) text(table, key, value string) {
	value = Clean(value)
	switch strings.ToLower(value) {
	case "", "auto", "none", "null", "unknown", "n/a":
		return
	}
	l.facts = append(l.facts, event.Fact{Table: table, Key: key, Value: value, Source: l.source})
}

// number adds a fact; whole numbers are stored as such. Not for values that can be absent as 0: see positive.
func (l *factList) number(table, key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	var v any = value
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		v = int64(value)
	}
	l.facts = append(l.facts, event.Fact{Table: table, Key: key, Value: v, Source: l.source})
}

// positive adds a number that is known only when it is above 0.
func (l *factList) positive(table, key string, value float64) {
	if value > 0 {
		l.number(table, key, value)
	}
}

func (l *factList) flag(table, key string, value bool) {
	l.facts = append(l.facts, event.Fact{Table: table, Key: key, Value: value, Source: l.source})
}

// scalar adds a JSON or TOML value; false when it is neither text, number nor truth value.
func (l *factList) scalar(table, key string, value any) bool {
	switch v := value.(type) {
	case string:
		l.text(table, key, v)
	case bool:
		l.flag(table, key, v)
	case int64:
		l.number(table, key, float64(v))
	case float64:
		l.number(table, key, v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return false
		}
		l.number(table, key, f)
	default:
		return false
	}
	return true
}

var keyPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// tableOf returns the run's table of that name, made when it was nil; nil when there is no such table.
func tableOf(run *event.Run, name string) event.Facts {
	var at *event.Facts
	switch name {
	case "hardware":
		at = &run.Hardware
	case "engine":
		at = &run.Engine
	case "model":
		at = &run.Model
	case "server":
		at = &run.Server
	case "host":
		at = &run.Host
	default:
		return nil
	}
	if *at == nil {
		*at = event.Facts{}
	}
	return *at
}

func isTable(name string) bool { return tableOf(&event.Run{}, name) != nil }

// rank orders sources: a fact gives way to one of higher rank.
func rank(s event.Source) int {
	return slices.Index([]event.Source{event.FromProbe, event.FromServer, event.FromUser}, s)
}

// fixed are facts that only the server can tell: a run against the simulated engine must not be labelled otherwise.
func fixed(table, key string) bool {
	return table == "engine" && (key == event.KeySimulated || key == "profile")
}

// Merge writes facts into the run's tables and their sources into run.Sources. What the user said wins over what the
// server said, and that over what was read from the machine; among equals the later wins. Every text is redacted.
// Facts of an unknown table, source or form are left out.
func Merge(run *event.Run, facts []event.Fact, r redact.Redactor) {
	if run.Sources == nil {
		run.Sources = map[string]event.Source{}
	}
	for _, f := range facts {
		table, name := tableOf(run, f.Table), f.Table+"."+f.Key
		if table == nil || !keyPattern.MatchString(f.Key) || rank(f.Source) < 0 {
			continue
		}
		if fixed(f.Table, f.Key) && f.Source != event.FromServer {
			continue
		}
		if _, known := table[f.Key]; known && rank(run.Sources[name]) > rank(f.Source) {
			continue
		}
		value, ok := normal(f.Value, r)
		if !ok {
			continue
		}
		table[f.Key] = value
		run.Sources[name] = f.Source
	}
}

// normal brings a value to one of the four types of event.Facts.
func normal(value any, r redact.Redactor) (any, bool) {
	switch v := value.(type) {
	case string:
		s := Clean(r.Text(v))
		return s, s != ""
	case bool, int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return nil, false
}

// ReadInfo reads the file of --info: tables hardware, engine, model, server and host with scalar values, and
// optionally [launch] with the command that started the server. All mistakes are reported at once.
func ReadInfo(r io.Reader) (facts []event.Fact, launch string, err error) {
	var tables map[string]any
	if _, err := toml.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&tables); err != nil {
		return nil, "", fmt.Errorf("the info file is not TOML: %w", err)
	}
	list := factList{source: event.FromUser}
	var problems []error
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		entries, isMap := tables[table].(map[string]any)
		switch {
		case !isMap:
			problems = append(problems, fmt.Errorf("key %q stands outside a table; put it under [hardware], [engine], [model], [server] or [host]", table))
		case table == "launch":
			launch, problems = readLaunch(entries, problems)
		case !isTable(table):
			problems = append(problems, fmt.Errorf("table %q is not known; use hardware, engine, model, server, host or launch", table))
		default:
			problems = append(problems, readTable(&list, table, entries)...)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, "", err
	}
	return list.facts, launch, nil
}

func readLaunch(entries map[string]any, problems []error) (string, []error) {
	launch := ""
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		command, ok := entries[key].(string)
		if key != "command" || !ok {
			problems = append(problems, fmt.Errorf("launch.%s is not known; [launch] takes command = \"…\"", key))
			continue
		}
		launch = strings.TrimSpace(command)
	}
	return launch, problems
}

func readTable(list *factList, table string, entries map[string]any) (problems []error) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch {
		case fixed(table, key):
			problems = append(problems, fmt.Errorf("%s.%s is told by the server alone; leave it out", table, key))
		case !keyPattern.MatchString(key):
			problems = append(problems, fmt.Errorf("key %q of [%s] is not in lower_snake form", key, table))
		case !list.scalar(table, key, entries[key]):
			problems = append(problems, fmt.Errorf("%s.%s is not a text, number or truth value; write it as one", table, key))
		}
	}
	return problems
}
