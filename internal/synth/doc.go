// Package synth makes synthetic runs: no server was measured. They have the shape, size and columns of real ones, for
// benchmarks and for tests of everything that reads many runs.
//
//  1. Make plans the cells of a matrix and invents the requests and samples of a lock-step engine, from a seed alone.
//  2. Store writes such a run as a results folder; Copy gives it another identity (model, GPU, engine, date) without
//     inventing its events again.
//
// Every run says so wherever it is named: its engine is marked as simulated, and its model, GPU and profile are called
// "synthetic". Only tests and benchmarks import the package. It reads no clock.
package synth
