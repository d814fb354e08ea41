package summary_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"speedmatrix/internal/summary"
)

// Chunks that come cell by cell, and are gone with the next cell, give the numbers that those give which are all there.
func TestChunksCellByCell(t *testing.T) {
	run, requests, samples := synthetic(seedShapes(), 6, 300, 1)
	want, err := summary.Summarize(run, requests, samples)
	if err != nil {
		t.Fatal(err)
	}
	bare := slices.Clone(requests)
	clearChunks := func() {
		for i := range bare {
			bare[i].ChunkUS, bare[i].ChunkTokens = nil, nil
		}
	}
	var order []int
	load := func(cell int) error {
		clearChunks()
		order = append(order, cell)
		for i := range bare {
			if int(bare[i].Cell) == cell {
				bare[i].ChunkUS, bare[i].ChunkTokens = requests[i].ChunkUS, requests[i].ChunkTokens
			}
		}
		return nil
	}
	clearChunks()
	var memory summary.Buffer
	for range 2 { // the second time in memory that was used
		order = nil
		got, err := summary.SummarizeIn(&memory, run, bare, load, samples)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("other numbers cell by cell, error %v", err)
		}
		for i, cell := range order {
			if i != cell || len(order) != len(run.Cells) {
				t.Fatalf("cells are loaded in the order %v, want each once, ascending", order)
			}
		}
	}
	broken := errors.New("page 3 is damaged")
	_, err = summary.SummarizeIn(&memory, run, bare, func(cell int) error {
		if cell == 2 {
			return broken
		}
		return load(cell)
	}, samples)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if got, err := summary.SummarizeIn(&memory, run, bare, load, samples); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("other numbers after a run that could not be read, error %v", err)
	}
}
