package page

import (
	"encoding/json"
	"strconv"

	"speedmatrix/internal/unit"
)

// jsonText is JSON under construction, for the files that hold thousands of numbers: encoding/json looks at each byte again that a part of a value
// has written itself.
type jsonText struct{ b []byte }

// open starts an object ('{') or a list ('[').
func (j *jsonText) open(bracket byte) {
	j.next()
	j.b = append(j.b, bracket)
}

func (j *jsonText) close(bracket byte) { j.b = append(j.b, bracket) }

// next separates a value from the one before it.
func (j *jsonText) next() {
	if n := len(j.b); n > 0 && j.b[n-1] != '{' && j.b[n-1] != '[' && j.b[n-1] != ':' {
		j.b = append(j.b, ',')
	}
}

// key names the value that is added next.
func (j *jsonText) key(name string) {
	j.text(name)
	j.b = append(j.b, ':')
}

func (j *jsonText) text(s string) {
	j.next()
	if plain(s) {
		j.b = append(append(append(j.b, '"'), s...), '"')
		return
	}
	quoted, _ := json.Marshal(s) // a string does not fail
	j.b = append(j.b, quoted...)
}

// plain reports whether nothing of s needs an escape.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

func (j *jsonText) whole(n int64) {
	j.next()
	j.b = strconv.AppendInt(j.b, n, 10)
}

// seconds adds what seconds has returned; null for nil.
func (j *jsonText) seconds(v *float64) {
	j.next()
	if v == nil {
		j.b = append(j.b, "null"...)
		return
	}
	j.b = appendSeconds(j.b, *v)
}

// drawn adds a list of numbers with the digits of a chart.
func (j *jsonText) drawn(vs []float64) {
	j.open('[')
	for _, v := range vs {
		j.next()
		j.b = unit.AppendRounded(j.b, v, drawnDigits)
	}
	j.close(']')
}
