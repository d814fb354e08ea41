package eventlog_test

import (
	"reflect"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// rowsOf makes a request for each cell named, with so many chunks.
func rowsOf(chunks int, cells ...int32) (out []event.Request) {
	for i, cell := range cells {
		r := synthetic(0, 0, 1, chunks)[0]
		r.Cell, r.Ordinal = cell, int32(i)
		out = append(out, r)
	}
	return out
}

// Cells may be left out, have no requests, span pages or share one, and stand in any order in the file; a buffer serves one file after the other.
func TestLoadCells(t *testing.T) {
	var buf eventlog.Buffer
	for _, c := range []struct {
		name  string
		rows  []event.Request
		cells []int
		want  [][]int
	}{
		{"one after the other", rowsOf(3, 0, 0, 1, 2), []int{0, 1, 2}, [][]int{{3, 3}, {3}, {3}}},
		{"left out", rowsOf(3, 0, 0, 1, 2, 2), []int{0, 2}, [][]int{{3, 3}, {3, 3}}},
		{"without requests", rowsOf(3, 1, 3), []int{0, 1, 2, 3, 4}, [][]int{nil, {3}, nil, {3}, nil}},
		{"over several pages", rowsOf(90_000, 0, 0, 0, 0, 1, 1, 2), []int{0, 1, 2}, [][]int{{90_000, 90_000, 90_000, 90_000}, {90_000, 90_000}, {90_000}}},
		{"in no order", rowsOf(5, 2, 0, 1, 0), []int{0, 1, 2}, [][]int{{5, 5}, {5}, {5}}},
		{"no chunks", rowsOf(0, 0, 1), []int{0, 1}, [][]int{{0}, {0}}},
		{"nothing", nil, []int{0}, [][]int{nil}},
	} {
		got, err := eventlog.LoadCells(eventlog.EncodeUnchecked(c.rows), &buf, c.cells...)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// What is wrong with the chunks of a cell is told when it is loaded, and by every load after that.
func TestLoadCellsRefuses(t *testing.T) {
	rows := rowsOf(3, 0, 1, 2)
	rows[1].ChunkUS[2] = -1
	got, err := eventlog.LoadCells(eventlog.EncodeUnchecked(rows), &eventlog.Buffer{}, 0, 1, 2)
	if err == nil || !strings.Contains(err.Error(), "row 1: chunk 2: chunk_us -1") || len(got) != 1 {
		t.Errorf("%d cells, error %v", len(got), err)
	}
	rows = rowsOf(3, 0, 1, 2)
	rows[2].ChunkTokens = rows[2].ChunkTokens[:2]
	got, err = eventlog.LoadCells(eventlog.EncodeUnchecked(rows), &eventlog.Buffer{}, 0, 1, 2)
	if err == nil || !strings.Contains(err.Error(), "row 2: chunk_us has 3 values and chunk_tokens 2") || len(got) != 2 {
		t.Errorf("%d cells, error %v", len(got), err)
	}
}
