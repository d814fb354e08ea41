package simengine

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Fault is a way in which a request goes wrong.
type Fault string

const (
	FaultReset     Fault = "reset"      // the connection is reset in mid-stream
	FaultTruncate  Fault = "truncate"   // the stream is closed cleanly without a finish reason
	FaultError     Fault = "error"      // an error object as an event of the 200 stream, then its end
	FaultBareError Fault = "bare-error" // the same as a last line without "data:"
	FaultStall     Fault = "stall"      // no more bytes until the client goes away
	FaultHTML      Fault = "html"       // status 200 with a page
	Fault429       Fault = "429"        // too many requests, Retry-After: 1
	Fault500       Fault = "500"
	Fault503       Fault = "503"
)

// AllFaults lists every kind.
func AllFaults() []Fault {
	return []Fault{FaultReset, FaultTruncate, FaultError, FaultBareError, FaultStall, FaultHTML, Fault429, Fault500, Fault503}
}

// Faults says how often requests go wrong, and how. The zero value: never.
type Faults struct {
	Rate  float64 // share of requests, 0 to 1
	Kinds []Fault // nil: all, in equal parts
}

func (f Faults) validate() error {
	if f.Rate < 0 || f.Rate > 1 {
		return fmt.Errorf("fault rate %v: must be between 0 and 1", f.Rate)
	}
	for _, k := range f.Kinds {
		if !slices.Contains(AllFaults(), k) {
			return fmt.Errorf("fault %q is not known: use %v", k, AllFaults())
		}
	}
	return nil
}

// planned is the fault of one request: its kind, and the output token before which it strikes. The zero value is none.
type planned struct {
	kind  Fault
	after int
}

// pick draws request number's fault.
func (f Faults) pick(seed uint64, number, output int) planned {
	key := mix(seed ^ uint64(number)*0x9e3779b97f4a7c15)
	if f.Rate <= 0 || share(key) >= f.Rate {
		return planned{}
	}
	kinds := f.Kinds
	if kinds == nil {
		kinds = AllFaults()
	}
	return planned{kinds[mix(key+1)%uint64(len(kinds))], int(share(key+2) * float64(output))}
}

// refuse answers with a fault that comes instead of a stream; false when it is not one of those.
func (p planned) refuse(w http.ResponseWriter, d dialect) bool {
	switch p.kind {
	case FaultHTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Welcome</title><p>This is not the API.</p>\n")) // the client may be gone
	case Fault429:
		w.Header().Set("Retry-After", "1")
		d.fail(w, &apiError{http.StatusTooManyRequests, "RateLimitError", "", "too many requests (simulated fault)"})
	case Fault500:
		d.fail(w, &apiError{http.StatusInternalServerError, "InternalServerError", "", "internal error (simulated fault)"})
	case Fault503:
		d.fail(w, &apiError{http.StatusServiceUnavailable, "ServiceUnavailable", "", "service unavailable (simulated fault)"})
	default:
		return false
	}
	return true
}

// strike ends a stream by its fault. The response has been flushed up to here.
func (p planned) strike(w http.ResponseWriter, r *http.Request, enc encoder) {
	rc := http.NewResponseController(w)
	const message = "the engine died (simulated fault)"
	switch p.kind {
	case FaultReset:
		reset(rc)
	case FaultError:
		_, _ = w.Write(enc.failure(nil, message)) // what the client misses by leaving is its own loss
	case FaultBareError:
		_, _ = w.Write([]byte(strings.TrimPrefix(strings.TrimSpace(string(enc.failure(nil, message))), "data: ")))
	case FaultStall:
		<-r.Context().Done()
	}
}

// reset closes the connection so that the client sees a reset, where the connection can do that.
func reset(rc *http.ResponseController) {
	conn, _, err := rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: the close below is a failure to the client either way
	}
	_ = conn.Close()
}
