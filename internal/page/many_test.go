package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/compare"
	"speedmatrix/internal/event"
	"speedmatrix/internal/page"
	"speedmatrix/internal/summary"
)

// measured is a complete run of one version with one decode cell, on a day of January 2026.
func measured(id, version string, day int, rate float64, change func(*summary.Run)) page.Listed {
	each := rate / 4
	s := summary.Run{Title: "m on g", Facts: event.Run{
		ID: id, Started: time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC), State: event.Complete,
		Tool:   event.Tool{Name: "speedmatrix", Method: 1},
		Method: event.Method{Prompts: event.PerStream, Start: event.Staggered, OutputTokens: 4096},
		Engine: event.Facts{"name": "e", "version": version}, Model: event.Facts{"id": "m"}, Hardware: event.Facts{"gpu": "g"},
	}, Decode: []summary.Cell{{
		Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 4, Status: event.Valid, TokS: &rate, PerRequestTokS: &each, TokenSource: event.UsagePerChunk,
	}}}
	if change != nil {
		change(&s)
	}
	return page.Listed{Entry: page.NewEntry(&s), Compared: compare.Of(&s)}
}

func newestFirst(all ...page.Listed) []page.Listed {
	slices.SortFunc(all, func(a, b page.Listed) int { return b.Entry.Started.Compare(a.Entry.Started) })
	return all
}

// Runs of another method are a group of their own: not the best, the median, the trend or the predecessor of others; and pages say
// what of the method differs.
func TestMethodsAreNotMixed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*summary.Run)
		mine   string // what tells the ordinary runs
		theirs string
	}{
		"prompts":  {func(s *summary.Run) { s.Facts.Method.Prompts = event.Shared }, "per-stream prompts", "shared prompts"},
		"start":    {func(s *summary.Run) { s.Facts.Method.Start = event.Together }, "staggered start", "together start"},
		"output":   {func(s *summary.Run) { s.Facts.Method.OutputTokens = 1 }, "4096 output tokens", "1 output tokens"},
		"counting": {func(s *summary.Run) { s.Decode[0].TokenSource = event.ByChunks }, "tokens counted by the server", "tokens counted one a chunk, an estimate"},
		"version":  {func(s *summary.Run) { s.Facts.Tool.Method = 2 }, "method version 1", "method version 2"},
	} {
		all := newestFirst(measured("a", "1", 1, 100, nil), measured("b", "1", 2, 900, c.change), measured("c", "2", 3, 150, nil), measured("d", "2", 4, 910, c.change))
		trends, err := page.NewTrends(all, page.Names{}, page.Site{})
		if err != nil {
			t.Fatal(err)
		}
		trend := trends[1].Model.(page.Trend)
		if len(trend.Groups) != 2 || trend.Groups[0].Best.Text != "910.0" || trend.Groups[1].Best.Text != "150.0" || trend.Groups[1].Median.Text != "125.0" {
			t.Fatalf("%s: groups %+v", name, trend.Groups)
		}
		if g := trend.Groups; g[0].Method != c.theirs || g[1].Method != c.mine {
			t.Errorf("%s: groups are told apart by %q and %q, want %q and %q", name, g[0].Method, g[1].Method, c.theirs, c.mine)
		}
		if len(trend.Lines) != 2 {
			t.Fatalf("%s: %d lines", name, len(trend.Lines))
		}
		for _, l := range trend.Lines {
			if len(l.Points) != 2 || strings.Contains(l.Points[1].Change, ":") {
				t.Errorf("%s: %s has the points %+v", name, l.Title, l.Points)
			}
			if !strings.Contains(l.Title, c.mine) && !strings.Contains(l.Title, c.theirs) {
				t.Errorf("%s: a line is called %q", name, l.Title)
			}
		}
		before := page.Predecessors(all, page.Names{})
		if len(before) != 2 || before["c"].Entry.ID != "a" || before["d"].Entry.ID != "b" {
			t.Errorf("%s: predecessors %v", name, before)
		}
		facets, err := page.NewFacets(all, page.Names{}, page.Site{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(facets, func(p page.FacetPage) bool { return p.Path == "models/m/" })
		if rows := facets[at].Model.(page.Facet).Figures[0].Table.Rows; len(rows) != 2 || rows[0][0].Text != "m, g, e 2, "+c.theirs {
			t.Errorf("%s: the frontier has the rows %+v", name, rows)
		}
	}
}

// What all runs share is not told, and a run that nothing counted contradicts none that the server counted.
func TestOneMethodIsNotTold(t *testing.T) {
	silent := func(s *summary.Run) { s.Decode[0].TokenSource = "" }
	trends, err := page.NewTrends(newestFirst(measured("a", "1", 1, 100, nil), measured("b", "1", 2, 101, silent)), page.Names{}, page.Site{})
	if err != nil {
		t.Fatal(err)
	}
	trend := trends[1].Model.(page.Trend)
	if len(trend.Groups) != 1 || trend.Groups[0].Method != "" || len(trend.Lines) != 1 || trend.Lines[0].Title != "e, quantization not recorded: 8K × 4" {
		t.Errorf("%+v, lines %+v", trend.Groups, trend.Lines)
	}
}

// Each step is version, day, rate; each point of the trend is its label, its median, and what it says of the point before.
func TestTrendPoints(t *testing.T) {
	type step struct {
		version string
		day     int
		rate    float64
	}
	check := func(name string, steps []step, want ...string) {
		t.Helper()
		var all []page.Listed
		for i, s := range steps {
			all = append(all, measured(fmt.Sprint("r", i), s.version, s.day, s.rate, nil))
		}
		slices.Reverse(all)
		trends, err := page.NewTrends(all, page.Names{}, page.Site{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range trends[1].Model.(page.Trend).Lines {
			for _, p := range l.Points {
				got = append(got, p.Version+" | "+p.Median.Text+" | "+p.Change)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: points\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	check("one version that stays", []step{{"1", 1, 100}, {"1", 2, 103}, {"1", 3, 99}}, "1 | 100.0 | ")
	check("one version that got slower", []step{{"1", 1, 100}, {"1", 2, 102}, {"1", 3, 50}, {"1", 4, 51}},
		"1 | 101.0 | ", "1 (2026-01-03) | 50.5 | slower, 0.50x")
	check("down and up again", []step{{"1", 1, 100}, {"1", 2, 101}, {"1", 3, 50}, {"1", 4, 50.5}, {"1", 5, 100}, {"1", 6, 101}},
		"1 | 100.5 | ", "1 (2026-01-03) | 50.2 | slower, 0.50x", "1 (2026-01-05) | 100.5 | faster, 2.00x")
	check("scatter is no change", []step{{"1", 1, 100}, {"1", 2, 130}, {"1", 3, 95}, {"1", 4, 125}, {"1", 5, 120}, {"1", 6, 97}}, "1 | 110.0 | ")
	check("one day's fall among many", []step{{"1", 1, 100}, {"1", 2, 101}, {"1", 3, 99}, {"1", 4, 70}, {"1", 5, 100}},
		"1 | 100.0 | ", "1 (2026-01-04) | 70.0 | slower, 0.70x", "1 (2026-01-05) | 100.0 | faster, 1.43x")
	check("runs of one day are one point", []step{{"1", 1, 100}, {"1", 1, 200}}, "1 | 150.0 | ")
	check("a version changes it", []step{{"1", 1, 100}, {"2", 2, 150}}, "1 | 100.0 | ", "2 | 150.0 | faster, 1.50x")
	check("a version's runs scatter more than versions differ", []step{{"1", 1, 100}, {"1", 1, 160}, {"1", 1, 100}, {"2", 2, 150}},
		"1 | 100.0 | ", "2 | 150.0 | no difference seen")
	check("in the order of days", []step{{"1", 1, 100}, {"2", 2, 200}, {"1", 3, 150}},
		"1 | 100.0 | ", "2 | 200.0 | faster, 2.00x", "1 (2026-01-03) | 150.0 | slower, 0.75x")
	check("one run is no trend", []step{{"1", 1, 100}})
}
