// Package eventlog owns the files of a run: run.toml, requests.parquet and samples.parquet, of every schema version.
//
// A run is written in these steps, each of which a kill may follow:
//
//  1. Create makes <results>/<id>.partial with its run.toml, and locks it against a second process.
//  2. Part writes one pass of one cell as two parquet files, each to a temporary name, synced, then renamed.
//     The requests come last: a pass counts as finished when its requests file has its name.
//  3. Save replaces run.toml in the same way, whenever a fact or a status has changed.
//  4. Complete merges the parts into requests.parquet and samples.parquet, writes run.toml with their digests and
//     the state complete, removes the parts, and last takes ".partial" off the folder's name.
//
// Resume takes a .partial folder up again wherever it was left. Open reads a finished run, or what a .partial holds.
//
// Reading is strict and bounded, since contributed runs are hostile input: unknown keys, other columns than the
// version's own, sizes above the documented bounds, and links that leave the folder are errors, never a panic.
// parquet-go writes the files; the pages are decoded here, because its reader trusts the sizes that a file declares
// and fills a missing or renamed column with zeros.
//
// The package computes no number, reads no clock and opens no connection.
package eventlog
