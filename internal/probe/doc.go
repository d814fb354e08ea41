// Package probe finds out what is being measured: which engine answers, which model it serves, what it can hold, and
// what the machine is.
//
// The steps:
//
//  1. Detect asks the server itself: its list of models, then the engines in turn by the endpoints that tell them apart
//     (one file per engine); a server that none of them knows is generic, and nothing about it is guessed;
//     then, when it answered on a loopback address, its process on this machine and how that was started;
//  2. Machine looks at this machine, as the host and, when the server runs here, as the hardware that is measured (one
//     file per kind);
//  3. ReadInfo reads what the user says, which wins over both;
//  4. Merge writes the facts into a run, redacted, each with its source.
//
// Later, while load runs, Server.Gauges reads the server's own counters; they stand beside what the client saw and
// never replace it.
//
// Every answer is hostile input: bodies are bounded, strings are cut to one short line, only named fields are kept (an
// engine's answer can hold its API key). The package sends no prompt, starts no load, and writes no file.
package probe
