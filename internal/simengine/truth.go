package simengine

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Served is what really happened to one request: the truth against which measured figures are compared.
type Served struct {
	Number       int    `json:"number"` // order of arrival, from 1
	ID           string `json:"id"`
	PromptTokens int    `json:"prompt_tokens"`
	CachedTokens int    `json:"cached_tokens"`
	MaxTokens    int    `json:"max_tokens"`
	Made         int    `json:"made"`   // output tokens that the scheduler made
	Finish       string `json:"finish"` // length, stop, abort, or the fault that was injected

	// Instants are Unix nanoseconds; 0 when it did not come to that.
	ArrivedNS  int64 `json:"arrived_ns"`  // request line and headers were read
	AdmittedNS int64 `json:"admitted_ns"` // left the queue
	FinishedNS int64 `json:"finished_ns"`

	// One entry a token that was written: when its step should have ended, and the instant just before its write.
	NominalNS []int64 `json:"nominal_ns"`
	SentNS    []int64 `json:"sent_ns"`
}

// Recorder keeps what was served, in memory. The zero value is ready; its Add is for Options.Truth.
type Recorder struct {
	mu     sync.Mutex
	served []Served
}

// Add records one request that has ended.
func (r *Recorder) Add(s Served) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.served = append(r.served, s)
}

// Served returns a copy of the records, in the order in which the requests ended.
func (r *Recorder) Served() []Served {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Served(nil), r.served...)
}

// LogTo returns a function for Options.Truth that writes each request to w as one line of JSON. Write errors go to
// failed, once per line; nil ignores them.
func LogTo(w io.Writer, failed func(error)) func(Served) {
	var mu sync.Mutex
	enc := json.NewEncoder(w)
	return func(s Served) {
		mu.Lock()
		defer mu.Unlock()
		if err := enc.Encode(s); err != nil && failed != nil {
			failed(err)
		}
	}
}

func unixNS(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
