package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	burntsushi "github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2"

	"speedmatrix/internal/event"
)

// Bounds on a run.toml. The standard matrix has 15 KB.
const (
	maxRunBytes = 2 << 20
	maxNesting  = 32 // of arrays and inline tables, and parts of a key; the format itself has 3
	maxCells    = 10_000
	maxMistakes = 50 // reported at once
)

// EncodeRun returns the content of run.toml. Equal runs give equal bytes. It refuses what DecodeRun would refuse.
func EncodeRun(run event.Run) ([]byte, error) {
	run.Started = run.Started.UTC()
	for _, t := range tables(&run) {
		*t.facts = scalars(*t.facts)
	}
	fillTables(&run)
	var b bytes.Buffer
	enc := burntsushi.NewEncoder(&b)
	enc.Indent = ""
	if err := enc.Encode(run); err != nil {
		return nil, fmt.Errorf("encode run.toml: %w", err)
	}
	out := bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))
	if _, err := DecodeRun(out); err != nil {
		return nil, fmt.Errorf("encode run.toml: %w", err)
	}
	return out, nil
}

// DecodeRun reads a run.toml of any schema version. Unknown keys, values out of the words of the format and a run that
// contradicts itself are refused, all of them in one error; a version of a newer program is a *SchemaError.
func DecodeRun(data []byte) (event.Run, error) {
	if len(data) > maxRunBytes {
		return event.Run{}, fmt.Errorf("run.toml has %d bytes: more than %d are refused", len(data), maxRunBytes)
	}
	if err := checkNesting(data); err != nil {
		return event.Run{}, err
	}
	run, unknown, err := decodeRun(data)
	if err != nil {
		return event.Run{}, err
	}
	return checkRunV1(run, unknown)
}

// decodeRun decodes what a program of schema 1 knows, and returns the keys that it does not know.
func decodeRun(data []byte) (event.Run, []error, error) {
	// Fields of event.Run that are shadowed here: as pointers, where one that is missing must be told from an empty one.
	var door struct {
		event.Run
		Schema  *int          `toml:"schema"`
		ID      *string       `toml:"id"`
		State   *event.State  `toml:"state"`
		Started any           `toml:"started"` // as written: decoding to a time.Time would take one without a zone for UTC
		Tool    *event.Tool   `toml:"tool"`
		Method  *event.Method `toml:"method"`
	}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&door)
	var strict *toml.StrictMissingError
	if err != nil && !errors.As(err, &strict) {
		return event.Run{}, nil, decodeError(data, err)
	}
	if door.Schema == nil {
		return event.Run{}, nil, errors.New(`run.toml: key "schema" is missing`)
	}
	if *door.Schema != 1 {
		return event.Run{}, nil, &SchemaError{*door.Schema}
	}
	var wrong []error
	if strict != nil {
		for _, e := range strict.Errors {
			wrong = append(wrong, fmt.Errorf("run.toml: key %q is not one of schema 1", strings.Join(e.Key(), ".")))
		}
	}
	run := door.Run
	run.Schema = *door.Schema
	fillTables(&run)
	wrong = append(wrong, fill(&run.ID, door.ID, "id"), fill(&run.State, door.State, "state"), fill(&run.Tool, door.Tool, "tool"), fill(&run.Method, door.Method, "method"))
	switch at := door.Started.(type) {
	case nil:
		wrong = append(wrong, errors.New(`run.toml: key "started" is missing`))
	case time.Time:
		if at.Location() != time.UTC {
			return event.Run{}, nil, fmt.Errorf("run.toml: started %q: want an instant in UTC, such as 2026-12-01T10:15:00Z", at.Format(time.RFC3339))
		}
		run.Started = at
	default:
		return event.Run{}, nil, fmt.Errorf("run.toml: started %v: want an instant in UTC, such as 2026-12-01T10:15:00Z", at)
	}
	return run, wrong, nil
}

// fill sets a field that must be there.
func fill[T any](field, value *T, key string) error {
	if value == nil {
		return fmt.Errorf("run.toml: key %q is missing", key)
	}
	*field = *value
	return nil
}

// decodeError words why a run.toml cannot be decoded. Of a newer version a field may have another type: then its version is the reason.
func decodeError(data []byte, err error) error {
	var door struct {
		Schema *int `toml:"schema"`
	}
	if toml.Unmarshal(data, &door) == nil && door.Schema != nil && *door.Schema != 1 {
		return &SchemaError{*door.Schema}
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return fmt.Errorf("run.toml: line %d: %s", line, oneLine(strings.TrimPrefix(at.Error(), "toml: ")))
	}
	return fmt.Errorf("run.toml: %s", oneLine(err.Error()))
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func checkRunV1(run event.Run, wrong []error) (event.Run, error) {
	errs := slices.DeleteFunc(append(wrong, checkRun(&run)...), func(err error) bool { return err == nil })
	if len(errs) > maxMistakes {
		errs = append(errs[:maxMistakes], fmt.Errorf("run.toml: %d more mistakes", len(errs)-maxMistakes))
	}
	if len(errs) > 0 {
		return event.Run{}, errors.Join(errs...)
	}
	return run, nil
}

type namedFacts struct {
	name  string
	facts *event.Facts
}

// tables lists the open tables of a run.
func tables(r *event.Run) []namedFacts {
	return []namedFacts{
		{"hardware", &r.Hardware}, {"engine", &r.Engine}, {"model", &r.Model}, {"server", &r.Server}, {"host", &r.Host},
	}
}

// fillTables makes tables that hold nothing: a missing one and an empty one are the same.
func fillTables(r *event.Run) {
	for _, t := range tables(r) {
		if *t.facts == nil {
			*t.facts = event.Facts{}
		}
	}
	if r.Sources == nil {
		r.Sources = map[string]event.Source{}
	}
	if r.Files == nil {
		r.Files = map[string]string{}
	}
}

// scalars brings numbers to the two types that TOML reads back.
func scalars(f event.Facts) event.Facts {
	out := make(event.Facts, len(f))
	for k, v := range f {
		switch n := v.(type) {
		case int:
			v = int64(n)
		case int32:
			v = int64(n)
		case float32:
			v = float64(n)
		}
		out[k] = v
	}
	return out
}

// checkRun returns every mistake in a run's words and shapes. Plausibility is package check's business.
func checkRun(r *event.Run) []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("run.toml: "+format, args...)) }
	if !ValidID(r.ID) {
		bad("id %q: want lower-case letters, digits, dots and dashes", r.ID)
	}
	if r.State != event.Complete && r.State != event.Interrupted {
		bad("state %q is not one of complete, interrupted", r.State)
	}
	if r.Started.IsZero() || r.Started.Year() < 2000 || r.Started.Year() > 9999 {
		bad("started %q: want an instant in UTC, such as 2026-12-01T10:15:00Z", r.Started.Format(time.RFC3339Nano))
	}
	if r.Seed > math.MaxInt64 {
		bad("seed %d is above %d, the largest integer of TOML", r.Seed, int64(math.MaxInt64))
	}
	for _, t := range tables(r) {
		errs = append(errs, checkFacts(t.name, *t.facts)...)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Sources)) {
		switch r.Sources[key] {
		case event.FromServer, event.FromProbe, event.FromUser:
		default:
			bad("sources: %q has the source %q, not one of server, probe, user", key, r.Sources[key])
		}
	}
	if len(r.Cells) > maxCells {
		bad("%d cells: more than %d are refused", len(r.Cells), maxCells)
		return errs
	}
	for i := range r.Cells {
		for _, err := range checkCell(&r.Cells[i]) {
			bad("cell %d: %w", i, err)
		}
	}
	return errs
}

func checkFacts(table string, f event.Facts) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(f)) {
		switch v := f[key].(type) {
		case string, int64, bool:
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				errs = append(errs, fmt.Errorf("run.toml: %s.%s is %v: leave out what is not known", table, key, v))
			}
		default:
			errs = append(errs, fmt.Errorf("run.toml: %s.%s: want a string, a number or a bool", table, key))
		}
		if !snake(key) {
			errs = append(errs, fmt.Errorf("run.toml: %s: key %q: want lower_snake letters and digits", table, key))
		}
	}
	return errs
}

func checkCell(c *event.Cell) []error {
	var errs []error
	if c.Phase != event.Prefill && c.Phase != event.Decode {
		errs = append(errs, fmt.Errorf("phase %q is not one of prefill, decode", c.Phase))
	}
	switch c.Status {
	case event.Ran, event.OverCapacity, event.OverLength, event.Unready, event.Skipped, event.NotRun:
	default:
		errs = append(errs, fmt.Errorf("status %q is not one that a run stores", c.Status))
	}
	if c.Context < 0 || c.Concurrency < 0 || c.NeededTokens < 0 {
		errs = append(errs, errors.New("context, concurrency and needed_tokens may not be negative"))
	}
	last := -1
	for _, p := range c.Passes {
		switch p.Stop {
		case event.StopDone, event.StopQueued, event.StopFailed, event.StopInterrupted:
		default:
			errs = append(errs, fmt.Errorf("stop %q is not one of done, queued, failed-streams, interrupted", p.Stop))
		}
		if p.Repeat <= last {
			errs = append(errs, fmt.Errorf("repeat %d after %d: want them ascending from 0", p.Repeat, last))
		}
		last = p.Repeat
	}
	return errs
}

func snake(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
