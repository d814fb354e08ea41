package page

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// What is written by hand is what encoding/json writes, hostile text, unknown times and odd numbers included.
func TestStripsAsEncodingJSON(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	s := Strips{Schema: 1, Cells: map[string]stripData{
		"decode-8k-2": {Label: "</script>\"\\ & \u2028 \xff × 2", WindowS: 30, Columns: stripColumns, Rows: []stripSpan{
			{stream: 1, stage: "measure", start: -0.305, first: at(0.2), last: at(12.345), end: at(86400.001), tokens: 512, outcome: "ok"},
			{stream: 2, stage: "<b>", start: math.Copysign(0, -1), tokens: -1, outcome: "it's"},
			{stream: 0, stage: "measure", start: 1.0 / 3, end: at(9e9), outcome: "ok"},
		}},
		"decode-8k-1": {Label: "8K × 1", Columns: stripColumns, Rows: []stripSpan{}},
	}}
	type generic struct {
		Label   string   `json:"label"`
		WindowS float64  `json:"window_s"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}
	cells := map[string]generic{}
	for id, d := range s.Cells {
		g := generic{d.Label, d.WindowS, d.Columns, [][]any{}}
		for _, r := range d.Rows {
			g.Rows = append(g.Rows, []any{r.stream, r.stage, r.start, r.first, r.last, r.end, r.tokens, r.outcome})
		}
		cells[id] = g
	}
	want, err := json.Marshal(map[string]any{"schema": 1, "cells": cells})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	head, tail := []byte(`{"schema":1,"cells":`), []byte(`,"schema":1}`) // encoding/json sorts the keys of a map
	got = append(append([]byte(`{"cells":`), bytes.TrimSuffix(bytes.TrimPrefix(got, head), []byte("}"))...), tail...)
	if !bytes.Equal(got, want) {
		t.Errorf("requests.json is\n%s\nwant\n%s", got, want)
	}
}
