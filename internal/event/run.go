// Package event is the vocabulary of a run: what was planned, what was asked of the server and when its
// tokens arrived. It holds types, their units and their validation; it reads no clock, no file and no network.
//
// A Run is a list of Cells; a Cell that ran has one Pass a repeat; a Pass is known by its Requests, each
// with the arrival of every chunk of tokens, and by Samples taken beside it. Nothing here is an average:
// every published number is computed from these values by package summary.
//
// Instants are integer microseconds. Those named *US in Run, Cell, Pass and Sample, and Request.StartUS,
// count from the run's epoch (Run.Started, held by a monotonic clock while measuring). All other instants
// of a Request count from its own StartUS. A pointer that is nil means "not known", never 0.
package event

import "time"

// Schema is the version of run.toml and of the parquet columns that this program writes.
const Schema = 1

// Method is the version of the measuring method (how a cell is run), shown on every page.
const MethodVersion = 1

// K is the unit of the sizes that people type: 8K is 8,192 tokens.
const K = 1024

// State says whether every planned cell was dealt with.
type State string

const (
	Complete    State = "complete"
	Interrupted State = "interrupted"
)

// Run is one execution of the matrix against one server: the content of run.toml.
type Run struct {
	Schema  int       `toml:"schema"`
	ID      string    `toml:"id"`
	State   State     `toml:"state"`
	Started time.Time `toml:"started"` // the epoch; UTC, whole seconds or finer
	Seed    uint64    `toml:"seed"`

	Tool Tool `toml:"tool"`

	// Open tables, for people who read a diff: lower_snake keys, scalar values. Absent is "not recorded".
	// See facts.go for the keys that pages know.
	Hardware Facts `toml:"hardware"`
	Engine   Facts `toml:"engine"`
	Model    Facts `toml:"model"`
	Server   Facts `toml:"server"`
	Host     Facts `toml:"host"` // the machine that ran measure

	// Sources names where each fact came from: "hardware.gpu" -> server | probe | user.
	Sources map[string]Source `toml:"sources"`

	Method   Method   `toml:"method"`
	Capacity Capacity `toml:"capacity"`
	Launch   Launch   `toml:"launch"`

	Cells       []Cell        `toml:"cell"`
	Calibration []Calibration `toml:"calibration,omitempty"`

	// Files maps the run's other files to "sha256:<hex>"; empty until the run is complete.
	Files map[string]string `toml:"files"`
}

// Tool says which program measured, and how it was called.
type Tool struct {
	Name    string   `toml:"name"`
	Version string   `toml:"version"`
	Commit  string   `toml:"commit,omitempty"`
	Method  int      `toml:"method"`           // MethodVersion of that program
	Preset  string   `toml:"preset,omitempty"` // "" or "llm-inference-bench"
	Flags   []string `toml:"flags"`            // as typed, redacted
}

// PromptMode is --prompts: which streams share a context (METRICS, "How a cell runs", 2).
type PromptMode string

const (
	PerStream PromptMode = "per-stream"
	Shared    PromptMode = "shared"
	Fresh     PromptMode = "fresh"
)

// StartMode is --start: how the first requests of a cell are laid out in time.
type StartMode string

const (
	Staggered StartMode = "staggered"
	Together  StartMode = "together"
)

// Method is what was asked for: the plan's parameters.
type Method struct {
	Contexts     []int      `toml:"contexts"`    // tokens, after trimming to the server's limit, ascending
	Concurrency  []int      `toml:"concurrency"` // ascending
	Prefill      []int      `toml:"prefill"`     // tokens, ascending
	DurationS    float64    `toml:"duration_s"`  // the asked window
	OutputTokens int        `toml:"output_tokens"`
	Prompts      PromptMode `toml:"prompts"`
	Start        StartMode  `toml:"start"`
	Repeats      int        `toml:"repeats"`
	Temperature  float64    `toml:"temperature"`
	Endpoint     string     `toml:"endpoint"`                 // chat | completions | ollama
	PromptSizing string     `toml:"prompt_sizing,omitempty"`  // tokenize | calibrated
	Dropped      []string   `toml:"dropped_fields,omitempty"` // optional request fields the server refused
	AllowBusy    bool       `toml:"allow_busy,omitempty"`     // the server was not idle at the start and the user said go on
	Resumed      int        `toml:"resumed,omitempty"`        // how many times the run was taken up again
}

// Capacity is what the server can hold, and who said so.
type Capacity struct {
	Tokens      *int64 `toml:"tokens,omitempty"` // KV cache, in tokens
	Source      string `toml:"source,omitempty"` // e.g. "vllm:cache_config_info kv_cache_size_tokens", "--kv-tokens"
	Limit       *int64 `toml:"limit,omitempty"`  // longest prompt + output, in tokens
	LimitSource string `toml:"limit_source,omitempty"`
}

// Launch is the command that started the server, secrets redacted.
type Launch struct {
	Command string `toml:"command,omitempty"`
	Source  Source `toml:"source,omitempty"`
}

// Phase is which table a cell belongs to.
type Phase string

const (
	Prefill Phase = "prefill"
	Decode  Phase = "decode"
)

// Status is what became of a cell. measure stores only what it alone can know (the second block);
// Valid, Queued, ClientBound and Failed follow from the events and are derived by package summary.
type Status string

const (
	Valid       Status = "valid"
	Queued      Status = "queued"
	ClientBound Status = "client-bound"
	Failed      Status = "failed"

	Ran          Status = "" // stored for a cell that ran
	OverCapacity Status = "over-capacity"
	OverLength   Status = "over-length"
	Unready      Status = "unready"
	Skipped      Status = "skipped"
	NotRun       Status = "not-run"
)

// Cell is one square of the matrix, or one row of the prefill table.
type Cell struct {
	Phase        Phase  `toml:"phase"`
	Context      int    `toml:"context"` // prompt tokens aimed at
	Label        string `toml:"label"`   // "8K", "123K", or the plain number
	Concurrency  int    `toml:"concurrency"`
	Status       Status `toml:"status"`
	Reason       string `toml:"reason"`         // why Status is not empty, one sentence
	NeededTokens int64  `toml:"needed_tokens"`  // KV cache this cell needs at its fullest
	Passes       []Pass `toml:"pass,omitempty"` // one a repeat that ran, ascending
}

// Stop is why a pass ended.
type Stop string

const (
	StopDone        Stop = "done"
	StopQueued      Stop = "queued"         // the server ran fewer streams than asked; what ran was measured
	StopFailed      Stop = "failed-streams" // too many streams failed to go on
	StopInterrupted Stop = "interrupted"
)

// Pass is one execution of a cell. The measured window is the half-open interval (WindowStartUS, WindowEndUS].
// A prefill pass spans its cold samples.
type Pass struct {
	Repeat        int   `toml:"repeat"`
	WindowStartUS int64 `toml:"window_start_us"`
	WindowEndUS   int64 `toml:"window_end_us"`
	Stop          Stop  `toml:"stop"`
}

// Calibration is the instrument's own error at one concurrency, measured against an engine that stamps its chunks.
// Errors are ours minus the sender's truth, in microseconds.
type Calibration struct {
	Streams         int     `toml:"streams"`
	InstantP50US    float64 `toml:"instant_p50_us"`
	InstantP99US    float64 `toml:"instant_p99_us"`
	TTFTP50US       float64 `toml:"ttft_p50_us"`
	TTFTP99US       float64 `toml:"ttft_p99_us"`
	BetweenTokensUS float64 `toml:"between_tokens_us"` // median error of the time between tokens
	RatePercent     float64 `toml:"rate_percent"`      // error of total tok/s, percent
	CPUPerTokenUS   float64 `toml:"cpu_per_token_us"`  // client CPU time, user and system
	MergedShare     float64 `toml:"merged_share"`      // share of reads that merged arrivals of one stream, 0..1
	Clock           Clock   `toml:"clock"`
}
