package page

import (
	"fmt"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
	"speedmatrix/internal/unit"
)

// Row is one line of "All measurements", with the details that open below it.
type Row struct {
	ID          string // anchor: "decode-8k-16", "prefill-8k"
	Phase       string // "Prefill" or "Sustained decode"
	PhaseID     string // "prefill" or "decode", for the filter
	Context     Value
	Concurrency Value
	State       State
	Warnings    []string // in few words, shown in the row

	TokS, PerRequest, TTFT, Between, Active, Completed, Output, Measured Value

	ZeroWhy string // why no request was completed, or ""
	Details []Detail
}

// Detail is one line below a row.
type Detail struct {
	Term  string
	Value Value
	Note  string
}

// phaseWords are the seed's names of the two phases.
var phaseWords = map[event.Phase]string{event.Prefill: "Prefill", event.Decode: "Sustained decode"}

// cellID is the anchor of a cell: phase, label, and for decode the concurrency.
func cellID(c *summary.Cell) string {
	id := string(c.Phase) + "-" + slug(c.Label)
	if c.Phase == event.Decode {
		id += "-" + strconv.Itoa(c.Concurrency)
	}
	return id
}

// slug keeps letters, digits and dots of s, in lower case; what is left out becomes one dash.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "x"
}

// newRows lists prefill, then decode. Anchors are made unique, should two cells share a label.
func newRows(s *summary.Run) []Row {
	var out []Row
	seen := map[string]int{}
	for _, cells := range [][]summary.Cell{s.Prefill, s.Decode} {
		for i := range cells {
			row := newRow(s, &cells[i])
			if seen[row.ID]++; seen[row.ID] > 1 {
				row.ID += "-" + strconv.Itoa(seen[row.ID])
			}
			out = append(out, row)
		}
	}
	return out
}

func newRow(s *summary.Run, c *summary.Cell) Row {
	one := c.Concurrency
	row := Row{
		ID: cellID(c), PhaseID: string(c.Phase), Phase: phaseWords[c.Phase],
		Context:     Value{Text: Clean(c.Label), Raw: strconv.Itoa(c.Context)},
		Concurrency: wholeValue(&one), State: newState(c),
		TokS: value(c.TokS, unit.Rate), PerRequest: value(c.PerRequestTokS, unit.Rate),
		TTFT: value(c.TTFTMS, unit.Millis), Between: value(c.BetweenTokensMS, unit.MillisFine),
		Active: value(c.ActiveRequests, unit.Decimal), Completed: wholeValue(c.CompletedRequests),
		Output: wholeValue(c.OutputTokens), Measured: value(c.MeasuredS, unit.Seconds),
		ZeroWhy: zeroCompleted(s, c), Details: newDetails(s, c),
	}
	for _, w := range c.Warnings {
		row.Warnings = append(row.Warnings, warningLabel(w))
	}
	return row
}

// warningLabel is a warning in few words: its id without dashes.
func warningLabel(w summary.Warning) string {
	return clip(Clean(strings.ReplaceAll(w.ID, "-", " ")), 40)
}

// answerTooLong begins the usual reason why a row completed nothing.
const answerTooLong = "an answer of "

// zeroCompleted explains a measured decode cell in which no request was completed: the answer takes longer than
// the window. Where that does not explain it, it says only what happened.
func zeroCompleted(s *summary.Run, c *summary.Cell) string {
	if c.Phase != event.Decode || !measured(c) || c.CompletedRequests == nil || *c.CompletedRequests != 0 {
		return ""
	}
	if failed := failureText(c.Failures); failed != "" && c.Status == event.Failed {
		return "no request finished inside the window: " + failed
	}
	tokens := s.Facts.Method.OutputTokens
	if c.PerRequestTokS == nil || *c.PerRequestTokS <= 0 || !finite(*c.PerRequestTokS) || tokens == 0 || c.MeasuredS == nil {
		return "no request finished inside the window"
	}
	need := float64(tokens) / *c.PerRequestTokS
	if need <= *c.MeasuredS {
		return "no request happened to finish inside the window"
	}
	return fmt.Sprintf(answerTooLong+"%s tokens at %s tok/s takes %s, longer than the window of %s",
		unit.Count(&tokens), unit.Rate(c.PerRequestTokS), unit.Seconds(&need), unit.Seconds(c.MeasuredS))
}

// zeroNote is the footnote for all rows that completed nothing, "" when there are none.
func zeroNote(s *summary.Run, rows []Row) string {
	usual, other := false, false
	for _, r := range rows {
		if r.ZeroWhy != "" {
			tooLong := strings.HasPrefix(r.ZeroWhy, answerTooLong)
			usual, other = usual || tooLong, other || !tooLong
		}
	}
	switch {
	case !usual && !other:
		return ""
	case !usual:
		return "Completed requests 0: no request ended inside the window; the row's details say why."
	}
	tokens := s.Facts.Method.OutputTokens
	note := fmt.Sprintf("Completed requests 0: the answer (%s tokens) takes longer than the window, so no request "+
		"ended inside it. Its tokens are counted all the same; the row's details give the arithmetic.", unit.Count(&tokens))
	if other {
		note += " Where it is for another reason, they give that."
	}
	return note
}
