// Package seedtest gives tests the reference page of this project: the text of a page that an older tool made, and the
// same figures as summary values, read from that text. Only tests import it.
//
// The figures are printed ones, so they are as precise as the page shows them ("33.5K" is 33,500). Synthetic adds what that
// page does not have (distributions, timelines, single requests); its values are made up and say so.
package seedtest

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// Text is the reference page as text.
//
//go:embed speed-test-matrix.txt
var Text string

const (
	k             = 1024
	outputTokens  = 4096
	capacity      = 1572864 // chosen so that exactly the ten cells of the page are over it
	contextsLimit = 131072
)

// Rows returns the 46 lines of "All measurements", split into their twelve cells.
func Rows() [][]string {
	var out [][]string
	for line := range strings.Lines(Text) {
		if strings.HasPrefix(line, "| Prefill |") || strings.HasPrefix(line, "| Sustained decode |") {
			out = append(out, cells(line))
		}
	}
	return out
}

// Matrix returns the lines of the decode table: context, then one text a cell, as in "153.3127 ms TTFT", where value and TTFT stand
// against each other.
func Matrix() [][]string {
	var out [][]string
	for line := range strings.Lines(Text) {
		if c := cells(line); len(c) == 9 && strings.HasSuffix(c[0], "K") {
			out = append(out, c)
		}
	}
	return out
}

// Bars returns the lines of the prefill chart: label, rate, TTFT.
func Bars() [][3]string {
	var out [][3]string
	for line := range strings.Lines(Text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "prompt tok/s by context length")
		label, rest, ok := strings.Cut(line, " context")
		if !ok || !strings.HasSuffix(rest, " TTFT") {
			continue
		}
		// The rate ends in K, or before the digits of the TTFT: the longest rate with a well-formed comma is the right one.
		rest = strings.TrimSuffix(rest, " TTFT")
		cut := strings.IndexByte(rest, 'K') + 1
		if cut == 0 {
			cut = len("6,714")
		}
		out = append(out, [3]string{label + " context", rest[:cut], rest[cut:]})
	}
	return out
}

func cells(line string) []string {
	line = strings.Trim(strings.TrimSpace(line), "|")
	parts := strings.Split(line, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// Run returns the figures of the reference page.
func Run() summary.Run {
	run := summary.Run{Facts: facts(), Title: "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB"}
	for _, row := range Rows() {
		c := cell(row)
		if c.Phase == event.Prefill {
			run.Prefill = append(run.Prefill, c)
		} else {
			run.Decode = append(run.Decode, c)
		}
	}
	return run
}

func cell(row []string) summary.Cell {
	context, _ := strconv.Atoi(strings.TrimSuffix(row[1], "K"))
	concurrency, _ := strconv.Atoi(row[2])
	total := int64(capacity)
	c := summary.Cell{
		Phase: event.Decode, Context: context * k, Label: row[1], Concurrency: concurrency, Status: event.Valid,
		TokS: number(row[4]), PerRequestTokS: number(row[5]), TTFTMS: number(row[6]), BetweenTokensMS: number(row[7]),
		ActiveRequests: number(row[8]), CompletedRequests: whole[int](row[9]), OutputTokens: whole[int64](row[10]),
		MeasuredS: number(row[11]), TTFTKind: summary.Restart,
	}
	switch {
	case row[0] == "Prefill":
		c.Phase, c.TTFTKind = event.Prefill, summary.Cold
	default:
		c.NeededTokens, c.CapacityTokens = int64(concurrency*(context*k+outputTokens)), &total
	}
	if row[3] == "Over capacity" {
		c.Status, c.TTFTKind = event.OverCapacity, ""
		c.Reason = fmt.Sprintf("needs %d tokens of KV cache, the server has %d", c.NeededTokens, total)
	}
	return c
}

// number reads "1,164.3", "33.5K" or "245 ms"; nil for a dash.
func number(s string) *float64 {
	s, _, _ = strings.Cut(s, " ")
	scale := 1.0
	if strings.HasSuffix(s, "K") {
		s, scale = strings.TrimSuffix(s, "K"), 1000
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return nil
	}
	v = math.Round(v*scale*10) / 10
	return &v
}

func whole[T ~int | ~int64](s string) *T {
	v := number(s)
	if v == nil {
		return nil
	}
	n := T(*v)
	return &n
}

func facts() event.Run {
	tokens, limit := int64(capacity), int64(contextsLimit)
	return event.Run{
		Schema: event.Schema, ID: "20261201t101500z-gemma-4-e2b-it-rtx-pro-6000-sglang-1a2b3c4d", State: event.Complete,
		Started: time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC), Seed: 1,
		Tool: event.Tool{Name: "llm-inference-bench", Version: "0.7.6", Method: 1, Preset: "llm-inference-bench",
			Flags: []string{"--url", "http://localhost:8000/v1", "--preset", "llm-inference-bench"}},
		Hardware: event.Facts{"type": "Discrete GPU", "gpu": "RTX PRO 6000 Blackwell Server Edition", "vram_gb": int64(96), "os": "linux"},
		Engine: event.Facts{"name": "sglang", "version": "0.5.22.dev236+g1093c501d", "quantization": "BF16", "backend": "cuda",
			"repository": "github.com/sgl-project/sglang", "build": "cuda-13.2", "commit": "1093c501dfef"},
		Model:   event.Facts{"served": "gemma", "id": "google/gemma-4-E2B-it", "revision": "main"},
		Server:  event.Facts{"prefill_mode": "Measured during decode warm-up"},
		Sources: map[string]event.Source{"hardware.gpu": event.FromProbe, "engine.version": event.FromServer, "model.revision": event.FromUser},
		Method: event.Method{
			Contexts: []int{8 * k, 16 * k, 32 * k, 64 * k, 123 * k}, Concurrency: []int{1, 2, 4, 8, 16, 32, 64, 128},
			Prefill:   []int{8 * k, 16 * k, 32 * k, 64 * k, 123 * k, 128 * k},
			DurationS: 30, OutputTokens: outputTokens, Prompts: event.Shared, Start: event.Together, Repeats: 1, Endpoint: "chat",
		},
		Capacity: event.Capacity{Tokens: &tokens, Source: "max_total_num_tokens", Limit: &limit, LimitSource: "--context-length"},
		Launch:   event.Launch{Command: launch(), Source: event.FromUser},
	}
}

// launch is the reference page's launch command.
func launch() string {
	_, rest, _ := strings.Cut(Text, "Launch command\n")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
