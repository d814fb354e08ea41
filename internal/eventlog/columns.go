package eventlog

import (
	"fmt"
	"math"
	"strings"

	"speedmatrix/internal/event"
)

// requestRow is one row of requests.parquet, schema 1. The names, types and order of the fields are the file's
// columns, held by testdata/v1/columns.txt: never change them without a new schema version.
type requestRow struct {
	Cell         int32   `parquet:"cell,delta"`
	Repeat       int32   `parquet:"repeat,delta"`
	Stream       int32   `parquet:"stream,delta"`
	Ordinal      int32   `parquet:"ordinal,delta"`
	Stage        string  `parquet:"stage,dict"`
	ScheduledUS  *int64  `parquet:"scheduled_us,optional"`
	StartUS      int64   `parquet:"start_us,delta"`
	ConnectUS    *int64  `parquet:"connect_us,optional"`
	HeadersUS    *int64  `parquet:"headers_us,optional"`
	VisibleUS    *int64  `parquet:"visible_us,optional"`
	ChunkUS      []int64 `parquet:"chunk_us,list" parquet-element:",delta"`
	ChunkTokens  []int32 `parquet:"chunk_tokens,list" parquet-element:",delta"`
	EndUS        *int64  `parquet:"end_us,optional"`
	Clock        string  `parquet:"clock,dict"`
	AskedTokens  int32   `parquet:"asked_tokens,delta"`
	PromptSHA    string  `parquet:"prompt_sha,dict"`
	PromptTokens *int32  `parquet:"prompt_tokens,optional"`
	CachedTokens *int32  `parquet:"cached_tokens,optional"`
	OutputTokens *int32  `parquet:"output_tokens,optional"`
	TokenSource  string  `parquet:"token_source,dict"`
	FinishReason *string `parquet:"finish_reason,optional,dict"`
	HTTPStatus   *int32  `parquet:"http_status,optional"`
	Error        *string `parquet:"error,optional,dict"`
	Looped       bool    `parquet:"looped"`
	Void         bool    `parquet:"void"`
	Outcome      string  `parquet:"outcome,dict"`
}

// sampleRow is one row of samples.parquet, schema 1.
type sampleRow struct {
	AtUS   int64   `parquet:"at_us,delta"`
	Cell   int32   `parquet:"cell,delta"`
	Repeat int32   `parquet:"repeat,delta"`
	Source string  `parquet:"source,dict"`
	Metric string  `parquet:"metric,dict"`
	Labels string  `parquet:"labels,dict"`
	Value  float64 `parquet:"value"`
}

func rowOfRequest(r *event.Request) requestRow {
	return requestRow{
		Cell: r.Cell, Repeat: r.Repeat, Stream: r.Stream, Ordinal: r.Ordinal, Stage: text(string(r.Stage)),
		ScheduledUS: r.ScheduledUS, StartUS: r.StartUS, ConnectUS: r.ConnectUS, HeadersUS: r.HeadersUS,
		VisibleUS: r.VisibleUS, ChunkUS: r.ChunkUS, ChunkTokens: r.ChunkTokens, EndUS: r.EndUS, Clock: text(string(r.Clock)),
		AskedTokens: r.AskedTokens, PromptSHA: text(r.PromptSHA), PromptTokens: r.PromptTokens,
		CachedTokens: r.CachedTokens, OutputTokens: r.OutputTokens, TokenSource: text(string(r.TokenSource)),
		FinishReason: optText(r.FinishReason), HTTPStatus: r.HTTPStatus, Error: optText(r.Error),
		Looped: r.Looped, Void: r.Void, Outcome: text(string(r.Outcome)),
	}
}

func rowOfSample(s *event.Sample) sampleRow {
	return sampleRow{
		AtUS: s.AtUS, Cell: s.Cell, Repeat: s.Repeat,
		Source: text(s.Source), Metric: text(s.Metric), Labels: text(s.Labels), Value: s.Value,
	}
}

// text makes a string of the server valid UTF-8, which parquet's STRING demands and DuckDB enforces.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func optText(s *string) *string {
	if s == nil {
		return nil
	}
	t := text(*s)
	return &t
}

// Bounds of single values. They are far beyond what a server can do, and keep sums of a whole run inside int64.
const (
	maxUS     = int64(1) << 50 // 35 years
	maxTokens = int32(1) << 30
	maxText   = 64 << 10 // bytes of one string
)

// checkRequest refuses a row that no measurement can have made. Implausible values are package check's business.
func checkRequest(r *event.Request) error {
	if err := checkRow(r); err != nil {
		return err
	}
	if err := checkLists(r); err != nil {
		return err
	}
	return checkChunks(r)
}

// checkLists refuses lists of chunks that do not belong together.
func checkLists(r *event.Request) error {
	if len(r.ChunkUS) != len(r.ChunkTokens) {
		return fmt.Errorf("chunk_us has %d values and chunk_tokens %d: they must be equal", len(r.ChunkUS), len(r.ChunkTokens))
	}
	return nil
}

// checkRow is checkRequest without the lists.
func checkRow(r *event.Request) error {
	switch {
	case r.Cell < 0 || r.Repeat < 0 || r.Stream < 0 || r.Ordinal < 0:
		return fmt.Errorf("cell %d, repeat %d, stream %d, ordinal %d: none may be negative", r.Cell, r.Repeat, r.Stream, r.Ordinal)
	case r.AskedTokens < 0 || r.AskedTokens > maxTokens:
		return fmt.Errorf("asked_tokens %d is out of bounds", r.AskedTokens)
	}
	instants := []struct {
		name string
		us   *int64
	}{
		{"scheduled_us", r.ScheduledUS}, {"start_us", &r.StartUS}, {"connect_us", r.ConnectUS},
		{"headers_us", r.HeadersUS}, {"visible_us", r.VisibleUS}, {"end_us", r.EndUS},
	}
	for _, i := range instants {
		if i.us != nil && (*i.us < 0 || *i.us > maxUS) {
			return fmt.Errorf("%s %d is out of bounds", i.name, *i.us)
		}
	}
	counts := []struct {
		name string
		n    *int32
	}{{"prompt_tokens", r.PromptTokens}, {"cached_tokens", r.CachedTokens}, {"output_tokens", r.OutputTokens}}
	for _, c := range counts {
		if c.n != nil && (*c.n < 0 || *c.n > maxTokens) {
			return fmt.Errorf("%s %d is out of bounds", c.name, *c.n)
		}
	}
	return checkWords(r)
}

// checkChunks names the first instant or token count that is out of bounds. The lists are of one length.
func checkChunks(r *event.Request) error {
	for i, v := range r.ChunkUS {
		if n := r.ChunkTokens[i]; v < 0 || v >= maxUS || n < 0 || n >= maxTokens {
			return fmt.Errorf("chunk %d: chunk_us %d or chunk_tokens %d is out of bounds", i, v, n)
		}
	}
	return nil
}

// checkWords refuses words that this schema version does not have. Outcomes are open: a later release may tell more kinds.
func checkWords(r *event.Request) error {
	switch r.Stage {
	case event.Scout, event.Warmup, event.InWindow, event.Probe:
	default:
		return fmt.Errorf("stage %q is not one of scout, warmup, window, probe", r.Stage)
	}
	switch r.Clock {
	case event.Kernel, event.Process:
	default:
		return fmt.Errorf("clock %q is not one of kernel, process", r.Clock)
	}
	switch r.TokenSource {
	case event.UsagePerChunk, event.UsageFinal, event.ByChunks, event.UnknownTokens:
	default:
		return fmt.Errorf("token_source %q is not one of usage-per-chunk, usage-final, chunks, unknown", r.TokenSource)
	}
	if r.Outcome == "" || len(r.Outcome) > 40 || strings.Trim(string(r.Outcome), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("outcome %q is not a lower-case word", r.Outcome)
	}
	return nil
}

func checkSample(s *event.Sample) error {
	switch {
	case s.Cell < 0 || s.Repeat < 0:
		return fmt.Errorf("cell %d, repeat %d: neither may be negative", s.Cell, s.Repeat)
	case s.AtUS < 0 || s.AtUS > maxUS:
		return fmt.Errorf("at_us %d is out of bounds", s.AtUS)
	case math.IsNaN(s.Value) || math.IsInf(s.Value, 0):
		return fmt.Errorf("value %v is not a finite number", s.Value)
	}
	return nil
}
