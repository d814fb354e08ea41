package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Entry is one run in the list of the home page and in data/runs.json. It is small, so that a site of many runs can keep
// all of them while it drops their summaries.
type Entry struct {
	ID        string
	Title     string
	Started   time.Time
	State     event.State
	Simulated bool

	Model, GPU, Engine, Version, Quantization string
	Device                                    string // the accelerator without their number

	Peak      *float64 // highest total tok/s of the decode cells
	PeakCell  string   // "8K × 128"
	Lone      *float64 // tok/s of one request, smallest context
	LoneTTFT  *float64 // ms
	Prefill   *float64 // highest prefill tok/s
	Cells     int
	Measured  int
	GPUCount  int
	MethodVer int
}

// NewEntry takes from a run what lists need.
func NewEntry(s *summary.Run) Entry {
	r := &s.Facts
	e := Entry{
		ID: r.ID, Title: runTitle(s), Started: r.Started.UTC(), State: r.State, Simulated: r.Simulated(),
		Model: clip(modelName(r), 120), GPU: clip(gpuName(r), 120), Engine: clip(Clean(r.Engine.Text("name")), 80),
		Device:  clip(deviceName(r), 120),
		Version: clip(Clean(r.Engine.Text("version")), 80), Quantization: clip(Clean(quantization(r)), 40),
		Cells: len(s.Prefill) + len(s.Decode), MethodVer: r.Tool.Method,
	}
	if b := best(s.Decode); b != nil {
		e.Peak, e.PeakCell = num(b.TokS), cellLabel(b)
	}
	if b := lone(s.Decode); b != nil {
		e.Lone, e.LoneTTFT = num(b.TokS), num(b.TTFTMS)
	}
	if b := best(s.Prefill); b != nil {
		e.Prefill = num(b.TokS)
	}
	if n, ok := r.Hardware.Number("gpu_count"); ok {
		e.GPUCount = int(n)
	}
	for _, cells := range [][]summary.Cell{s.Prefill, s.Decode} {
		for i := range cells {
			if measured(&cells[i]) {
				e.Measured++
			}
		}
	}
	for _, s := range []*string{&e.ID, &e.Title, &e.Model, &e.GPU, &e.Engine, &e.Version, &e.Quantization, &e.Device, &e.PeakCell} {
		*s = unique.Make(*s).Value() // not a part of the run's file, which would be kept with it
	}
	e.State = event.State(unique.Make(string(e.State)).Value())
	return e
}

// deviceName is the accelerator, else the processor, for runs without one.
func deviceName(r *event.Run) string {
	return Clean(or(r.Hardware.Text("gpu"), r.Hardware.Text("cpu")))
}

// gpuName is the accelerators with their number.
func gpuName(r *event.Run) string {
	name := deviceName(r)
	if n, ok := r.Hardware.Number("gpu_count"); ok && n > 1 && r.Hardware.Text("gpu") != "" {
		name = fmt.Sprintf("%s × %s", number(n), name)
	}
	return name
}

func quantization(r *event.Run) string {
	for _, v := range []string{r.Engine.Text("quantization"), r.Model.Text("quantization"), r.Model.Text("dtype")} {
		if v != "" {
			return v
		}
	}
	return ""
}

// SortEntries puts the newest first; runs of the same instant by id.
func SortEntries(es []Entry) { slices.SortFunc(es, CompareEntries) }

// CompareEntries is the order of SortEntries.
func CompareEntries(a, b Entry) int {
	return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.ID, b.ID))
}

// Home is the list of runs.
type Home struct {
	Frame
	List
	Heading string
	Tagline string
	Browse  []Link // the facets
}

// HomeColumn is a header of the list.
type HomeColumn struct {
	Name, Key string
	Numeric   bool
}

// HomeRow is one run of the list.
type HomeRow struct {
	Href, Title                               string
	Date                                      Date
	Model, GPU, Engine, Version, Quantization string
	Peak, Lone, TTFT, Prefill                 Value
	PeakCell                                  string
	Simulated, Interrupted                    bool
	Search                                    string // what the filter looks in, lower case
}

// NewHome lists entries, which SortEntries has ordered.
func NewHome(es []Entry, s Site) Home {
	description := s.Description
	if description == "" {
		description = s.Tagline
	}
	name := s.Title
	if name == "" {
		name = "Speed tests"
	}
	h := Home{
		Frame: s.frame("home", "", name, description), Heading: name, Tagline: s.Tagline,
	}
	h.List = newList(split(es), 0, "", "", "Newest first. One request and peak are output tokens a second; prefill is prompt tokens a second.", len(es))
	h.Alternates = []Alternate{{"application/json", "data/runs.json", "All runs as JSON"}}
	return h
}

func newHomeRow(e Entry) HomeRow {
	r := HomeRow{
		Href: RunPath(e.ID), Title: e.Title, Date: newDate(e.Started), Model: or(e.Model, "not recorded"), GPU: or(e.GPU, "not recorded"),
		Engine: or(e.Engine, "not recorded"), Version: e.Version, Quantization: or(e.Quantization, unit.Dash),
		Peak: value(e.Peak, unit.Rate), Lone: value(e.Lone, unit.Rate), TTFT: value(e.LoneTTFT, unit.Millis), Prefill: value(e.Prefill, unit.Rate),
		PeakCell: e.PeakCell, Simulated: e.Simulated, Interrupted: e.State == event.Interrupted,
	}
	words := []string{e.Model, e.GPU, e.Engine, e.Version, e.Quantization}
	if e.Simulated {
		words = append(words, "simulated")
	}
	r.Search = strings.ToLower(strings.Join(words, " "))
	return r
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Index is data/runs.json: a summary of every run.
type Index struct {
	Schema int          `json:"schema"`
	Runs   []indexEntry `json:"runs"`
}

type indexEntry struct {
	ID            string      `json:"id"`
	Title         string      `json:"title"`
	Started       string      `json:"started"`
	State         event.State `json:"state"`
	Simulated     bool        `json:"simulated"`
	Model         string      `json:"model"`
	GPU           string      `json:"gpu"`
	Engine        string      `json:"engine"`
	EngineVersion string      `json:"engine_version"`
	Quantization  string      `json:"quantization"`
	Method        int         `json:"method"`
	PeakTokS      *float64    `json:"peak_tok_s"`
	PeakCell      string      `json:"peak_cell"`
	OneTokS       *float64    `json:"one_request_tok_s"`
	OneTTFTMS     *float64    `json:"one_request_ttft_ms"`
	PrefillTokS   *float64    `json:"prefill_peak_tok_s"`
	Cells         int         `json:"cells"`
	Measured      int         `json:"measured_cells"`
	URL           string      `json:"url"` // of run.json, from the site's root
}

// NewIndex lists entries for machines.
func NewIndex(es []Entry) Index {
	out := Index{Schema: 1, Runs: []indexEntry{}}
	for _, e := range es {
		out.Runs = append(out.Runs, indexEntry{
			e.ID, e.Title, stamp(e.Started), e.State, e.Simulated, e.Model, e.GPU, e.Engine, e.Version, e.Quantization, e.MethodVer,
			e.Peak, e.PeakCell, e.Lone, e.LoneTTFT, e.Prefill, e.Cells, e.Measured, RunPath(e.ID) + "run.json",
		})
	}
	return out
}

// JSON encodes the index, indented, ending in a newline.
func (i Index) JSON() ([]byte, error) { return json.Marshal(i) }
