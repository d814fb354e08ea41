package page

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// maxBins bounds the bins of a cell's output over time: a chart is about 700 dots wide, and its table is read by people.
const maxBins = 120

// Curves is charts.json: what the charts with a cell picker fetch when another cell is chosen. Distributions are
// 101 quantiles, not raw events. Numbers have four significant digits: these are for drawing.
type Curves struct {
	Schema int              `json:"schema"`
	Cells  map[string]curve `json:"cells"` // by the cell's anchor
}

type curve struct {
	Label    string        `json:"label"` // "8K × 16"
	TTFT     *quantiles    `json:"ttft,omitempty"`
	Between  *quantiles    `json:"between,omitempty"`
	Timeline *timelineData `json:"timeline,omitempty"`
}

type quantiles struct {
	Kind string `json:"kind,omitempty"`
	N    int    `json:"n"`
	MS   drawn  `json:"ms"` // at 0, 1/100 … 1
}

// timelineData counts its seconds from the start of the window.
type timelineData struct {
	BinS    float64 `json:"bin_s"`
	FromS   float64 `json:"from_s"`
	WindowS float64 `json:"window_s"`
	TokS    drawn   `json:"tok_s"`
}

// drawn are numbers of a chart; they are encoded with drawnDigits.
type drawn []float64

const drawnDigits = 4 // significant

// MarshalJSON writes all numbers at once: a run has ten thousand of them.
func (vs drawn) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 8*len(vs)+2), '[')
	for i, v := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		b = unit.AppendRounded(b, v, drawnDigits)
	}
	return append(b, ']'), nil
}

// Strips is requests.json: single requests of each cell, for the strip chart.
type Strips struct {
	Schema int                  `json:"schema"`
	Cells  map[string]stripData `json:"cells"`
}

// stripData counts its seconds from the start of the window, or of the first request where there is none.
type stripData struct {
	Label   string    `json:"label"`
	WindowS float64   `json:"window_s"`
	Columns []string  `json:"columns"`
	Rows    stripRows `json:"rows"`
}

// stripRows are encoded as lists of stripColumns.
type stripRows []stripSpan

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
	out := Curves{Schema: 1, Cells: map[string]curve{}}
	for i := range s.Decode {
		c := &s.Decode[i]
		v := curve{
			Label: cellLabel(c), TTFT: newQuantiles(c.TTFT, string(c.TTFTKind)), Between: newQuantiles(c.BetweenTokens, ""),
			Timeline: newTimeline(c.Timeline),
		}
		if v.TTFT != nil || v.Between != nil || v.Timeline != nil {
			out.Cells[cellID(c)] = v
		}
	}
	return out
}

// NewStrips gathers the single requests of all decode cells that ran.
func NewStrips(s *summary.Run) Strips {
	out := Strips{Schema: 1, Cells: map[string]stripData{}}
	for i := range s.Decode {
		c := &s.Decode[i]
		if d, ok := newStrip(c); ok {
			out.Cells[cellID(c)] = d
		}
	}
	return out
}

// JSON encodes without spaces: browsers fetch it.
func (c Curves) JSON() ([]byte, error) { return json.Marshal(c) }

// JSON encodes without spaces: browsers fetch it.
func (s Strips) JSON() ([]byte, error) { return json.Marshal(s) }

func newQuantiles(d summary.Distribution, kind string) *quantiles {
	if !hasQuantiles(d) {
		return nil
	}
	return &quantiles{Kind: kind, N: d.N, MS: d.Quantiles}
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
		BinS: float64(t.BinUS) * float64(merge) / 1e6, FromS: seconds(t.StartUS - t.WindowStartUS),
		WindowS: seconds(t.WindowEndUS - t.WindowStartUS),
	}
	for part := range slices.Chunk(bins, merge) {
		var sum float64
		for _, v := range part {
			sum += v
		}
		d.TokS = append(d.TokS, sum/float64(len(part)))
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
	d := stripData{Label: cellLabel(c), Columns: stripColumns}
	zero := c.Strip[0].StartUS
	for _, s := range c.Strip {
		zero = min(zero, s.StartUS)
	}
	if t := c.Timeline; t != nil && t.WindowEndUS > t.WindowStartUS {
		zero, d.WindowS = t.WindowStartUS, seconds(t.WindowEndUS-t.WindowStartUS)
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
		d.Rows = append(d.Rows, v)
	}
	return d, true
}

// MarshalJSON writes all rows at once: a run has five hundred, of eight fields each.
func (rows stripRows) MarshalJSON() ([]byte, error) {
	words := map[string][]byte{} // a handful
	word := func(b []byte, s string) []byte {
		quoted, ok := words[s]
		if !ok {
			quoted, _ = json.Marshal(s) // a string does not fail
			words[s] = quoted
		}
		return append(b, quoted...)
	}
	instant := func(b []byte, v *float64) []byte {
		if v == nil {
			return append(b, "null"...)
		}
		return appendSeconds(b, *v)
	}
	b := []byte{'['}
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(r.stream), 10)
		b = word(append(b, ','), r.stage)
		b = appendSeconds(append(b, ','), r.start)
		b = instant(append(b, ','), r.first)
		b = instant(append(b, ','), r.last)
		b = instant(append(b, ','), r.end)
		b = strconv.AppendInt(append(b, ','), r.tokens, 10)
		b = append(word(append(b, ','), r.outcome), ']')
	}
	return append(b, ']'), nil
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
