//go:build bench

package site

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// yardsticks is the mean of yardstick on all cores at once.
func yardsticks(t *testing.T, events []byte) float64 {
	t.Helper()
	speeds := make([]float64, runtime.NumCPU())
	var all sync.WaitGroup
	for i := range speeds {
		all.Go(func() { speeds[i] = yardstick(t, events, 200*time.Millisecond) })
	}
	all.Wait()
	var sum float64
	for _, s := range speeds {
		sum += s
	}
	return sum / float64(len(speeds))
}

// yardstick returns how many million arrivals of tokens parquet-go itself reads in a second on one core, page by page,
// from events, the bytes of a requests.parquet.
func yardstick(t *testing.T, events []byte, long time.Duration) float64 {
	t.Helper()
	read, began := 0, time.Now()
	for time.Since(began) < long {
		n, err := readArrivals(events)
		if err != nil || n == 0 {
			t.Errorf("%d arrivals, error %v", n, err)
			return 0
		}
		read += n
	}
	return float64(read) / time.Since(began).Seconds() / 1e6
}

// restDisk waits until the disk takes new files at a good speed, but not for long. ext4 makes files many times slower
// for five minutes after others were deleted, which the tests before this benchmark do in thousands.
func restDisk(t *testing.T) {
	t.Helper()
	const good, pause, longest = 25, 20 * time.Second, 6 * time.Minute
	for began := time.Now(); time.Since(began) < longest; time.Sleep(pause) {
		speed := newFiles(t)
		if speed >= good {
			return
		}
		t.Logf("the disk takes %.0f new files a millisecond; waiting for it to forget what was deleted", speed)
	}
}

// newFiles returns how many empty files are made in a millisecond in a new folder.
func newFiles(t *testing.T) float64 {
	t.Helper()
	const files = 500
	folder, began := t.TempDir(), time.Now()
	for i := range files {
		if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files / time.Since(began).Seconds() / 1000
}

// readArrivals decodes the column of arrivals and returns how many there are.
func readArrivals(events []byte) (int, error) {
	file, err := parquet.OpenFile(bytes.NewReader(events), int64(len(events)))
	if err != nil {
		return 0, err
	}
	column, ok := file.Schema().Lookup("chunk_us", "list", "element")
	if !ok {
		return 0, errors.New("no column chunk_us.list.element")
	}
	n := 0
	for _, group := range file.RowGroups() {
		pages := group.ColumnChunks()[column.ColumnIndex].Pages()
		for {
			page, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err != nil {
				return 0, errors.Join(err, pages.Close())
			}
			data := page.Data()
			n += len(data.Int64())
			parquet.Release(page)
		}
		if err := pages.Close(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// readEvents returns the bytes of the events of one of the runs.
func readEvents(t *testing.T, results string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "requests.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no events in %s (%v)", results, err)
	}
	events, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
