package summary

import "speedmatrix/internal/event"

// Run is a run with every number of its pages computed. Numbers are unrounded, in the unit of their name.
// A nil pointer is a number that does not exist for that cell (shown as a dash, null in JSON), never 0.
type Run struct {
	Facts    event.Run // as stored
	Title    string    // "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB"
	Prefill  []Cell    // in the order of the plan
	Decode   []Cell    // context rows in turn, concurrency ascending in each
	Warnings []Warning // about the run as a whole
}

// Cell is one row of "All measurements".
type Cell struct {
	Index       int // into Facts.Cells
	Phase       event.Phase
	Context     int
	Label       string
	Concurrency int
	Status      event.Status
	Reason      string  // a sentence; for queued "the server ran 9 of 16 requests at once"
	RanRequests float64 // queued: the concurrency reached

	TokS              *float64 // prefill: prompt tokens a second; decode: output tokens a second of all streams
	PerRequestTokS    *float64
	TTFTMS            *float64 // the median of TTFTKind
	TTFTKind          TTFTKind
	TTFOMS            *float64 // only where it differs from TTFT
	BetweenTokensMS   *float64
	ActiveRequests    *float64
	ServerActive      *float64 // the server's own gauge, mean over the window
	CompletedRequests *int
	FailedRequests    *int
	Failures          []Count // failed outcomes by kind, sorted by kind
	OutputTokens      *int64
	MeasuredS         *float64
	WholeCellTokS     *float64
	PerStreamTokS     *float64 // total / C
	ScalingEfficiency *float64 // 1 = as fast a stream as alone
	PromptTokens      *int     // median, as the server counted
	CachedTokens      *int     // median
	Samples           int      // prefill: cold samples that count; decode: requests seen in the window
	EarlyStops        int
	Looped            int
	TokenSource       event.TokenSource
	Clock             event.Clock
	NeededTokens      int64
	CapacityTokens    *int64

	TokSInterval   *Interval
	TTFT           Distribution       // ms, of TTFTKind
	TTFTOther      []KindDistribution // the other kinds seen, for the details
	BetweenTokens  Distribution       // ms, one value a request
	BetweenChunks  Distribution       // ms, one value a gap
	TokensPerChunk *float64           // mean
	EndToEnd       Distribution       // ms

	Timeline *Timeline // decode cells that ran
	Strip    []Span    // requests of repeat 0 without its scouts, by stream then start; at most 512

	Warnings []Warning
}

// TTFTKind tells what a time to first token includes (METRICS).
type TTFTKind string

const (
	Cold     TTFTKind = "cold"
	Start    TTFTKind = "start"
	Restart  TTFTKind = "restart"
	Wave     TTFTKind = "wave"
	Uncached TTFTKind = "uncached"
)

// Distribution describes a set of values, quantiles by linear interpolation between order statistics (R type 7).
type Distribution struct {
	N      int
	Median *float64 // nil when N is 0
	P90    *float64 // nil below N = 10
	P99    *float64 // nil below N = 100
	Min    *float64
	Max    *float64
	// Quantiles are the values at 0, 1/100 … 1 (101 of them) for a CDF chart; nil when N is 0.
	Quantiles []float64
}

// KindDistribution is a distribution of one kind of TTFT.
type KindDistribution struct {
	Kind TTFTKind
	Distribution
}

// Interval is a 95 % interval of a rate.
type Interval struct {
	Low, High float64
	Repeats   int // 3 or more: from repeats; 0: within this run (block bootstrap)
}

// Count is a number of requests with one failure.
type Count struct {
	Kind event.Outcome
	N    int
}

// Warning is a caveat in words.
type Warning struct {
	ID   string // stable, e.g. "few-restarts"
	Text string // a sentence for the page
}

// Timeline is a decode cell's output over time, of the pass whose window is shown (repeat 0).
type Timeline struct {
	BinUS         int64 // width of a bin
	StartUS       int64 // left edge of the first bin, from the run's epoch
	WindowStartUS int64 // the measured window
	WindowEndUS   int64
	TokS          []float64 // tokens a second in each bin
}

// Span is one request of a cell's strip: instants from the run's epoch, nil where it did not happen.
type Span struct {
	Stream  int
	Stage   event.Stage
	StartUS int64
	FirstUS *int64
	LastUS  *int64
	EndUS   *int64
	Tokens  int64
	Outcome event.Outcome
}
