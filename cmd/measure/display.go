package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/session"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// A display tells of a run under way: a row for each finished pass, and on a terminal one live row below them.
// The live row is drawn by a goroutine of its own that reads atomics; a slow terminal delays no measurement.
type display struct {
	out   io.Writer
	json  bool
	live  bool
	width func() int
	watch *load.Watch
	run   event.Run
	plan  plan.Plan

	expect  map[plan.Step]time.Duration // what the plan expects of each pass
	left    time.Duration               // expected of the passes that are not finished
	passed  time.Duration               // expected of those that are
	began   time.Time
	seen    int64 // tokens at the last drawing
	seenAt  time.Time
	rate    float64
	stop    chan struct{}
	stopped sync.WaitGroup
	queue   chan session.Finished
}

// redrawEvery is how often the live row is drawn.
const redrawEvery = 250 * time.Millisecond

// queued rows wait here while the terminal is slow; a run has fewer passes than this many times over.
const displayQueue = 1 << 16

func (o *options) newDisplay(p process, t target, watch *load.Watch, run event.Run) *display {
	d := &display{
		out: p.stdout, json: o.json, live: p.terminal && !o.quiet && !o.json, width: p.width, watch: watch,
		run: run, plan: t.plan, began: time.Now(), stop: make(chan struct{}), queue: make(chan session.Finished, displayQueue),
		expect: map[plan.Step]time.Duration{},
	}
	if o.quiet {
		d.out = io.Discard
	}
	for i, e := range t.expectation().Steps {
		d.expect[t.plan.Order[i]] = e.Duration
		d.left += e.Duration
	}
	if !d.json {
		fmt.Fprintf(d.out, "\n%s\n", rowHead)
	}
	d.stopped.Go(d.loop)
	return d
}

// done takes a finished pass; it never waits for the output.
func (d *display) done(f session.Finished) { d.queue <- f }

// close prints what is still queued and clears the live row.
func (d *display) close() {
	close(d.stop)
	d.stopped.Wait()
}

func (d *display) loop() {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case f := <-d.queue:
			d.row(f)
		case <-tick.C:
			d.draw()
		case <-d.stop:
			for len(d.queue) > 0 {
				d.row(<-d.queue)
			}
			d.clear()
			return
		}
	}
}

const rowHead = "   cell       tok/s        TTFT    between  status"

// row prints a finished pass, with the numbers that its page will have.
func (d *display) row(f session.Finished) {
	d.clear()
	d.left, d.passed = d.left-d.expect[f.Step], d.passed+d.expect[f.Step]
	c := passNumbers(d.run, f)
	if d.json {
		d.printJSON(f, c)
		return
	}
	note := string(c.Status)
	if c.Reason != "" {
		note += ": " + c.Reason
	}
	fmt.Fprintf(d.out, "%12s  %9s  %10s  %9s  %s\n", cellName(f.Cell), unit.Rate(c.TokS), unit.Millis(c.TTFTMS), unit.MillisFine(c.BetweenTokensMS), note)
}

// cellName is "8K x 4", or "8K prefill".
func cellName(c event.Cell) string {
	if c.Phase == event.Prefill {
		return c.Label + " prefill"
	}
	return fmt.Sprintf("%s x %d", c.Label, c.Concurrency)
}

// passNumbers computes the numbers of one pass the way the site does.
func passNumbers(run event.Run, f session.Finished) summary.Cell {
	cell := f.Cell
	cell.Passes = []event.Pass{f.Result.Pass}
	if cell.Status != event.Ran {
		cell.Passes = nil
	}
	run.Cells = make([]event.Cell, f.Step.Cell+1)
	for i := range run.Cells {
		run.Cells[i] = event.Cell{Phase: event.Decode, Context: 1, Concurrency: 1, Status: event.NotRun}
	}
	run.Cells[f.Step.Cell] = cell
	fallback := summary.Cell{Status: f.Result.Status, Reason: f.Result.Reason}
	s, err := summary.Summarize(run, f.Result.Requests, f.Result.Samples)
	if err != nil {
		fallback.Reason = err.Error()
		return fallback
	}
	for _, list := range [][]summary.Cell{s.Prefill, s.Decode} {
		for _, c := range list {
			if c.Index == f.Step.Cell {
				return c
			}
		}
	}
	return fallback
}

func (d *display) printJSON(f session.Finished, c summary.Cell) {
	line, err := json.Marshal(map[string]any{
		"phase": f.Cell.Phase, "context": f.Cell.Context, "label": f.Cell.Label, "concurrency": f.Cell.Concurrency,
		"repeat": f.Step.Repeat, "status": c.Status, "reason": c.Reason, "tok_s": c.TokS, "ttft_ms": c.TTFTMS,
		"time_between_tokens_ms": c.BetweenTokensMS, "number": f.Number, "total": f.Total,
	})
	if err == nil {
		fmt.Fprintf(d.out, "%s\n", line)
	}
}

// draw draws the live row: cell, phase, current rate, TTFT, time left.
func (d *display) draw() {
	if !d.live {
		return
	}
	i := int(d.watch.Cell.Load())
	if i >= len(d.plan.Cells) {
		return
	}
	phase := load.Phase(d.watch.Phase.Load())
	text := fmt.Sprintf("%12s  %9s  %10s  %9s  %s", cellName(d.plan.Cells[i]), d.currentRate(), d.currentTTFT(), "", d.progress(phase))
	fmt.Fprintf(d.out, "\r%s\x1b[K", cut(text, d.width()-1))
}

func (d *display) clear() {
	if d.live {
		fmt.Fprint(d.out, "\r\x1b[K")
	}
}

// currentRate is the tokens a second since the last drawing, smoothed over about two seconds.
func (d *display) currentRate() string {
	var tokens int64
	lives := d.watch.Lives()
	for _, l := range lives {
		tokens += l.Tokens.Load()
	}
	now := time.Now()
	if len(lives) == 0 || tokens < d.seen {
		d.seen, d.seenAt, d.rate = tokens, now, 0
		return ""
	}
	if span := now.Sub(d.seenAt).Seconds(); span > 0 && !d.seenAt.IsZero() {
		const weight = 0.15
		sample := float64(tokens-d.seen) / span
		if d.rate == 0 {
			d.rate = sample
		}
		d.rate += weight * (sample - d.rate)
	}
	d.seen, d.seenAt = tokens, now
	return unit.Rate(&d.rate)
}

// currentTTFT is the largest of the streams' latest times to first token.
func (d *display) currentTTFT() string {
	var worst int64
	for _, l := range d.watch.Lives() {
		worst = max(worst, l.TTFTUS.Load())
	}
	if worst == 0 {
		return ""
	}
	ms := float64(worst) / 1000
	return unit.Millis(&ms)
}

// progress is the phase with how far it is, and the time left for the whole run.
func (d *display) progress(phase load.Phase) string {
	text := phase.String()
	if n := d.watch.Steps.Load(); n > 0 && phase == load.Scouting {
		text = fmt.Sprintf("%s %d/%d", text, d.watch.Step.Load(), n)
	}
	if end := d.watch.WindowEnd.Load(); end > 0 && phase == load.Measuring {
		passed := time.Since(d.run.Started).Microseconds() - d.watch.WindowStart.Load()
		text = fmt.Sprintf("%s %.0f/%.0f s", text, float64(max(0, passed))/1e6, float64(end-d.watch.WindowStart.Load())/1e6)
	}
	return text + ", " + unit.About(d.timeLeft(time.Since(d.began))) + " left"
}

// timeLeft corrects what the plan expects of the passes to come by how the finished ones went: the plan counts the
// whole probe phase, and may not know how fast the server reads prompts.
func (d *display) timeLeft(gone time.Duration) time.Duration {
	const least, most = 0.2, 10
	if d.passed < time.Second {
		return max(0, d.left-gone)
	}
	pace := min(most, max(least, gone.Seconds()/d.passed.Seconds()))
	return time.Duration(float64(d.left) * pace)
}

// wrap breaks text at spaces so that no line is longer than width; longer words stay whole.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// cut shortens text to n characters.
func cut(text string, n int) string {
	r := []rune(text)
	if n > 0 && len(r) > n {
		return strings.TrimRight(string(r[:n]), " ")
	}
	return text
}
