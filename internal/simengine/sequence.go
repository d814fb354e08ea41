package simengine

import (
	"sync"
	"sync/atomic"
	"time"
)

// sequence is one request inside the engine. The scheduler owns all but the mailbox at the end.
type sequence struct {
	id           string
	number       int      // arrival, from 1
	blocks       []uint64 // prompt's block hashes
	promptTokens int
	textSeed     uint64 // the prompt's hash: the same prompt is answered with the same text
	maxTokens    int    // output tokens for which room is reserved
	stopAt       int    // output tokens after which it finishes
	finish       string

	cached   int // prompt tokens found in the cache
	computed int // prompt tokens in the cache by now
	made     int // output tokens
	held     holding
	slot     int
	aborted  bool

	truth Served // the scheduler's part of the record

	mail    mailbox
	parties atomic.Int32 // scheduler and writer, until each is through

	// The writer's part of the record.
	fault             Fault
	nominalNS, sentNS []int64
}

// record joins what scheduler and writer know; both must be through.
func (s *sequence) record() Served {
	t := s.truth
	t.NominalNS, t.SentNS = s.nominalNS, s.sentNS
	if s.fault != "" {
		t.Finish = string(s.fault)
	}
	return t
}

// prefilling reports whether prompt tokens remain to be computed.
func (s *sequence) prefilling() bool { return s.computed < s.promptTokens }

// delivery is what the scheduler hands to a stream's writer: tokens that one step made.
type delivery struct {
	tokens  int
	nominal time.Time // when the step should have ended
	finish  string    // finish reason with the last tokens, "abort" when there will be no more; else ""
}

// mailbox passes deliveries from the scheduler, which never waits, to the one goroutine that writes the stream.
type mailbox struct {
	mu      sync.Mutex
	waiting []delivery
	wake    chan struct{} // holds one token while waiting is not empty
}

func newMailbox() mailbox { return mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(d delivery) {
	m.mu.Lock()
	m.waiting = append(m.waiting, d)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take returns what is waiting, in the order of put, reusing the given slice for later deliveries.
func (m *mailbox) take(reuse []delivery) []delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := m.waiting
	m.waiting = reuse[:0]
	return got
}
