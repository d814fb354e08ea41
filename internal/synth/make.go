package synth

import (
	"math/rand/v2"
	"time"

	"speedmatrix/internal/event"
)

// Config is the matrix to invent. The zero value is the standard matrix: 46 cells, about 500 requests and 1.2 million tokens.
type Config struct {
	Seed    uint64
	Seconds int64 // the window of a decode cell; 0 is 30
	Output  int   // tokens of an answer; 0 is 4,096
	Repeats int   // 0 is 1
	Small   bool  // two contexts and three concurrencies only
	Slow    float64
	// Slow stretches every step: 1.1 is an engine that is 10 % slower. 0 is 1.
}

func (c Config) withDefaults() Config {
	if c.Seconds == 0 {
		c.Seconds = 30
	}
	if c.Output == 0 {
		c.Output = 4096
	}
	if c.Repeats == 0 {
		c.Repeats = 1
	}
	if c.Slow == 0 {
		c.Slow = 1
	}
	return c
}

// row is one context: its label, the step time of each concurrency that fits (in microseconds), and its prefill rate.
type row struct {
	context int
	label   string
	steps   []int64
	prefill int64 // microseconds a token, times 1,000
}

// concurrencies are the columns of the standard matrix.
var concurrencies = []int{1, 2, 4, 8, 16, 32, 64, 128}

// rows are invented, of the order of a small model on a large GPU; what has no step is over capacity.
func (c Config) rows() []row {
	all := []row{
		{8192, "8K", []int64{6400, 6800, 6900, 6700, 6900, 8800, 11000, 16100}, 30},
		{16384, "16K", []int64{7600, 7900, 8000, 7800, 8000, 10800, 14000}, 33},
		{32768, "32K", []int64{10100, 10300, 10300, 10100, 10200, 15000}, 41},
		{65536, "64K", []int64{14800, 14800, 14600, 14400, 14500}, 60},
		{125952, "123K", []int64{23600, 23200, 23100, 22600}, 95},
	}
	if c.Small {
		all = all[:2]
		for i := range all {
			all[i].steps = all[i].steps[:2]
		}
	}
	return all
}

// prefills are the contexts measured cold: the rows', and the longest that the standard matrix has.
func (c Config) prefills() []row {
	if c.Small {
		return c.rows()
	}
	return append(c.rows(), row{131007, "128K", nil, 98})
}

func (c Config) columns() []int {
	if c.Small {
		return concurrencies[:3]
	}
	return concurrencies
}

func ptr[T any](v T) *T { return &v }

// maker invents one run; at is the clock of the run, in microseconds.
type maker struct {
	cfg      Config
	random   *rand.Rand
	run      event.Run
	requests []event.Request
	samples  []event.Sample
	at       int64
}

// Make returns a complete run. Equal configurations give equal runs.
func Make(cfg Config) (event.Run, []event.Request, []event.Sample) {
	cfg = cfg.withDefaults()
	m := &maker{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 1)), run: facts(cfg), at: 1_000_000}
	rows, cold := cfg.rows(), cfg.prefills()
	for _, r := range cold {
		m.prefill(r)
	}
	for repeat := range cfg.Repeats {
		index := len(cold)
		for _, r := range rows {
			for i, n := range cfg.columns() {
				m.decode(index, repeat, r, i, n)
				index++
			}
		}
	}
	return m.run, m.requests, m.samples
}

// facts is the run without its cells.
func facts(cfg Config) event.Run {
	run := event.Run{
		Schema: event.Schema, State: event.Complete, Seed: cfg.Seed, Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Tool:     event.Tool{Name: "measure", Version: "0.0.0-synthetic", Method: event.MethodVersion, Flags: []string{"--url", "http://localhost:8000/v1"}},
		Hardware: event.Facts{"gpu": "Synthetic GPU", "gpu_count": int64(1), "vram_gb": int64(96)},
		Engine:   event.Facts{"name": "synthetic-engine", "version": "1.0.0", "quantization": "BF16", event.KeySimulated: true, "profile": "synthetic"},
		Model:    event.Facts{"id": "nobody/synthetic-model", "served": "synthetic-model", "revision": "0123456789abcdef0123456789abcdef01234567"},
		Server:   event.Facts{}, Host: event.Facts{"cores": int64(2)},
		Sources: map[string]event.Source{"hardware.gpu": event.FromUser, "engine.name": event.FromUser, "model.id": event.FromUser},
		Method: event.Method{
			Concurrency: cfg.columns(), DurationS: float64(cfg.Seconds), OutputTokens: cfg.Output, Prompts: event.PerStream,
			Start: event.Staggered, Repeats: cfg.Repeats, Endpoint: "chat", PromptSizing: "tokenize",
		},
		Capacity: event.Capacity{Tokens: ptr(int64(1_600_000)), Source: "synthetic", Limit: ptr(int64(131_072)), LimitSource: "synthetic"},
		Launch:   event.Launch{Command: "none: this run is synthetic", Source: event.FromUser},
		Files:    map[string]string{},
	}
	for _, r := range cfg.rows() {
		run.Method.Contexts = append(run.Method.Contexts, r.context)
	}
	for _, r := range cfg.prefills() {
		run.Method.Prefill = append(run.Method.Prefill, r.context)
	}
	return run
}

// prefill adds a cold cell of three samples.
func (m *maker) prefill(r row) {
	cell := int32(len(m.run.Cells))
	start := m.at
	for i := range int32(3) {
		ttft := int64(float64(int64(r.context)*r.prefill)*m.cfg.Slow) + m.random.Int64N(2000)
		m.requests = append(m.requests, event.Request{
			Cell: cell, Ordinal: i, Stage: event.InWindow, StartUS: m.at, HeadersUS: ptr(int64(900)), ChunkUS: []int64{ttft}, ChunkTokens: []int32{1},
			EndUS: ptr(ttft + 10), Clock: event.Kernel, AskedTokens: 1, PromptSHA: m.sha(), PromptTokens: ptr(int32(r.context)),
			CachedTokens: ptr(int32(0)), OutputTokens: ptr(int32(1)), TokenSource: event.UsagePerChunk, FinishReason: ptr("length"),
			HTTPStatus: ptr(int32(200)), Outcome: event.OK,
		})
		m.at += ttft + 20_000
	}
	m.run.Cells = append(m.run.Cells, event.Cell{
		Phase: event.Prefill, Context: r.context, Label: r.label, Concurrency: 1, NeededTokens: int64(r.context) + 1,
		Passes: []event.Pass{{WindowStartUS: start, WindowEndUS: m.at, Stop: event.StopDone}},
	})
	m.at += 1_000_000
}

// decode adds a pass of a decode cell; the first repeat adds the cell itself.
func (m *maker) decode(index, repeat int, r row, column, concurrency int) {
	needed := int64(concurrency) * int64(r.context+m.cfg.Output)
	if repeat == 0 {
		c := event.Cell{Phase: event.Decode, Context: r.context, Label: r.label, Concurrency: concurrency, NeededTokens: needed}
		if column >= len(r.steps) {
			c.Status, c.Reason = event.OverCapacity, "synthetic: more than the KV cache holds"
		}
		m.run.Cells = append(m.run.Cells, c)
	}
	if column >= len(r.steps) {
		return
	}
	step := int64(float64(r.steps[column]) * m.cfg.Slow)
	from := m.at + 3_000_000
	to := from + m.cfg.Seconds*1_000_000
	for stream := range concurrency {
		m.stream(int32(index), int32(repeat), int32(stream), concurrency, r.context, step, from, to)
	}
	m.gauges(int32(index), int32(repeat), from, to, float64(concurrency))
	m.run.Cells[index].Passes = append(m.run.Cells[index].Passes,
		event.Pass{Repeat: repeat, WindowStartUS: from, WindowEndUS: to, Stop: event.StopDone})
	m.at = to + 2_000_000
}

// stream adds the requests of one stream: the first is cut short so that starts are staggered, each is followed by the next at once.
func (m *maker) stream(cell, repeat, stream int32, concurrency, context int, step, from, to int64) {
	left := max(1, m.cfg.Output*(concurrency-int(stream))/concurrency)
	for start, ordinal := m.at, int32(0); start < to; ordinal++ {
		r := event.Request{
			Cell: cell, Repeat: repeat, Stream: stream, Ordinal: ordinal, Stage: event.Warmup, StartUS: start, HeadersUS: ptr(int64(800)),
			Clock: event.Kernel, AskedTokens: int32(left), PromptSHA: m.sha(), PromptTokens: ptr(int32(context)),
			CachedTokens: ptr(int32(context - 8)), TokenSource: event.UsagePerChunk, HTTPStatus: ptr(int32(200)), Outcome: event.Stopped,
		}
		if start > from {
			r.Stage = event.InWindow
		}
		us := 5*step + m.random.Int64N(500)
		r.VisibleUS = ptr(us)
		for left > 0 && start+us <= to+500_000 {
			r.ChunkUS, r.ChunkTokens = append(r.ChunkUS, us), append(r.ChunkTokens, 1)
			left--
			us += step + int64(m.random.NormFloat64()*60)
		}
		if left <= 0 {
			r.Outcome, r.FinishReason, r.OutputTokens = event.OK, ptr("length"), ptr(int32(len(r.ChunkTokens)))
		}
		r.EndUS = ptr(us)
		start += us + 100
		left = m.cfg.Output
		m.requests = append(m.requests, r)
	}
}

// gauges adds what the server and the client would have told each second.
func (m *maker) gauges(cell, repeat int32, from, to int64, running float64) {
	add := func(at int64, source, metric string, v float64) {
		m.samples = append(m.samples, event.Sample{AtUS: at, Cell: cell, Repeat: repeat, Source: source, Metric: metric, Value: v})
	}
	for t := from; t <= to; t += 1_000_000 {
		add(t, event.SourceClient, event.MetricLagP50, 8)
		add(t, event.SourceClient, event.MetricLagP99, 40)
		add(t, event.SourceClient, event.MetricCPUShare, 0.05)
		add(t, event.SourceServer, event.MetricRunning, running)
		add(t, event.SourceServer, event.MetricWaiting, 0)
	}
}

// sha invents a prompt's digest.
func (m *maker) sha() string {
	const hex = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[i] = hex[m.random.IntN(16)]
	}
	return string(b)
}
