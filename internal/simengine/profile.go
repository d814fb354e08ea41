package simengine

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed profiles/*.toml
var profileFiles embed.FS

// Profile says what an engine is and how long things take on it: measured figures, between which Latency interpolates.
type Profile struct {
	Name        string `toml:"name"`
	Description string `toml:"description"`
	Dialect     string `toml:"dialect"` // "" is vllm

	Model   ModelFacts `toml:"model"`
	Limits  Limits     `toml:"limits"`
	Prefill Prefill    `toml:"prefill"`
	Decode  Table      `toml:"decode"`
	Restart Table      `toml:"restart"`

	// Facts are told by /speedmatrix/profile, by dotted name ("hardware.vram_gb"). hardware.gpu is always the engine's own.
	Facts map[string]any `toml:"facts"`
}

// ModelFacts are told by the engine's information endpoints.
type ModelFacts struct {
	Served       string `toml:"served"` // the name in requests
	ID           string `toml:"id"`     // the model's path
	DType        string `toml:"dtype"`
	Quantization string `toml:"quantization"`
}

// Limits are in tokens, but for MaxRunning.
type Limits struct {
	MaxModelLen int `toml:"max_model_len"` // prompt + output of one request
	KVTokens    int `toml:"kv_tokens"`     // what the KV cache holds; rounded down to whole blocks
	MaxRunning  int `toml:"max_running"`   // requests that run at once
	StepTokens  int `toml:"step_tokens"`   // tokens computed in one step, of prefill and decode together
}

// Prefill holds the time to first token of an uncached prompt that has the engine to itself.
type Prefill struct {
	Tokens []int     `toml:"tokens"`  // prompt lengths, ascending
	TTFTMS []float64 `toml:"ttft_ms"` // ms from request to first token, ascending
}

// Table holds milliseconds by context length (rows) and number of running requests (columns). A row may be shorter
// than Batch: what it lacks grows as the row before it does.
//
// As Profile.Decode it holds the time between tokens; as Profile.Restart the time to first token of one request with a
// cached prompt that makes the number of running requests that of its column.
type Table struct {
	Batch []int `toml:"batch"` // running requests, ascending

	// Ahead is how many tokens the sequences were longer, on average, than Context while the row was measured.
	Ahead int `toml:"ahead"`
	Rows  []struct {
		Context int       `toml:"context"`
		MS      []float64 `toml:"ms"`
	} `toml:"rows"`
}

// Profiles lists the built-in profiles' names in order.
func Profiles() []string {
	entries, err := profileFiles.ReadDir("profiles")
	if err != nil {
		panic(err) // the folder is embedded: it cannot be missing
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// LoadProfile reads a built-in profile by name, or a TOML file when name ends in ".toml".
func LoadProfile(name string) (Profile, error) {
	if strings.HasSuffix(name, ".toml") {
		text, err := os.ReadFile(name)
		if err != nil {
			return Profile{}, fmt.Errorf("read profile: %w", err)
		}
		return ParseProfile(string(text))
	}
	text, err := profileFiles.ReadFile(path.Join("profiles", name+".toml"))
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q is not built in: use one of %s, or a file ending in .toml", name, strings.Join(Profiles(), ", "))
	}
	return ParseProfile(string(text))
}

// ParseProfile reads a profile from TOML. Keys that it does not know are an error.
func ParseProfile(text string) (Profile, error) {
	var p Profile
	meta, err := toml.Decode(text, &p)
	if err != nil {
		return Profile{}, fmt.Errorf("parse profile: %w", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Profile{}, fmt.Errorf("parse profile: key %q is not known", unknown[0].String())
	}
	return p, p.Validate()
}

// Validate returns all that is wrong with the profile.
func (p Profile) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("profile %q: %s", p.Name, fmt.Sprintf(format, args...)))
		}
	}
	check(p.Name != "", "name is empty")
	check(p.Model.Served != "", "model.served is empty")
	check(p.Limits.MaxModelLen > 0, "limits.max_model_len = %d: must be positive", p.Limits.MaxModelLen)
	check(p.Limits.KVTokens >= BlockTokens, "limits.kv_tokens = %d: must be at least one block of %d", p.Limits.KVTokens, BlockTokens)
	check(p.Limits.MaxRunning > 0, "limits.max_running = %d: must be positive", p.Limits.MaxRunning)
	check(p.Limits.StepTokens > p.Limits.MaxRunning, "limits.step_tokens = %d: must be above max_running", p.Limits.StepTokens)
	check(len(p.Prefill.Tokens) == len(p.Prefill.TTFTMS), "prefill has %d tokens and %d ttft_ms", len(p.Prefill.Tokens), len(p.Prefill.TTFTMS))
	check(len(p.Prefill.Tokens) >= 2, "prefill needs two points or more")
	check(ascending(p.Prefill.Tokens), "prefill.tokens must be positive and ascend")
	check(ascending(p.Prefill.TTFTMS), "prefill.ttft_ms must be positive and ascend")
	errs = append(errs, p.Decode.validate(p.Name, "decode"), p.Restart.validate(p.Name, "restart"))
	return errors.Join(errs...)
}

func (t Table) validate(profile, name string) error {
	if len(t.Batch) == 0 || len(t.Rows) == 0 || !ascending(t.Batch) {
		return fmt.Errorf("profile %q: %s needs an ascending batch and at least one row", profile, name)
	}
	last := 0
	for i, row := range t.Rows {
		if row.Context <= last {
			return fmt.Errorf("profile %q: %s row %d: context %d must be above %d", profile, name, i, row.Context, last)
		}
		last = row.Context
		if len(row.MS) == 0 || len(row.MS) > len(t.Batch) || i == 0 && len(row.MS) != len(t.Batch) {
			return fmt.Errorf("profile %q: %s row %d has %d values for %d batch sizes", profile, name, i, len(row.MS), len(t.Batch))
		}
		for _, ms := range row.MS {
			if !(ms > 0) {
				return fmt.Errorf("profile %q: %s row %d: %v ms must be positive", profile, name, i, ms)
			}
		}
	}
	return nil
}

func ascending[T int | float64](values []T) bool {
	var last T
	for _, v := range values {
		if !(v > last) {
			return false
		}
		last = v
	}
	return true
}
