package page

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"speedmatrix/internal/summary"
)

// csvHeader is the first line of cells.csv. Names are those of run.json; new columns are added at the end only.
var csvHeader = []string{
	"phase", "context", "label", "concurrency", "status", "reason", "tok_s", "per_request_tok_s", "ttft_ms", "ttft_kind",
	"time_between_tokens_ms", "active_requests", "completed_requests", "failed_requests", "output_tokens", "measured_s",
	"samples", "prompt_tokens", "cached_tokens", "needed_tokens", "capacity_tokens", "ttft_n", "ttft_p90_ms", "ttft_p99_ms",
	"time_between_tokens_n", "time_between_tokens_p90_ms", "time_between_tokens_p99_ms", "tok_s_low", "tok_s_high",
	"scaling_efficiency", "warnings",
}

// CellsCSV is cells.csv: one line a cell, prefill first, numbers unrounded, empty where there is none.
func CellsCSV(s *summary.Run) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(csvHeader) // a bytes.Buffer does not fail
	for _, cells := range [][]summary.Cell{s.Prefill, s.Decode} {
		for i := range cells {
			_ = w.Write(csvRecord(&cells[i]))
		}
	}
	w.Flush()
	return b.Bytes()
}

func csvRecord(c *summary.Cell) []string {
	var low, high *float64
	if c.TokSInterval != nil {
		low, high = &c.TokSInterval.Low, &c.TokSInterval.High
	}
	var ids []string
	for _, w := range c.Warnings {
		ids = append(ids, w.ID)
	}
	kind := ""
	if k := kindOf(c); k != nil {
		kind = *k
	}
	return []string{
		csvText(string(c.Phase)), strconv.Itoa(c.Context), csvText(c.Label), strconv.Itoa(c.Concurrency),
		csvText(string(c.Status)), csvText(c.Reason), csvNumber(c.TokS), csvNumber(c.PerRequestTokS), csvNumber(c.TTFTMS), csvText(kind),
		csvNumber(c.BetweenTokensMS), csvNumber(c.ActiveRequests), csvWhole(c.CompletedRequests), csvWhole(c.FailedRequests),
		csvWhole(c.OutputTokens), csvNumber(c.MeasuredS), strconv.Itoa(c.Samples), csvWhole(c.PromptTokens), csvWhole(c.CachedTokens),
		strconv.FormatInt(c.NeededTokens, 10), csvWhole(c.CapacityTokens),
		strconv.Itoa(c.TTFT.N), csvNumber(c.TTFT.P90), csvNumber(c.TTFT.P99),
		strconv.Itoa(c.BetweenTokens.N), csvNumber(c.BetweenTokens.P90), csvNumber(c.BetweenTokens.P99),
		csvNumber(low), csvNumber(high), csvNumber(c.ScalingEfficiency), csvText(strings.Join(ids, " ")),
	}
}

// csvText guards a spreadsheet: text that it would take for a formula is preceded by an apostrophe.
func csvText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func csvNumber(v *float64) string {
	if v = num(v); v == nil {
		return ""
	}
	return raw(*v)
}

func csvWhole[T ~int | ~int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}
