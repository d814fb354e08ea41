package page

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"speedmatrix/internal/decimal"
)

// JSON encodes without spaces: browsers fetch it. It is written here, as encoding/json would: a run has five hundred rows of eight fields each, and
// encoding/json looks at each byte of a MarshalJSON a second time.
func (s Strips) JSON() ([]byte, error) {
	w := stripWriter{words: map[string][]byte{}}
	w.raw(`{"schema":`)
	w.b = strconv.AppendInt(w.b, int64(s.Schema), 10)
	w.raw(`,"cells":{`)
	for i, id := range slices.Sorted(maps.Keys(s.Cells)) {
		if i > 0 {
			w.raw(",")
		}
		w.word(id)
		w.raw(":")
		w.cell(s.Cells[id])
	}
	w.raw("}}")
	return w.b, nil
}

// stripWriter is requests.json under construction.
type stripWriter struct {
	b     []byte
	words map[string][]byte // as JSON strings; beside the names of cells there is a handful
}

func (w *stripWriter) raw(s string) { w.b = append(w.b, s...) }

func (w *stripWriter) cell(d stripData) {
	w.raw(`{"label":`)
	w.word(d.Label)
	w.raw(`,"window_s":`)
	w.number(d.WindowS)
	w.raw(`,"columns":[`)
	for i, name := range d.Columns {
		if i > 0 {
			w.raw(",")
		}
		w.word(name)
	}
	w.raw(`],"rows":[`)
	for i, r := range d.Rows {
		if i > 0 {
			w.raw(",")
		}
		w.row(r)
	}
	w.raw("]}")
}

func (w *stripWriter) row(r stripSpan) {
	w.b = strconv.AppendInt(append(w.b, '['), int64(r.stream), 10)
	w.raw(",")
	w.word(r.stage)
	w.raw(",")
	w.number(r.start)
	for _, v := range []*float64{r.first, r.last, r.end} {
		w.raw(",")
		if v == nil {
			w.raw("null")
		} else {
			w.number(*v)
		}
	}
	w.b = strconv.AppendInt(append(w.b, ','), r.tokens, 10)
	w.raw(",")
	w.word(r.outcome)
	w.raw("]")
}

// word adds a JSON string.
func (w *stripWriter) word(s string) {
	quoted, ok := w.words[s]
	if !ok {
		quoted, _ = json.Marshal(s) // a string does not fail
		w.words[s] = quoted
	}
	w.b = append(w.b, quoted...)
}

// number adds seconds, which are whole microseconds rounded to the millisecond: finite, and in need of no exponent.
func (w *stripWriter) number(v float64) {
	var short bool
	if w.b, short = decimal.Append(w.b, v); !short {
		w.b = strconv.AppendFloat(w.b, v, 'f', -1, 64)
	}
}
