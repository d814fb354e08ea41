package client

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"speedmatrix/internal/event"
)

// Endpoint is the API dialect of the streaming request.
type Endpoint string

const (
	Chat        Endpoint = "chat"        // POST {base}/chat/completions
	Completions Endpoint = "completions" // POST {base}/completions
	Ollama      Endpoint = "ollama"      // POST {root}/api/chat, newline-delimited JSON
)

// Config is what every request to one server has in common.
type Config struct {
	BaseURL      string        // e.g. "http://localhost:8000/v1"
	Model        string        // the served name
	Endpoint     Endpoint      // zero: Chat
	Key          string        // sent as "Authorization: Bearer"; "" sends none; never in an error or a record
	Header       http.Header   // further headers, secret as Key is
	Timeout      time.Duration // no bytes for this long: Stalled. Zero: 120 s
	TokenTimings bool          // ask for llama.cpp's timings in every chunk, by which it counts tokens when it is cut too
	CAFile       string        // PEM bundle that replaces the system's roots; "" keeps them
	Insecure     bool          // do not verify the server's certificate

	// Epoch is the run's start with its monotonic reading; Result.StartUS counts from it.
	Epoch time.Time

	// Dial replaces the network in tests (net.Pipe in virtual time); nil dials TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Request is one prompt to be streamed.
type Request struct {
	Prompt          string
	MaxTokens       int
	Temperature     float64
	IgnoreEOS       bool          // ask the server to go on after the end token (ignore_eos, min_tokens)
	ContinuousUsage bool          // ask for usage in every chunk
	ID              string        // the request's id where the engine takes one (SGLang's rid), for its abort; "" sends none
	Timeout         time.Duration // replaces Config.Timeout when positive: a long cold prefill sends no bytes

	prepared *prepared // by Client.Prepare; nil: encoded when it is sent
}

// Result is what one request did. Instants are as in event.Request: StartUS from Config.Epoch, the rest from StartUS.
// The fields of Record that the client does not know (Cell, Repeat, Stream, Ordinal, Stage, Void) are left zero.
type Result struct {
	Record     event.Request
	ChunkChars []int32       // characters of text in each chunk of Record.ChunkUS, for counting by tokens per character
	RetryAfter time.Duration // what a 429 or 503 asked for; 0: nothing
	Dropped    []string      // optional fields that a 400 named and that were left out from then on
	Reads      Reads
}

// Reads counts how arrivals were seen, for the health of the instrument.
type Reads struct {
	Reads  int64 // reads that brought bytes
	Merged int64 // of these, reads that brought more than one arrival under one stamp, where that can be told
}

// Live lets other goroutines watch a stream while it runs. The client only adds; it never waits for a reader.
// One Live belongs to one stream of a cell and goes on over its requests.
type Live struct {
	Tokens      atomic.Int64 // tokens that arrived in all requests so far (chunks, until a usage says better)
	Active      atomic.Int32 // 1 between a request's first token and its end, else 0
	FirstUS     atomic.Int64 // first token of the current request, from the epoch; 0: none yet
	StartUS     atomic.Int64 // start of the current request, from the epoch
	TTFTUS      atomic.Int64 // time to first token of the latest request that had one; 0: none yet
	LagUS       atomic.Int64 // latest process read minus kernel arrival
	Lag         *Lag         // optional histogram of all lags, shared by the streams of a cell
	Reads       atomic.Int64
	MergedReads atomic.Int64
}
