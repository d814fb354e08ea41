package chart_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"speedmatrix/internal/chart"
)

func figure() chart.Figure {
	return chart.Figure{
		ID: "frontier", Legend: true,
		X: chart.Axis{Name: "per request, tok/s"}, Y: chart.Axis{Name: "total, tok/s", Log: true},
		Series: []chart.Series{
			{Name: "8K", Marks: true, Points: []chart.Point{{X: 155.6, Y: 153.3, Name: "1"}, chart.Break(), {X: 62.25, Y: 7851.5, Name: "128"}}},
			{Name: "16K </script>__f__", Points: []chart.Point{{X: 1.0 / 3, Y: 2}}},
		},
		Window: &chart.Window{Name: "window", From: 0, To: 30},
	}
}

func TestOptionsHoldTheFigure(t *testing.T) {
	raw, err := chart.Options(figure())
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Animation    bool
		XAxis, YAxis []struct{ Name, Type string }
		Tooltip      struct{ RenderMode string }
		Series       []struct {
			Name, Symbol string
			Data         []json.RawMessage
			MarkArea     *struct{ Data [][]map[string]any }
		}
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("animation", o.Animation, false)
	check("tooltip", o.Tooltip.RenderMode, "richText")
	check("x axis", o.XAxis[0].Name+" "+o.XAxis[0].Type, "per request, tok/s value")
	check("y axis", o.YAxis[0].Name+" "+o.YAxis[0].Type, "total, tok/s log")
	check("series", len(o.Series), 2)
	check("named point", string(o.Series[0].Data[0]), `{"name":"1","value":[155.6,153.3]}`)
	check("break", string(o.Series[0].Data[1]), `[null,null]`)
	check("rounded point", string(o.Series[1].Data[0]), `[0.333333,2]`)
	check("window from", o.Series[0].MarkArea.Data[0][0]["xAxis"], 0.0)
	check("window to", o.Series[0].MarkArea.Data[0][1]["xAxis"], 30.0)
	if o.Series[1].MarkArea != nil {
		t.Error("the window is marked twice")
	}
}

func TestOptionsAreSafeInsideAScriptElement(t *testing.T) {
	raw, err := chart.Options(figure())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(raw, "<>&") {
		t.Errorf("options hold <, > or &: %s", raw)
	}
	if !bytes.Contains(raw, []byte(`16K \u003c/script\u003e__f__`)) {
		t.Error("a series name was changed")
	}
	for _, foreign := range []string{"http", "function", "#5470c6"} {
		if bytes.Contains(raw, []byte(foreign)) {
			t.Errorf("options hold %q, which go-echarts adds by itself", foreign)
		}
	}
}

func TestOptionsAreDeterministic(t *testing.T) {
	first, err := chart.Options(figure())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, _ := chart.Options(figure())
		if !bytes.Equal(first, again) {
			t.Fatalf("options differ:\n%s\n%s", first, again)
		}
	}
}

func TestOptionsRefuseWhatWouldDrawNothing(t *testing.T) {
	check := func(name, want string, change func(*chart.Figure)) {
		t.Helper()
		f := figure()
		change(&f)
		_, err := chart.Options(f)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, want)
		}
	}
	nan := math.NaN()
	check("infinite point", "finite numbers or a break", func(f *chart.Figure) { f.Series[1].Points[0].Y = math.Inf(1) })
	check("zero on a log axis", "logarithmic", func(f *chart.Figure) { f.Series[1].Points[0].Y = 0 })
	check("bound that is no number", "finite number or none", func(f *chart.Figure) { f.X.Max = &nan })
	check("window that is no number", "finite numbers", func(f *chart.Figure) { f.Window.To = nan })
	check("id", "lower-case", func(f *chart.Figure) { f.ID = `"x` })
}

func TestEmpty(t *testing.T) {
	check := func(f chart.Figure, want bool) {
		t.Helper()
		if got := f.Empty(); got != want {
			t.Errorf("Empty = %t, want %t", got, want)
		}
	}
	check(figure(), false)
	check(chart.Figure{}, true)
	check(chart.Figure{Series: []chart.Series{{Points: []chart.Point{chart.Break()}}}}, true)
}
