// Package simengine is the built-in simulated inference engine: an HTTP server that behaves in time as a real
// one does, so that the measuring program can be demonstrated and tested without a GPU.
//
// A request passes these steps:
//
//  1. The handler parses it, counts its prompt with a small deterministic tokenizer and hashes it in blocks.
//  2. It waits for the front end (tokenizing and scheduling overhead, from the profile's restart figures).
//  3. It queues, first in first out, until a running place and enough KV blocks for prompt and output are free.
//     Blocks whose hash is in the cache are not computed again.
//  4. One scheduler goroutine steps: every running sequence gets a token a step, and what is left of the step's
//     token budget goes to prefill. A step's length comes from the profile's tables (see Profile).
//  5. The handler's goroutine writes each token as its own event, stamped with the instant just before the write.
//
// All waiting is by timers and channels, so that a whole measurement over Pipe runs in a testing/synctest bubble.
// There is no randomness but Options.Seed's, and no goroutine outlives the work it was started for.
//
// The package computes no model and never claims to be a real machine: every answer carries the header
// X-Speedmatrix-Simulated, and every fact about hardware says "Simulated engine".
package simengine
