// Package instrument tests that the measuring program knows when it is itself the bottleneck: a healthy client whose
// streams all get their tokens at the same instant is not called one, and one that gets a fraction of a core is.
package instrument
