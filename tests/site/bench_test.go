//go:build bench

package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"speedmatrix/internal/synth"
	"speedmatrix/tests/programs"
)

// TestBenchSite prints how long a site of many synthetic runs of the seed's size takes to build, and how much memory: make bench-site.
// BENCH_RUNS is a list of sizes, "100,1000,10000" without it (about 5 minutes). Four of the runs have events of their own, the others are the same
// files under other names and facts, so a site of 1,000 runs needs 10 MB of disk and not 2 GB. Before each cold build it prints how fast the machine is just
// then, by how many tokens parquet-go's pages give: shared machines differ by half from one minute to the next.
func TestBenchSite(t *testing.T) {
	sizes := os.Getenv("BENCH_RUNS")
	if sizes == "" {
		sizes = "100,1000,10000"
	}
	bin := programs.Build(t)
	fmt.Printf("%8s  %-28s %9s %9s %11s %12s %12s\n", "runs", "build", "wall", "CPU", "memory", "wall a run", "CPU a run")
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		benchSize(t, bin, n)
	}
}

func benchSize(t *testing.T, bin programs.Bin, n int) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	ids := synth.Identities(n + 1)
	var own []string
	add := func(id synth.Identity, i int) {
		t.Helper()
		var err error
		if i < 4 {
			var folder string
			folder, err = synth.Store(results, synth.Config{Seed: uint64(i + 1), Slow: 1 + 0.05*float64(i)}, id)
			own = append(own, folder)
		} else {
			_, err = synth.Copy(results, own[i%len(own)], id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids[:n] {
		add(id, i)
	}
	build := func(what string, more ...string) {
		t.Helper()
		args := append([]string{"build", "--results", results, "--out", filepath.Join(dir, "site"), "--cache", filepath.Join(dir, "cache")}, more...)
		cmd := exec.Command(filepath.Join(string(bin), "sitegen"), args...)
		cmd.Dir = dir
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wall := time.Since(began)
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		perRun := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
		fmt.Printf("%8d  %-28s %7.2f s %7.2f s %8d MB %9.2f ms %9.2f ms\n",
			n, what, wall.Seconds(), cpu.Seconds(), usage.Maxrss/1024, perRun(wall), perRun(cpu))
	}
	files := restedDisk(t, dir)
	fmt.Printf("%8d  parquet-go reads %.0f M tokens a second on one core, and the disk takes %.0f new files a millisecond\n",
		n, yardstick(t, readEvents(t, results), 500*time.Millisecond), files)
	build("cold")
	build("warm, nothing new")
	add(ids[n], n)
	build("warm, one new run")
	overrides := filepath.Join(dir, "overrides")
	if err := os.MkdirAll(overrides, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(overrides, "stone.html"), []byte(`{{define "content"}}<h1>{{.Heading}}</h1>{{end}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	build("a template changed", "--overrides", overrides)
}

// TestBenchSiteByYardstick builds a site of 100 runs cold, again and again, each time between two looks at how fast the machine is with all of its cores at
// work, and prints the median of the builds, and of what each would take where parquet-go reads 530 M tokens a second a core: make bench-site.
func TestBenchSiteByYardstick(t *testing.T) {
	const (
		builds, runs = 30, 100
		usual        = 530
	)
	bin := programs.Build(t)
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	if err := synth.Fill(results, runs); err != nil {
		t.Fatal(err)
	}
	restedDisk(t, dir)
	var speeds, times, scaled []float64
	events := readEvents(t, results)
	before := yardsticks(t, events)
	for i := range builds {
		cmd := exec.Command(filepath.Join(string(bin), "sitegen"), "build", "--results", results,
			"--out", filepath.Join(dir, fmt.Sprint("site", i)), "--cache", filepath.Join(dir, fmt.Sprint("cache", i)))
		cmd.Dir = dir
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		took := float64(time.Since(began).Microseconds()) / 1000 / runs
		after := yardsticks(t, events)
		speed := (before + after) / 2
		speeds, times, scaled = append(speeds, speed), append(times, took), append(scaled, took*speed/usual)
		before = after
	}
	fmt.Printf("%d cold builds of %d runs, medians: %.1f ms of wall time a run where parquet-go reads %.0f M tokens a second a core; %.1f ms at %d M\n",
		builds, runs, median(times), median(speeds), median(scaled), usual)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}

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

// restedDisk waits until the disk takes new files at a good speed, but not for long, and returns that speed in files a
// millisecond. ext4 makes files many times slower for five minutes after others were deleted, which the tests before
// this benchmark do in thousands.
func restedDisk(t *testing.T, folder string) float64 {
	t.Helper()
	const good, pause, longest = 50, 20 * time.Second, 6 * time.Minute
	for began := time.Now(); ; time.Sleep(pause) {
		speed := newFiles(t, folder)
		if speed >= good || time.Since(began) > longest {
			return speed
		}
		t.Logf("the disk takes %.0f new files a millisecond; waiting for it to forget what was deleted", speed)
	}
}

// newFiles returns how many empty files are made in a millisecond in a new folder below the given one.
func newFiles(t *testing.T, folder string) float64 {
	t.Helper()
	folder, err := os.MkdirTemp(folder, "files")
	if err != nil {
		t.Fatal(err)
	}
	const files = 500
	began := time.Now()
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
