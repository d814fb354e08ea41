package summary

import (
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
)

const percentiles = 100 // steps of Distribution.Quantiles

// distribution describes values that need not be sorted or finite.
func distribution(values []float64) Distribution {
	sorted := stat.Sorted(values)
	return describe(len(sorted), func(i int) float64 { return sorted[i] })
}

// describe makes a Distribution of n values, given the i-th smallest. It asks for each at most once, in ascending order of i.
// Median, p90 and p99 are members of the grid of quantiles, hence one definition serves all.
func describe(n int, at func(i int) float64) Distribution {
	if n == 0 {
		return Distribution{}
	}
	value := lastTwo(at)
	grid := make([]float64, percentiles+1)
	for k := range grid {
		i, part := stat.Rank(n, float64(k)/percentiles)
		grid[k] = value(i)
		if part > 0 {
			grid[k] = stat.Between(grid[k], value(i+1), part)
		}
	}
	d := Distribution{N: n, Quantiles: grid, Min: ptr(grid[0]), Median: ptr(grid[50]), Max: ptr(grid[percentiles])}
	if n >= metric.MinP90 {
		d.P90 = ptr(grid[90])
	}
	if n >= metric.MinP99 {
		d.P99 = ptr(grid[99])
	}
	return d
}

// lastTwo remembers the last two values asked for: neighbouring quantiles of few values lie between the same two.
func lastTwo(at func(i int) float64) func(i int) float64 {
	index, value := [2]int{-1, -1}, [2]float64{}
	return func(i int) float64 {
		switch i {
		case index[1]:
			return value[1]
		case index[0]:
			return value[0]
		}
		index[0], value[0] = index[1], value[1]
		index[1], value[1] = i, at(i)
		return value[1]
	}
}

// ptr returns a pointer to a copy of v that shares nothing.
func ptr[T any](v T) *T { return &v }

// found returns v as a number that may not exist.
func found(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}
