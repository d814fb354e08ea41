package main

import (
	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/internal/summary"
)

// summarize reads a run's folder and computes its numbers.
func summarize(dir string) (summary.Run, error) {
	log, err := eventlog.Open(dir)
	if err != nil {
		return summary.Run{}, err
	}
	reqs, err := log.Requests()
	if err != nil {
		return summary.Run{}, err
	}
	samples, err := log.Samples()
	if err != nil {
		return summary.Run{}, err
	}
	return summary.Summarize(log.Run(), reqs, samples)
}

// failedCells counts the cells whose status is failed.
func failedCells(s summary.Run) (n int) {
	for _, list := range [][]summary.Cell{s.Prefill, s.Decode} {
		for _, c := range list {
			if c.Status == event.Failed {
				n++
			}
		}
	}
	return n
}
