package chart

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"speedmatrix/internal/unit"
)

// Figure is one chart: what is drawn.
type Figure struct {
	ID     string // unique on the page, letters, digits and dashes
	X, Y   Axis
	Series []Series
	Window *Window // marked on the x axis; nil for none
	Legend bool    // false when there is one series
}

// Axis is one direction of a Figure.
type Axis struct {
	Name       string   // with the unit: "TTFT, ms"
	Log        bool     // logarithmic; all values must be above 0
	Categories []string // names of evenly spaced places; points then have X = 0, 1, …; nil for a number axis
	Min, Max   *float64 // nil: chosen by ECharts
	Inverse    bool     // from top to bottom
	Digits     int      // significant digits of its numbers; 0: 6. The exact ones stand in tables
}

func (a Axis) digits() int { return cmp.Or(a.Digits, 6) }

// number encodes a place on the axis.
func (a Axis) number(v float64) json.RawMessage { return unit.AppendRounded(nil, v, a.digits()) }

// Series is one line.
type Series struct {
	Name   string
	Points []Point
	Marks  bool // a symbol at each point, another for each series; without it a plain line
	Thick  bool // a bar-like line: spans of time
	Ticks  bool // a short upright at each point: where spans begin and end
	Step   bool // holds its value until the next point
	Area   bool // filled down to the axis
}

// Point is one place. A point whose X or Y is not a number breaks the line.
type Point struct {
	X, Y float64
	Name string // shown beside the point, e.g. the concurrency; "" for none
}

// Break is the point that interrupts a line.
func Break() Point { return Point{X: math.NaN(), Y: math.NaN()} }

// Window is an interval of the x axis.
type Window struct {
	Name     string
	From, To float64
}

// Empty reports whether there is nothing to draw.
func (f Figure) Empty() bool {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if finite(p.X) && finite(p.Y) {
				return false
			}
		}
	}
	return true
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// check returns all that would draw wrongly or not at all.
func (f Figure) check() error {
	var errs []error
	if !idPattern.MatchString(f.ID) {
		errs = append(errs, fmt.Errorf("chart id %q: want lower-case letters, digits and dashes", f.ID))
	}
	for _, a := range []Axis{f.X, f.Y} {
		for _, v := range []*float64{a.Min, a.Max} {
			if v != nil && !finite(*v) {
				errs = append(errs, fmt.Errorf("chart %q: axis %q has the bound %v: want a finite number or none", f.ID, a.Name, *v))
			}
		}
	}
	if w := f.Window; w != nil && (!finite(w.From) || !finite(w.To)) {
		errs = append(errs, fmt.Errorf("chart %q: window %q is %v to %v: want finite numbers", f.ID, w.Name, w.From, w.To))
	}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if math.IsInf(p.X, 0) || math.IsInf(p.Y, 0) {
				errs = append(errs, fmt.Errorf("chart %q: series %q has the point (%v, %v): want finite numbers or a break", f.ID, s.Name, p.X, p.Y))
				break
			}
			if (f.X.Log && p.X <= 0) || (f.Y.Log && p.Y <= 0) {
				errs = append(errs, fmt.Errorf("chart %q: series %q has the point (%v, %v) on a logarithmic axis: want values above 0", f.ID, s.Name, p.X, p.Y))
				break
			}
		}
	}
	return errors.Join(errs...)
}
