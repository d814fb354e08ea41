package page

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// maxBins bounds the bins of a cell's output over time: a chart is about 700 dots wide, and its table is read by people.
const maxBins = 120

// Curves is charts.json: what the charts with a cell picker fetch when another cell is chosen. Distributions are
// 101 quantiles, not raw events. Numbers have drawnDigits: these are for drawing.
//
//	{"schema": 1, "cells": {"<anchor>": {"label": "8K × 16",
//	  "ttft":     {"kind": "restart", "n": 6, "ms": [at 0, 1/100 … 1]},
//	  "between":  {"n": 64, "ms": [at 0, 1/100 … 1]},
//	  "timeline": {"bin_s": 1, "from_s": -3, "window_s": 30, "tok_s": [of each bin]}}}}
//
// What a cell lacks is left out.
type Curves struct {
	cells map[string]curve // by the cell's anchor
}

type curve struct {
	label         string // "8K × 16"
	ttft, between *quantiles
	timeline      *timelineData
}

type quantiles struct {
	kind string
	n    int
	ms   []float64 // at 0, 1/100 … 1
}

// timelineData counts its seconds from the start of the window.
type timelineData struct {
	binS, fromS, windowS float64
	tokS                 []float64
}

// drawnDigits are the significant digits of what is drawn.
const drawnDigits = 4

// Strips is requests.json: single requests of each cell, for the strip chart.
//
//	{"schema": 1, "cells": {"<anchor>": {"label": "8K × 16", "window_s": 30, "columns": [names], "rows": [[a value a column], …]}}}
type Strips struct {
	cells map[string]stripData
}

// stripData counts its seconds from the start of the window, or of the first request where there is none.
type stripData struct {
	label   string
	windowS float64
	rows    []stripSpan
}

type stripSpan struct {
	stream         int
	stage, outcome string
	start          float64
	first, last    *float64
	end            *float64
	tokens         int64
}

// stripColumns names the fields of a row of requests.json.
var stripColumns = []string{"stream", "stage", "start_s", "first_s", "last_s", "end_s", "tokens", "outcome"}

// cellLabel is "8K × 16".
func cellLabel(c *summary.Cell) string {
	return Clean(c.Label) + " × " + strconv.Itoa(c.Concurrency)
}

// NewCurves gathers the distributions and timelines of all decode cells that ran.
func NewCurves(s *summary.Run) Curves {
	out := Curves{map[string]curve{}}
	for i := range s.Decode {
		c := &s.Decode[i]
		v := curve{
			label: cellLabel(c), ttft: newQuantiles(c.TTFT, string(c.TTFTKind)), between: newQuantiles(c.BetweenTokens, ""),
			timeline: newTimeline(c.Timeline),
		}
		if v.ttft != nil || v.between != nil || v.timeline != nil {
			out.cells[cellID(c)] = v
		}
	}
	return out
}

// NewStrips gathers the single requests of all decode cells that ran.
func NewStrips(s *summary.Run) Strips {
	out := Strips{map[string]stripData{}}
	for i := range s.Decode {
		c := &s.Decode[i]
		if d, ok := newStrip(c); ok {
			out.cells[cellID(c)] = d
		}
	}
	return out
}

// JSON encodes without spaces: browsers fetch it.
func (c Curves) JSON() []byte {
	return byAnchor(c.cells, func(j *jsonText, v curve) {
		j.key("label")
		j.text(v.label)
		v.ttft.write(j, "ttft")
		v.between.write(j, "between")
		v.timeline.write(j, "timeline")
	})
}

// JSON encodes without spaces: browsers fetch it.
func (s Strips) JSON() []byte {
	return byAnchor(s.cells, func(j *jsonText, v stripData) {
		j.key("label")
		j.text(v.label)
		j.key("window_s")
		j.seconds(&v.windowS)
		j.key("columns")
		j.open('[')
		for _, name := range stripColumns {
			j.text(name)
		}
		j.close(']')
		j.key("rows")
		j.open('[')
		for i := range v.rows {
			v.rows[i].write(j)
		}
		j.close(']')
	})
}

// byAnchor encodes an object for each cell, in the order of their anchors.
func byAnchor[T any](cells map[string]T, write func(*jsonText, T)) []byte {
	j := jsonText{make([]byte, 0, 64<<10)}
	j.open('{')
	j.key("schema")
	j.whole(1)
	j.key("cells")
	j.open('{')
	for _, id := range slices.Sorted(maps.Keys(cells)) {
		j.key(id)
		j.open('{')
		write(&j, cells[id])
		j.close('}')
	}
	j.close('}')
	j.close('}')
	return j.b
}

func (q *quantiles) write(j *jsonText, key string) {
	if q == nil {
		return
	}
	j.key(key)
	j.open('{')
	if q.kind != "" {
		j.key("kind")
		j.text(q.kind)
	}
	j.key("n")
	j.whole(int64(q.n))
	j.key("ms")
	j.drawn(q.ms)
	j.close('}')
}

func (t *timelineData) write(j *jsonText, key string) {
	if t == nil {
		return
	}
	j.key(key)
	j.open('{')
	j.key("bin_s")
	j.seconds(&t.binS)
	j.key("from_s")
	j.seconds(&t.fromS)
	j.key("window_s")
	j.seconds(&t.windowS)
	j.key("tok_s")
	j.drawn(t.tokS)
	j.close('}')
}

func (r *stripSpan) write(j *jsonText) {
	j.open('[')
	j.whole(int64(r.stream))
	j.text(r.stage)
	j.seconds(&r.start)
	j.seconds(r.first)
	j.seconds(r.last)
	j.seconds(r.end)
	j.whole(r.tokens)
	j.text(r.outcome)
	j.close(']')
}

func newQuantiles(d summary.Distribution, kind string) *quantiles {
	if !hasQuantiles(d) {
		return nil
	}
	return &quantiles{kind, d.N, d.Quantiles}
}

func hasQuantiles(d summary.Distribution) bool {
	return d.N > 0 && len(d.Quantiles) > 0 && allFinite(d.Quantiles)
}

func allFinite(vs []float64) bool {
	for _, v := range vs {
		if !finite(v) {
			return false
		}
	}
	return true
}

// hasTimeline reports whether there is something to draw.
func hasTimeline(t *summary.Timeline) bool {
	return t != nil && t.BinUS > 0 && len(t.TokS) > 0 && t.WindowEndUS > t.WindowStartUS && allFinite(wholeBins(t))
}

func newTimeline(t *summary.Timeline) *timelineData {
	if !hasTimeline(t) {
		return nil
	}
	bins := wholeBins(t)
	merge := (len(bins) + maxBins - 1) / maxBins
	d := &timelineData{
		binS: float64(t.BinUS) * float64(merge) / 1e6, fromS: seconds(t.StartUS - t.WindowStartUS),
		windowS: seconds(t.WindowEndUS - t.WindowStartUS),
	}
	for part := range slices.Chunk(bins, merge) {
		var sum float64
		for _, v := range part {
			sum += v
		}
		d.tokS = append(d.tokS, sum/float64(len(part)))
	}
	return d
}

// wholeBins drops the last bin where it reaches beyond the window: the load was taken off somewhere within it, so that its
// rate would look like a drop of the server.
func wholeBins(t *summary.Timeline) []float64 {
	last := len(t.TokS) - 1
	if last > 0 && t.StartUS+int64(last+1)*t.BinUS > t.WindowEndUS {
		return t.TokS[:last]
	}
	return t.TokS
}

func newStrip(c *summary.Cell) (stripData, bool) {
	if len(c.Strip) == 0 {
		return stripData{}, false
	}
	d := stripData{label: cellLabel(c), rows: make([]stripSpan, 0, len(c.Strip))}
	zero := c.Strip[0].StartUS
	for _, s := range c.Strip {
		zero = min(zero, s.StartUS)
	}
	if t := c.Timeline; t != nil && t.WindowEndUS > t.WindowStartUS {
		zero, d.windowS = t.WindowStartUS, seconds(t.WindowEndUS-t.WindowStartUS)
	}
	at := func(us *int64) *float64 {
		if us == nil {
			return nil
		}
		s := seconds(*us - zero)
		return &s
	}
	for _, s := range c.Strip {
		v := stripSpan{
			stream: s.Stream, stage: Clean(string(s.Stage)), outcome: Clean(string(s.Outcome)), start: seconds(s.StartUS - zero),
			first: at(s.FirstUS), last: at(s.LastUS), end: at(s.EndUS), tokens: s.Tokens,
		}
		d.rows = append(d.rows, v)
	}
	return d, true
}

// seconds turns microseconds into seconds, to the millisecond.
func seconds(us int64) float64 { return math.Round(float64(us)/1e3) / 1e3 }

// appendSeconds writes what seconds has returned.
func appendSeconds(b []byte, v float64) []byte {
	if ms := math.Round(v * 1e3); ms >= 0 && ms < 1e15 {
		return unit.AppendDecimal(b, int64(ms), 3)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}
