package metric_test

import (
	"testing"

	"speedmatrix/internal/metric"
)

// Seek finds the place that a plain walk finds, whatever it is told to begin with.
func TestSeek(t *testing.T) {
	us := []int64{1, 3, 3, 3, 8, 20, 21, 22, 23, 24, 90}
	for n := range len(us) + 1 {
		for at := int64(-1); at < 100; at++ {
			want := 0
			for want < n && us[want] <= at {
				want++
			}
			for guess := -3; guess < 2*len(us); guess++ {
				if got := metric.Seek(us[:n], at, guess); got != want {
					t.Fatalf("%d of %v are not later than %d, from the guess %d; want %d", got, us[:n], at, guess, want)
				}
			}
		}
	}
}
