package page

import (
	"encoding/json"
	"math"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// TwinSchema is the version of run.json.
const TwinSchema = 1

// Twin is run.json: the numbers of a run page for machines, unrounded; what a cell lacks is null.
type Twin struct {
	Schema        int               `json:"schema"`
	ID            string            `json:"id"`
	Title         string            `json:"title"`
	Started       string            `json:"started"`
	State         event.State       `json:"state"`
	Simulated     bool              `json:"simulated"`
	Hardware      map[string]any    `json:"hardware"`
	Engine        map[string]any    `json:"engine"`
	Model         map[string]any    `json:"model"`
	Server        map[string]any    `json:"server"`
	Host          map[string]any    `json:"host"`
	Sources       map[string]string `json:"sources"`
	Tool          twinTool          `json:"tool"`
	Method        twinMethod        `json:"method"`
	Capacity      twinCapacity      `json:"capacity"`
	LaunchCommand string            `json:"launch_command"`
	Prefill       []twinPrefill     `json:"prefill"`
	Decode        []twinDecode      `json:"decode"`
	Instrument    []twinInstrument  `json:"instrument"`
	Warnings      []twinWarning     `json:"warnings"`
	Files         map[string]string `json:"files"`
}

type twinTool struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Commit  string   `json:"commit"`
	Method  int      `json:"method"`
	Preset  string   `json:"preset"`
	Flags   []string `json:"flags"`
}

type twinMethod struct {
	Contexts     []int    `json:"contexts"`
	Concurrency  []int    `json:"concurrency"`
	Prefill      []int    `json:"prefill"`
	DurationS    *float64 `json:"duration_s"`
	OutputTokens int      `json:"output_tokens"`
	Prompts      string   `json:"prompts"`
	Start        string   `json:"start"`
	Repeats      int      `json:"repeats"`
	Temperature  *float64 `json:"temperature"`
	Endpoint     string   `json:"endpoint"`
	PromptSizing string   `json:"prompt_sizing"`
	Dropped      []string `json:"dropped_fields"`
	Seed         uint64   `json:"seed"`
}

type twinCapacity struct {
	Tokens      *int64 `json:"tokens"`
	Source      string `json:"source"`
	Limit       *int64 `json:"limit"`
	LimitSource string `json:"limit_source"`
}

type twinPrefill struct {
	Context      int               `json:"context"`
	Label        string            `json:"label"`
	Status       event.Status      `json:"status"`
	Reason       string            `json:"reason"`
	PromptTokens *int              `json:"prompt_tokens"`
	TokS         *float64          `json:"tok_s"`
	TTFTMS       *float64          `json:"ttft_ms"`
	TTFTKind     *string           `json:"ttft_kind"`
	Samples      int               `json:"samples"`
	CachedTokens *int              `json:"cached_tokens"`
	TokSInterval *twinInterval     `json:"tok_s_interval"`
	TTFT         *twinDistribution `json:"ttft"`
	Warnings     []twinWarning     `json:"warnings"`
}

type twinDecode struct {
	Context           int               `json:"context"`
	Label             string            `json:"label"`
	Concurrency       int               `json:"concurrency"`
	Status            event.Status      `json:"status"`
	Reason            string            `json:"reason"`
	TokS              *float64          `json:"tok_s"`
	PerRequestTokS    *float64          `json:"per_request_tok_s"`
	TTFTMS            *float64          `json:"ttft_ms"`
	TTFTKind          *string           `json:"ttft_kind"`
	TTFOMS            *float64          `json:"ttfo_ms"`
	BetweenTokensMS   *float64          `json:"time_between_tokens_ms"`
	ActiveRequests    *float64          `json:"active_requests"`
	ServerActive      *float64          `json:"server_active_requests"`
	RanRequests       *float64          `json:"ran_requests"`
	CompletedRequests *int              `json:"completed_requests"`
	FailedRequests    *int              `json:"failed_requests"`
	Failures          map[string]int    `json:"failures"`
	EarlyStops        int               `json:"early_stops"`
	Looped            int               `json:"looped"`
	OutputTokens      *int64            `json:"output_tokens"`
	MeasuredS         *float64          `json:"measured_s"`
	WholeCellTokS     *float64          `json:"whole_cell_tok_s"`
	PerStreamTokS     *float64          `json:"per_stream_tok_s"`
	ScalingEfficiency *float64          `json:"scaling_efficiency"`
	PromptTokens      *int              `json:"prompt_tokens"`
	CachedTokens      *int              `json:"cached_tokens"`
	Samples           int               `json:"samples"`
	TokenSource       event.TokenSource `json:"token_source"`
	Clock             event.Clock       `json:"clock"`
	NeededTokens      int64             `json:"needed_tokens"`
	CapacityTokens    *int64            `json:"capacity_tokens"`
	TokSInterval      *twinInterval     `json:"tok_s_interval"`
	TTFT              *twinDistribution `json:"ttft"`
	BetweenTokens     *twinDistribution `json:"time_between_tokens"`
	BetweenChunks     *twinDistribution `json:"time_between_chunks"`
	TokensPerChunk    *float64          `json:"tokens_per_chunk"`
	EndToEnd          *twinDistribution `json:"end_to_end"`
	Warnings          []twinWarning     `json:"warnings"`
}

type twinInterval struct {
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Repeats int      `json:"repeats"` // 0: within this run
}

type twinDistribution struct {
	N      int      `json:"n"`
	Median *float64 `json:"median_ms"`
	P90    *float64 `json:"p90_ms"`
	P99    *float64 `json:"p99_ms"`
	Min    *float64 `json:"min_ms"`
	Max    *float64 `json:"max_ms"`
}

type twinWarning struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type twinInstrument struct {
	Streams         int         `json:"streams"`
	InstantP50US    *float64    `json:"instant_p50_us"`
	InstantP99US    *float64    `json:"instant_p99_us"`
	TTFTP50US       *float64    `json:"ttft_p50_us"`
	TTFTP99US       *float64    `json:"ttft_p99_us"`
	BetweenTokensUS *float64    `json:"between_tokens_us"`
	RatePercent     *float64    `json:"rate_percent"`
	CPUPerTokenUS   *float64    `json:"cpu_per_token_us"`
	MergedShare     *float64    `json:"merged_share"`
	Clock           event.Clock `json:"clock"`
}

// NewTwin gives a run's numbers to machines.
func NewTwin(s *summary.Run) Twin {
	r := &s.Facts
	t := Twin{
		Schema: TwinSchema, ID: r.ID, Title: runTitle(s), Started: stamp(r.Started), State: r.State, Simulated: r.Simulated(),
		Hardware: openTable(r.Hardware), Engine: openTable(r.Engine), Model: openTable(r.Model),
		Server: openTable(r.Server), Host: openTable(r.Host), Sources: map[string]string{},
		Tool:     twinTool{r.Tool.Name, r.Tool.Version, r.Tool.Commit, r.Tool.Method, r.Tool.Preset, list(r.Tool.Flags)},
		Method:   newTwinMethod(r),
		Capacity: twinCapacity{r.Capacity.Tokens, r.Capacity.Source, r.Capacity.Limit, r.Capacity.LimitSource},
		Prefill:  []twinPrefill{}, Decode: []twinDecode{}, Instrument: []twinInstrument{}, Warnings: twinWarnings(s.Warnings),
		LaunchCommand: r.Launch.Command, Files: map[string]string{},
	}
	for k, v := range r.Sources {
		t.Sources[k] = string(v)
	}
	for k, v := range r.Files {
		t.Files[k] = v
	}
	for i := range s.Prefill {
		t.Prefill = append(t.Prefill, newTwinPrefill(&s.Prefill[i]))
	}
	for i := range s.Decode {
		t.Decode = append(t.Decode, newTwinDecode(&s.Decode[i]))
	}
	for _, c := range r.Calibration {
		t.Instrument = append(t.Instrument, twinInstrument{
			c.Streams, known(c.InstantP50US), known(c.InstantP99US), known(c.TTFTP50US), known(c.TTFTP99US),
			known(c.BetweenTokensUS), known(c.RatePercent), known(c.CPUPerTokenUS), known(c.MergedShare), c.Clock,
		})
	}
	return t
}

// JSON encodes the twin without spaces, since browsers fetch it, with <, > and & escaped.
func (t Twin) JSON() ([]byte, error) { return json.Marshal(t) }

func newTwinMethod(r *event.Run) twinMethod {
	m := r.Method
	return twinMethod{
		Contexts: list(m.Contexts), Concurrency: list(m.Concurrency), Prefill: list(m.Prefill),
		DurationS: known(m.DurationS), OutputTokens: m.OutputTokens, Prompts: string(m.Prompts), Start: string(m.Start),
		Repeats: m.Repeats, Temperature: known(m.Temperature), Endpoint: m.Endpoint, PromptSizing: m.PromptSizing,
		Dropped: list(m.Dropped), Seed: r.Seed,
	}
}

func newTwinPrefill(c *summary.Cell) twinPrefill {
	return twinPrefill{
		Context: c.Context, Label: c.Label, Status: c.Status, Reason: c.Reason, PromptTokens: c.PromptTokens,
		TokS: num(c.TokS), TTFTMS: num(c.TTFTMS), TTFTKind: kindOf(c), Samples: c.Samples, CachedTokens: c.CachedTokens,
		TokSInterval: newTwinInterval(c.TokSInterval), TTFT: newTwinDistribution(c.TTFT), Warnings: twinWarnings(c.Warnings),
	}
}

func newTwinDecode(c *summary.Cell) twinDecode {
	d := twinDecode{
		Context: c.Context, Label: c.Label, Concurrency: c.Concurrency, Status: c.Status, Reason: c.Reason,
		TokS: num(c.TokS), PerRequestTokS: num(c.PerRequestTokS), TTFTMS: num(c.TTFTMS), TTFTKind: kindOf(c), TTFOMS: num(c.TTFOMS),
		BetweenTokensMS: num(c.BetweenTokensMS), ActiveRequests: num(c.ActiveRequests), ServerActive: num(c.ServerActive),
		CompletedRequests: c.CompletedRequests, FailedRequests: c.FailedRequests, Failures: map[string]int{},
		EarlyStops: c.EarlyStops, Looped: c.Looped, OutputTokens: c.OutputTokens, MeasuredS: num(c.MeasuredS),
		WholeCellTokS: num(c.WholeCellTokS), PerStreamTokS: num(c.PerStreamTokS), ScalingEfficiency: num(c.ScalingEfficiency),
		PromptTokens: c.PromptTokens, CachedTokens: c.CachedTokens, Samples: c.Samples, TokenSource: c.TokenSource, Clock: c.Clock,
		NeededTokens: c.NeededTokens, CapacityTokens: c.CapacityTokens, TokSInterval: newTwinInterval(c.TokSInterval),
		TTFT: newTwinDistribution(c.TTFT), BetweenTokens: newTwinDistribution(c.BetweenTokens),
		BetweenChunks: newTwinDistribution(c.BetweenChunks), TokensPerChunk: num(c.TokensPerChunk),
		EndToEnd: newTwinDistribution(c.EndToEnd), Warnings: twinWarnings(c.Warnings),
	}
	if c.Status == event.Queued {
		d.RanRequests = known(c.RanRequests)
	}
	for _, f := range c.Failures {
		d.Failures[string(f.Kind)] += f.N
	}
	return d
}

func newTwinInterval(i *summary.Interval) *twinInterval {
	if i == nil {
		return nil
	}
	return &twinInterval{known(i.Low), known(i.High), i.Repeats}
}

func newTwinDistribution(d summary.Distribution) *twinDistribution {
	if d.N == 0 {
		return nil
	}
	return &twinDistribution{d.N, num(d.Median), num(d.P90), num(d.P99), num(d.Min), num(d.Max)}
}

func twinWarnings(ws []summary.Warning) []twinWarning {
	out := make([]twinWarning, 0, len(ws))
	for _, w := range ws {
		out = append(out, twinWarning{w.ID, w.Text})
	}
	return out
}

func kindOf(c *summary.Cell) *string {
	if c.TTFTKind == "" || c.TTFTMS == nil {
		return nil
	}
	k := string(c.TTFTKind)
	return &k
}

// openTable copies an open table; a number that is not finite becomes null, since JSON has none.
func openTable(f event.Facts) map[string]any {
	out := map[string]any{}
	for k, v := range f {
		if x, ok := v.(float64); ok && !finite(x) {
			v = nil
		}
		out[k] = v
	}
	return out
}

// num drops numbers that are not finite: JSON has none.
func num(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

func known(v float64) *float64 { return num(&v) }

func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// stamp prints an instant in UTC, as RFC 3339.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
