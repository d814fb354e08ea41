// Package summary turns the raw events of one run into the numbers, statuses and warnings of its pages.
//
// The steps from file to table:
//
//  1. check.go refuses what cannot be a record of a run: requests of cells that do not exist, windows out of order. All problems
//     are told at once.
//  2. group.go sorts the requests by cell and pass, whatever order they came in, and health.go the samples.
//  3. look.go goes once over the arrivals of a cell: it refuses those that go backwards and counts the gaps between chunks (gaps.go). From then on
//     they are only searched: window.go counts what arrived in the window of each pass of a decode cell; ttft.go tells the kinds of TTFT apart.
//  4. decode.go puts the passes of a cell together; prefill.go does so for the cold samples of a prefill row.
//     Repeats: rates are the mean of the repeats' rates; latencies are pooled over the repeats and then summarised;
//     output tokens, seconds and counts are summed; time averages are weighted by the length of the windows.
//  5. status.go derives what became of the cell, caveats.go what a reader must know of it.
//  6. summarize.go compares cells of one context (scaling) and adds the title and what holds for the run as a whole.
//
// Summarize is a function of its arguments: it reads no clock and no file, never changes what it is given, and gives the
// same result for the same events in any order. It never rounds, and never prints 0 for what is not known.
package summary
