//go:build linux

package bench

import (
	"bufio"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pacing says what the server process does.
type pacing struct {
	Streams  int           // begin when so many requests are there; 0: begin with each at once
	Interval time.Duration // between the tokens of a stream; 0: as fast as they are taken
	LockStep bool          // all streams' tokens at the same instant, else evenly spread over the interval
	TTFT     time.Duration // with Streams 0: from the request's arrival in the kernel to its first token
	Limit    int           // tokens of an answer, whatever was asked; 0: what was asked
	PerWrite int           // events in one write; 0: 1
}

// sent is what the server knows of one request. Instants are Unix nanoseconds.
type sent struct {
	ID      string
	Arrived int64   // the kernel's stamp of the request's last packet
	Read    int64   // when this process had read it
	Sent    []int64 // just before the write of each token
}

// pacer writes all streams from one thread, in order of their deadlines, which are absolute: a late write does not
// move the ones after it.
type pacer struct {
	pacing
	jobs chan *job

	mu   sync.Mutex
	over []*sent
}

// job is one request being answered.
type job struct {
	fd     int
	tokens int
	truth  *sent
	due    int64 // Unix nanoseconds of the next token
	done   chan struct{}
}

func newPacer(p pacing) *pacer {
	if p.PerWrite == 0 {
		p.PerWrite = 1
	}
	return &pacer{pacing: p, jobs: make(chan *job, 1<<14)}
}

func (p *pacer) serve(l net.Listener) {
	if p.Interval > 0 {
		go p.pace()
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go p.connection(conn.(*net.TCPConn))
	}
}

// connection answers the requests of one connection.
func (p *pacer) connection(conn *net.TCPConn) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	fd := 0
	raw.Control(func(f uintptr) {
		fd = int(f)
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	in := &stampedReader{raw: raw}
	buf := bufio.NewReaderSize(in, 4096)
	for {
		req, err := http.ReadRequest(buf)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if req.URL.Path == "/truth" {
			p.tell(conn)
			continue
		}
		var ask struct {
			MaxTokens int    `json:"max_tokens"`
			RID       string `json:"rid"`
		}
		if json.Unmarshal(body, &ask) != nil {
			return
		}
		if p.Limit > 0 {
			ask.MaxTokens = min(ask.MaxTokens, p.Limit)
		}
		j := &job{fd: fd, tokens: ask.MaxTokens, done: make(chan struct{}),
			truth: &sent{ID: ask.RID, Arrived: in.stamp, Read: time.Now().UnixNano(), Sent: make([]int64, 0, ask.MaxTokens)}}
		if _, err := io.WriteString(conn, responseHead); err != nil {
			return
		}
		if p.Interval == 0 {
			p.burst(conn, j)
		} else {
			p.jobs <- j
			<-j.done
		}
		p.mu.Lock()
		p.over = append(p.over, j.truth)
		p.mu.Unlock()
		if _, err := io.WriteString(conn, ending); err != nil {
			return
		}
	}
}

// tell answers with what was sent so far, and forgets it.
func (p *pacer) tell(w io.Writer) {
	p.mu.Lock()
	text, err := json.Marshal(p.over)
	p.over = nil
	p.mu.Unlock()
	if err == nil {
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
}

const responseHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"

// An event as vLLM sends it, with usage in every chunk.
const event0 = `data: {"id":"chatcmpl-5f8a1c2b9d3e4f60","object":"chat.completion.chunk","created":1764580000,"model":"m",` +
	`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],` +
	`"usage":{"prompt_tokens":11,"total_tokens":%d,"completion_tokens":%d}}` + "\n\n"

var ending = httpChunk(`data: {"id":"chatcmpl-5f8a1c2b9d3e4f60","object":"chat.completion.chunk","created":1764580000,"model":"m",`+
	`"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}`+"\n\n") + httpChunk("data: [DONE]\n\n") + "0\r\n\r\n"

func httpChunk(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }

// eventOf is the event of the k-th token, from 1, in a chunk of its own.
func eventOf(k int) []byte { return []byte(httpChunk(fmt.Sprintf(event0, 11+k, k))) }

// burst writes as fast as the client takes it.
func (p *pacer) burst(w io.Writer, j *job) {
	var flush []byte
	const distinct = 20000 // tokens rendered once and sent again and again: rendering must not be what limits
	var flushes [][]byte
	for k := 1; k <= min(j.tokens, distinct); k++ {
		flush = append(flush, httpChunk(`data: {"id":"chatcmpl-5f8a1c2b9d3e4f60","object":"chat.completion.chunk","created":1764580000,"model":"m",`+
			`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`+"\n\n")...)
		if k%p.PerWrite == 0 {
			flushes, flush = append(flushes, flush), nil
		}
	}
	for i := range j.tokens / p.PerWrite {
		if _, err := w.Write(flushes[i%len(flushes)]); err != nil {
			return
		}
	}
}

// pace is the thread that writes tokens.
func (p *pacer) pace() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // sleeps then end within some 10 us
	events := renderEvents(4096)
	var queue schedule
	var waiting []*job
	for {
		waiting = p.take(waiting, len(queue) == 0)
		if n := max(p.Streams, 1); len(waiting) >= n || p.Streams == 0 {
			for i, j := range waiting {
				j.due = p.firstDue(j, i, len(waiting))
				heap.Push(&queue, j)
			}
			waiting = waiting[:0]
		}
		if len(queue) == 0 {
			continue
		}
		j := queue[0]
		if left := j.due - time.Now().UnixNano(); left > 0 {
			ts := syscall.NsecToTimespec(min(left, int64(time.Millisecond)))
			_ = syscall.Nanosleep(&ts, nil)
			if left > int64(time.Millisecond) {
				continue // look for new jobs meanwhile
			}
		}
		p.write(j, events)
		if len(j.truth.Sent) >= j.tokens {
			heap.Pop(&queue)
			close(j.done)
			continue
		}
		j.due += int64(p.Interval)
		heap.Fix(&queue, 0)
	}
}

// take receives jobs; it waits for one when there is nothing else to do.
func (p *pacer) take(waiting []*job, wait bool) []*job {
	if wait {
		waiting = append(waiting, <-p.jobs)
	}
	for {
		select {
		case j := <-p.jobs:
			waiting = append(waiting, j)
		default:
			return waiting
		}
	}
}

func (p *pacer) firstDue(j *job, i, n int) int64 {
	if p.Streams == 0 {
		return j.truth.Arrived + int64(p.TTFT)
	}
	due := time.Now().Add(50 * time.Millisecond).UnixNano()
	if !p.LockStep {
		due += int64(p.Interval) * int64(i) / int64(n)
	}
	return due
}

// write sends the next token of a stream. A socket that is full would mean that the client reads nothing for
// megabytes: the token is then lost, and the client sees a broken stream.
func (p *pacer) write(j *job, events [][]byte) {
	k := len(j.truth.Sent)
	now := time.Now().UnixNano()
	_, _ = unix.Write(j.fd, events[k%len(events)])
	j.truth.Sent = append(j.truth.Sent, now)
}

func renderEvents(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = eventOf(i + 1)
	}
	return out
}

// schedule is a heap of jobs by their next deadline.
type schedule []*job

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due < s[j].due }
func (s schedule) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)        { *s = append(*s, x.(*job)) }
func (s *schedule) Pop() any {
	old := *s
	j := old[len(old)-1]
	*s = old[:len(old)-1]
	return j
}

// stampedReader reads a connection and keeps the kernel's stamp of the latest packet.
type stampedReader struct {
	raw   syscall.RawConn
	stamp int64
}

func (r *stampedReader) Read(p []byte) (n int, err error) {
	var oob [64]byte
	var oobn int
	var failed error
	err = r.raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, failed = unix.Recvmsg(int(fd), p, oob[:], unix.MSG_DONTWAIT)
		return failed != unix.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	r.stamp = time.Now().UnixNano()
	if list, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
		for _, m := range list {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS {
				r.stamp = (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
			}
		}
	}
	return n, nil
}
