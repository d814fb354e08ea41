// Package page builds one typed model for each kind of page: Home, Run, Methodology and NotFound. A model is
// complete: titles, links, formatted numbers with their raw values, sentences, chart figures. A template only
// places them.
//
//  1. Frame holds what all pages share (title, relative root, menu).
//  2. NewRun turns a summary.Run into the blocks of the run page, in the order of the page: facts, prefill bars,
//     decode matrix, footnotes, all measurements, figures, method, downloads.
//  3. NewTwin, CellsCSV, NewCurves and NewIndex give the same numbers to machines, unrounded.
//  4. NewHome lists runs, NewMethodology joins the metric catalogue with Markdown written by hand.
//
// The package reads no file, no clock and no environment, and knows no template engine: what it returns depends
// on its arguments alone. Text that comes from a run is hostile: it is cleaned of control and bidirectional
// override characters here (Clean) and escaped by the template engine; Markdown never yields raw HTML.
package page
