// Package plan decides a whole run before any load is sent.
//
//  1. [Standard] gives the default matrix, the user changes it, [Validate] names every mistake at once.
//  2. [Build] holds it against what the server can take: contexts are trimmed or ruled out by the model's
//     limit, cells are ruled out by the KV cache, each with a reason in words and figures.
//  3. [Plan.Order] is the sequence of passes; [StaggerOffsets] lays out the streams of one pass.
//  4. [Estimate] says what the run costs in prompt tokens and time, [Plan.Table] is its printed form.
//
// A plan is a function of its arguments alone: the package reads no clock, no file and no network, and every
// random choice comes from the seed in [Config].
package plan
