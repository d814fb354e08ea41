package event

// Stage is the phase of a cell in which a request started.
type Stage string

const (
	Scout    Stage = "scout"  // one output token, to put a new prompt into the server's cache
	Warmup   Stage = "warmup" // before the window
	InWindow Stage = "window" // inside the window; also a prefill cell's cold samples
	Probe    Stage = "probe"  // after the window, restarted one at a time for TTFT
)

// Clock says how an arrival was stamped.
type Clock string

const (
	Kernel  Clock = "kernel"  // the kernel's receive timestamp
	Process Clock = "process" // when read returned
)

// TokenSource says how a request's tokens were counted (METRICS, "Counting tokens").
type TokenSource string

const (
	UsagePerChunk TokenSource = "usage-per-chunk" // the server counted every chunk
	UsageFinal    TokenSource = "usage-final"     // the server gave the total; spread over the chunks
	ByChunks      TokenSource = "chunks"          // the server told nothing: one token a chunk, an estimate
	UnknownTokens TokenSource = "unknown"         // a cut stream, counted by the tokens per character of the cell's whole ones
)

// Outcome is how a request ended: OK, Stopped, or the kind of failure.
type Outcome string

const (
	OK      Outcome = "ok"
	Stopped Outcome = "stopped" // cut by us at the end of the window or of the probe phase

	Truncated     Outcome = "truncated"       // closed without a finish reason
	Reset         Outcome = "reset"           // connection reset, or TLS closed without notify
	Stalled       Outcome = "stalled"         // no bytes for the time-out, or no token for ten of them
	ErrorInStream Outcome = "error-in-stream" // an error object inside a 200 stream
	NotAStream    Outcome = "not-a-stream"    // 200 with something other than an event stream
	BadRequest    Outcome = "bad-request"     // 400, 413, 422 and other 4xx
	Unauthorized  Outcome = "unauthorized"    // 401, 403
	NotFound      Outcome = "not-found"       // 404
	RateLimited   Outcome = "rate-limited"    // 429
	ServerError   Outcome = "server-error"    // 5xx
	Unreachable   Outcome = "unreachable"     // could not connect
	BadProtocol   Outcome = "bad-protocol"    // an answer that is not HTTP, or events that are not JSON
)

// Failed reports whether the outcome is a failure: neither OK nor Stopped.
func (o Outcome) Failed() bool { return o != OK && o != Stopped }

// Request is one row of requests.parquet. StartUS counts from the run's epoch; the other instants from StartUS.
type Request struct {
	Cell    int32 // index into Run.Cells
	Repeat  int32 // from 0
	Stream  int32 // worker, from 0
	Ordinal int32 // the request's number within its stream and pass, from 0
	Stage   Stage

	ScheduledUS *int64  // intended start, from the epoch; open-loop load only
	StartUS     int64   // just before the request is written, connection open
	ConnectUS   *int64  // time spent connecting; nil when the connection was open already
	HeadersUS   *int64  // to the response header
	VisibleUS   *int64  // to the first token that is not reasoning
	ChunkUS     []int64 // to the arrival of each chunk that carried tokens, never decreasing
	ChunkTokens []int32 // tokens in each of those chunks, same length; 0 is allowed only for text that brought none
	EndUS       *int64  // to the end of the stream
	Clock       Clock

	AskedTokens  int32  // output tokens asked for
	PromptSHA    string // first 16 hex digits of the prompt's SHA-256
	PromptTokens *int32 // these three as the server reported them
	CachedTokens *int32
	OutputTokens *int32
	TokenSource  TokenSource

	FinishReason *string
	HTTPStatus   *int32
	Error        *string // one line, redacted
	Looped       bool    // the text fell into exact repetition
	Void         bool    // a cold sample that was not cold
	Outcome      Outcome
}

// Tokens returns the tokens that arrived, the sum of ChunkTokens.
func (r *Request) Tokens() int64 {
	var n int64
	for _, t := range r.ChunkTokens {
		n += int64(t)
	}
	return n
}

// Sample is one row of samples.parquet: a value of a time series taken beside the load.
type Sample struct {
	AtUS   int64 // from the run's epoch
	Cell   int32
	Repeat int32
	Source string // "server" (its gauges), "client" (this program's health), "gpu", "cpu"
	Metric string // e.g. "running", "waiting", "kv_usage", "lag_p99_us", "cpu_share", "backlog", "merged_share"
	Labels string // "k=v,k=v" sorted by key, or ""
	Value  float64
}

// Names of the sources and metrics of samples that this program writes.
const (
	SourceServer = "server"
	SourceClient = "client"

	MetricRunning = "running"  // requests the server runs
	MetricWaiting = "waiting"  // requests in its queue
	MetricKVUsage = "kv_usage" // share of the KV cache in use, 0..1

	MetricLagP50      = "lag_p50_us" // process read minus kernel arrival, within the last second
	MetricLagP99      = "lag_p99_us"
	MetricLagMax      = "lag_max_us"
	MetricCPUShare    = "cpu_share"    // of the cores this process may use, 0..1
	MetricBacklog     = "backlog"      // runnable goroutines
	MetricMergedShare = "merged_share" // share of reads that merged arrivals of one stream, 0..1
	MetricHeap        = "heap_bytes"
)
