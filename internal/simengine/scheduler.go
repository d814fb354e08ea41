package simengine

import (
	"slices"
	"sync"
	"time"
)

// scheduler steps the engine. Its goroutine exists only while there is work.
type scheduler struct {
	latency    Latency
	maxRunning int
	stepTokens int
	perStep    int     // tokens a decoding sequence gets in a step, in one chunk
	speed      float64 // durations are divided by it
	spread     bool    // send a step's tokens over the next step's time instead of all at once
	wait       waiter
	stop       chan struct{}   // closed by shutdown
	ended      func(*sequence) // called, with the lock held, when the scheduler is through with a sequence

	mu      sync.Mutex
	cache   kvCache
	waiting []*sequence
	running []*sequence
	alive   bool          // the goroutine exists
	over    chan struct{} // closed when it ends
	counts  counters

	idleSince   time.Time // when the last sequence left
	lastRunning int       // how many ran in the last step
}

// counters are the engine's totals since its start.
type counters struct {
	promptTokens, cachedTokens, outputTokens int64
	finished, aborted                        int64
}

// step is one pass of the engine: which sequences take part, and how far each prefill gets.
type step struct {
	seqs     []*sequence
	computed []int // prompt tokens of seqs[i] that are in the cache after the step
	length   time.Duration
}

// emission is a token on its way to a writer.
type emission struct {
	to *sequence
	d  delivery
}

// submit queues a sequence.
func (s *scheduler) submit(seq *sequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, seq)
	if !s.alive {
		s.alive = true
		s.over = make(chan struct{})
		go s.loop(s.over)
	}
}

// abort takes a sequence out: at once from the queue, after the current step when it runs. Its writer then gets a
// delivery that says "abort".
func (s *scheduler) abort(seq *sequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq.aborted = true
	if i := slices.Index(s.waiting, seq); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.finish(seq, "abort")
		seq.mail.put(delivery{finish: "abort"})
	}
}

// shutdown aborts everything and waits for the goroutine to end. It is called once, when nothing submits any more.
func (s *scheduler) shutdown() {
	close(s.stop)
	for _, seq := range s.find("") {
		s.abort(seq)
	}
	s.mu.Lock()
	alive, over := s.alive, s.over
	s.mu.Unlock()
	if alive {
		<-over
	}
}

// find returns the unfinished sequences whose id is given; all of them when id is "".
func (s *scheduler) find(id string) []*sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*sequence
	for _, seq := range slices.Concat(s.running, s.waiting) {
		if id == "" || seq.id == id {
			found = append(found, seq)
		}
	}
	return found
}

// maxCatchUp: a step makes up for a delay of at most its own length divided by this. A longer delay (the host was busy)
// shifts all that follows, as on a real engine: catching up would send several steps' tokens in one burst.
const maxCatchUp = 4

// loop steps until there is nothing to do. Each step's nominal end counts from the end of the step before it, so that
// a late wake-up does not shift what follows.
func (s *scheduler) loop(over chan<- struct{}) {
	defer close(over)
	nominal := time.Now()
	var late []emission
	for {
		st, ok := s.begin()
		if !ok {
			deliver(late)
			return
		}
		if time.Since(nominal) > st.length/maxCatchUp {
			nominal = time.Now()
		}
		s.deliverOver(late, nominal, st.length)
		nominal = nominal.Add(st.length)
		s.wait.until(nominal, s.stop)
		made := s.end(st, nominal)
		if s.spread {
			late = made
		} else {
			deliver(made)
		}
	}
}

// begin drops what was aborted, admits what fits and plans the next step; false when there is none, which ends the loop.
func (s *scheduler) begin() (step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(seq *sequence) bool {
		if seq.aborted {
			s.cache.release(seq)
			s.finish(seq, "abort")
			seq.mail.put(delivery{finish: "abort"})
		}
		return seq.aborted
	})
	s.admit()
	if len(s.running) == 0 {
		s.idleSince = time.Now()
		s.alive = false // nothing waits either: every request that was let in fits an empty cache
		return step{}, false
	}
	st := s.plan()
	s.lastRunning = len(s.running)
	return st, true
}

func (s *scheduler) admit() {
	for len(s.waiting) > 0 && len(s.running) < s.maxRunning {
		seq := s.waiting[0]
		cached, ok := s.cache.admit(seq)
		if !ok {
			return
		}
		s.waiting = s.waiting[1:]
		s.running = append(s.running, seq)
		seq.cached, seq.computed = cached, cached
		seq.truth.CachedTokens = cached
		seq.truth.AdmittedNS = unixNS(time.Now())
		s.counts.promptTokens += int64(seq.promptTokens)
		s.counts.cachedTokens += int64(cached)
	}
}

// plan gives each decoding sequence its token and the rest of the step's budget to prefills, in order of admission.
//
// A step is as long as its decode plus its prefill; a prefill that completes also takes part in the pass that gives
// its first token, so a step is never shorter than the decode of all its sequences.
func (s *scheduler) plan() step {
	var st step
	var prefill time.Duration
	decoding, decodeTokens, allTokens := 0, 0, 0
	for _, seq := range s.running {
		if !seq.prefilling() {
			decoding++
			decodeTokens += seq.promptTokens + seq.made
			st.seqs = append(st.seqs, seq)
			st.computed = append(st.computed, seq.computed)
		}
	}
	allTokens = decodeTokens
	budget := s.stepTokens - decoding
	for _, seq := range s.running {
		if n := min(budget, seq.promptTokens-seq.computed); n > 0 {
			budget -= n
			to := seq.computed + n
			prefill += s.latency.Prefill(seq.computed, to)
			allTokens += to
			st.seqs = append(st.seqs, seq)
			st.computed = append(st.computed, to)
		}
	}
	alone := s.latency.Decode(len(st.seqs), mean(allTokens, len(st.seqs)))
	length := max(s.latency.Decode(decoding, mean(decodeTokens, decoding))+prefill, alone)
	st.length = time.Duration(float64(length) / s.speed)
	return st
}

func mean(sum, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}

// end books what the step did and returns the tokens that it made.
func (s *scheduler) end(st step, nominal time.Time) []emission {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := make([]emission, 0, len(st.seqs))
	for i, seq := range st.seqs {
		n := s.perStep
		if seq.prefilling() {
			seq.computed = st.computed[i]
			s.cache.computed(seq, seq.computed)
			if seq.prefilling() {
				continue
			}
			n = 1
		}
		n = min(n, seq.stopAt-seq.made)
		seq.made += n
		s.counts.outputTokens += int64(n)
		d := delivery{tokens: n, nominal: nominal}
		if seq.made >= seq.stopAt && !seq.aborted {
			d.finish = seq.finish
		}
		made = append(made, emission{seq, d})
	}
	s.running = slices.DeleteFunc(s.running, func(seq *sequence) bool {
		done := seq.made >= seq.stopAt && !seq.aborted
		if done {
			s.cache.release(seq)
			s.finish(seq, seq.finish)
		}
		return done
	})
	return made
}

// finish books the end of a sequence; the lock is held.
func (s *scheduler) finish(seq *sequence, reason string) {
	if reason == "abort" {
		s.counts.aborted++
	} else {
		s.counts.finished++
	}
	s.ended(seq)
}

func deliver(made []emission) {
	for _, e := range made {
		e.to.mail.put(e.d)
	}
}

// deliverOver hands out tokens evenly over the time from start on.
func (s *scheduler) deliverOver(made []emission, start time.Time, length time.Duration) {
	for i, e := range made {
		at := start.Add(length * time.Duration(i) / time.Duration(len(made)))
		s.wait.until(at, s.stop)
		e.d.nominal = at
		e.to.mail.put(e.d)
	}
}

// load is the engine's state for its metrics.
type load struct {
	running, waiting int
	kvUsage          float64
	counts           counters
	sinceBusy        time.Duration // since the last sequence left
	lastRunning      int           // how many ran in the last step
}

func (s *scheduler) load() load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return load{len(s.running), len(s.waiting), s.cache.usage(), s.counts, time.Since(s.idleSince), s.lastRunning}
}

// busySlots tells of each slot whether it serves a request; nil when the cache has no slots.
func (s *scheduler) busySlots() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.cache.(*slotCache)
	if !ok {
		return nil
	}
	busy := make([]bool, len(c.slots))
	for i := range busy {
		busy[i] = c.slots[i].user != nil
	}
	return busy
}
