package chart

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"speedmatrix/internal/unit"
)

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// symbols tell series apart without colour, in this order.
var symbols = []string{"circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow"}

// dashes tell lines without symbols apart, in this order.
var dashes = []string{"solid", "dashed", "dotted"}

// options are ECharts options of a figure: the parts that figures use, in the order of their names. go-echarts has the types of the parts; its own charts fill in all of
// their defaults by reflection, in a third of the time that a chart takes.
type options struct {
	Animation bool         `json:"animation"`
	Grid      []opts.Grid  `json:"grid"`
	Legend    opts.Legend  `json:"legend"`
	Series    []series     `json:"series"`
	Tooltip   tooltip      `json:"tooltip"`
	XAxis     []opts.XAxis `json:"xAxis"`
	YAxis     []opts.YAxis `json:"yAxis"`
}

// series is one line: of the hundred fields that go-echarts has for all kinds of series those that figures use.
type series struct {
	Name         string          `json:"name"`
	Type         string          `json:"type"`
	Step         string          `json:"step,omitempty"`
	ConnectNulls bool            `json:"connectNulls"`
	ShowSymbol   bool            `json:"showSymbol"`
	Symbol       string          `json:"symbol"`
	SymbolSize   any             `json:"symbolSize,omitempty"`
	Data         points          `json:"data"`
	Animation    bool            `json:"animation"`
	MarkArea     *markArea       `json:"markArea,omitempty"`
	Label        *opts.Label     `json:"label,omitempty"`
	LineStyle    opts.LineStyle  `json:"lineStyle"`
	AreaStyle    *opts.AreaStyle `json:"areaStyle,omitempty"`
}

// markArea marks stretches of the x axis, each by its two ends.
type markArea struct {
	Data  [][]opts.MarkAreaData `json:"data"`
	Label opts.Label            `json:"label"`
}

// tooltip asks for one that needs no inline style, which go-echarts has no field for.
type tooltip struct {
	Confine    bool   `json:"confine"`
	RenderMode string `json:"renderMode"`
	Show       bool   `json:"show"`
	Trigger    string `json:"trigger"`
}

// Options encodes a figure as ECharts options. It refuses a figure that would draw wrongly, with all its mistakes.
func Options(f Figure) (json.RawMessage, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	o := options{
		Grid:    []opts.Grid{{Left: "8", Right: "24", Top: gridTop(f), Bottom: "28"}},
		Legend:  opts.Legend{Show: opts.Bool(f.Legend), Type: "scroll", Top: "0", Left: "0"},
		Series:  make([]series, 0, len(f.Series)),
		Tooltip: tooltip{Confine: true, RenderMode: "richText", Show: true, Trigger: "item"},
		XAxis:   []opts.XAxis{xAxis(f.X)},
		YAxis:   []opts.YAxis{yAxis(f.Y)},
	}
	for i, s := range f.Series {
		o.Series = append(o.Series, newSeries(f, s, i))
	}
	return encode(o)
}

func gridTop(f Figure) string {
	if f.Legend {
		return "64"
	}
	return "36"
}

func xAxis(a Axis) opts.XAxis {
	x := opts.XAxis{Name: a.Name, Type: axisType(a), NameLocation: "middle", NameGap: 30, Scale: opts.Bool(a.Log), Min: bound(a.Min), Max: bound(a.Max)}
	if a.Categories != nil {
		x.Data = a.Categories
	}
	return x
}

func yAxis(a Axis) opts.YAxis {
	y := opts.YAxis{Name: a.Name, Type: axisType(a), NameLocation: "end", Min: bound(a.Min), Max: bound(a.Max)}
	if a.Inverse {
		y.Inverse, y.NameLocation = opts.Bool(true), "start"
	}
	if a.Categories != nil {
		y.Data = a.Categories
	}
	return y
}

func axisType(a Axis) string {
	switch {
	case a.Categories != nil:
		return "category"
	case a.Log:
		return "log"
	}
	return "value"
}

// bound keeps a nil pointer a nil interface, which is left out.
func bound(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// newSeries is the i-th series of a figure.
func newSeries(f Figure, s Series, i int) series {
	out := series{
		Name: s.Name, Type: types.ChartLine, ShowSymbol: s.Marks || s.Ticks, Symbol: "none",
		Data: points{s.Points, f.X.digits(), f.Y.digits()}, LineStyle: opts.LineStyle{Width: 2},
	}
	switch {
	case s.Marks:
		out.Symbol, out.SymbolSize = symbols[i%len(symbols)], 8
	case s.Ticks:
		out.Symbol, out.SymbolSize = "rect", [2]int{2, 11}
	}
	switch {
	case s.Thick:
		out.LineStyle.Width = 5
	case !s.Marks:
		out.LineStyle.Type = dashes[i%len(dashes)]
	}
	if s.Step {
		out.Step = "end"
	}
	if s.Area {
		out.AreaStyle = &opts.AreaStyle{Opacity: opts.Float(0.15)}
	}
	if named(s.Points) {
		out.Label = &opts.Label{Show: opts.Bool(true), Position: "right", Formatter: "{b}"}
	}
	if f.Window != nil && i == 0 {
		ends := []opts.MarkAreaData{{Name: f.Window.Name, XAxis: f.X.number(f.Window.From)}, {XAxis: f.X.number(f.Window.To)}}
		out.MarkArea = &markArea{[][]opts.MarkAreaData{ends}, opts.Label{Show: opts.Bool(true), Position: "top"}}
	}
	return out
}

func named(ps []Point) bool {
	for _, p := range ps {
		if p.Name != "" {
			return true
		}
	}
	return false
}

// points are encoded as [x, y], or with their name as {name, value}; a break is [null, null].
type points struct {
	places []Point
	x, y   int // digits of a number
}

// MarshalJSON writes all points at once: a page has a thousand.
func (ps points) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 16*len(ps.places)+2), '[')
	for i, p := range ps.places {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case !finite(p.X) || !finite(p.Y):
			b = append(b, "[null,null]"...)
		case p.Name != "":
			name, err := json.Marshal(p.Name)
			if err != nil {
				return nil, err
			}
			b = append(append(append(b, `{"name":`...), name...), `,"value":`...)
			b = append(ps.appendPair(b, p), '}')
		default:
			b = ps.appendPair(b, p)
		}
	}
	return append(b, ']'), nil
}

func (ps points) appendPair(b []byte, p Point) []byte {
	b = unit.AppendRounded(append(b, '['), p.X, ps.x)
	return append(unit.AppendRounded(append(b, ','), p.Y, ps.y), ']')
}

// encode writes JSON with <, > and & escaped.
func encode(o options) (json.RawMessage, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode chart options: %w", err)
	}
	return b, nil
}
