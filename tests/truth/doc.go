// Package truth holds what measure says against what the simulated engine really sent; see its test.
package truth
