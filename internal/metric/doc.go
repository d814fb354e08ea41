// Package metric says what each published number is, in words and in code, once.
//
//  1. catalogue.go lists the metrics: id, name of the page's column, unit, direction, definition, formula.
//  2. terms.go lists the words that go with them: kinds of TTFT, statuses, ways of counting tokens, outcomes.
//  3. warnings.go lists the caveats with their bounds and the sentences that pages show.
//  4. request.go and window.go compute the values of one request, or of the requests of one cell, from raw events.
//
// Everything here is a pure function of event values: no I/O, no clock, no state, no rounding. Instants and spans are
// integer microseconds, as in package event; scaling to milliseconds or seconds is the caller's. A value that does not
// exist is told by a false second result, never by 0. Requests may come from hostile files: no function panics on
// one, whatever its instants are; which requests are believed is decided by package summary.
package metric
