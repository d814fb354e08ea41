// Package bench holds the benchmarks of the instrument: how exact and how cheap the client is, next to a plain client
// of net/http and encoding/json, against a paced server that knows when it sent each token. It has no code but in its
// tests. The server is another process (the test binary again), so that the CPU time of the first one is the client's.
//
// The steps of each benchmark: start the server; open all connections; stream; ask the server for its own instants;
// report errors and costs as metrics. Nothing is asserted about time, here or anywhere. Run all with
//
//	make bench-instrument
//
// or one with: go test -run '^$' -bench Spread128 -benchtime 1x ./internal/bench. The figures of record, and how they were
// taken, are in docs/performance.md.
package bench
