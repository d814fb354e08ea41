//go:build bench

package site

import (
	"fmt"
	"math/rand/v2"
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

	"github.com/parquet-go/parquet-go/encoding/delta"

	"speedmatrix/internal/synth"
	"speedmatrix/tests/programs"
)

// TestBenchSite prints how long a site of many synthetic runs of the seed's size takes to build, and how much memory: make bench-site.
// BENCH_RUNS is a list of sizes, "100,1000,10000" without it (about 5 minutes). Four of the runs have events of their own, the others are the same
// files under other names and facts, so a site of 1,000 runs needs 10 MB of disk and not 2 GB. Before each cold build it prints how fast the machine is just
// then, by how many values parquet-go decodes: shared machines differ by half from one minute to the next.
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
	fmt.Printf("%8d  parquet-go decodes %.0f M deltas a second on one core\n", n, yardstick(t, 500*time.Millisecond))
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
// work, and prints the median of the builds, and of what each would take where parquet-go decodes 530 M deltas a second a core: make bench-site.
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
	var speeds, times, scaled []float64
	before := yardsticks(t)
	for i := range builds {
		cmd := exec.Command(filepath.Join(string(bin), "sitegen"), "build", "--results", results,
			"--out", filepath.Join(dir, fmt.Sprint("site", i)), "--cache", filepath.Join(dir, fmt.Sprint("cache", i)))
		cmd.Dir = dir
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		took := float64(time.Since(began).Microseconds()) / 1000 / runs
		after := yardsticks(t)
		speed := (before + after) / 2
		speeds, times, scaled = append(speeds, speed), append(times, took), append(scaled, took*speed/usual)
		before = after
	}
	fmt.Printf("%d cold builds of %d runs, medians: %.1f ms of wall time a run at %.0f M deltas a second a core; %.1f ms at %d M\n",
		builds, runs, median(times), median(speeds), median(scaled), usual)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// yardsticks is the mean of yardstick on all cores at once.
func yardsticks(t *testing.T) float64 {
	t.Helper()
	speeds := make([]float64, runtime.NumCPU())
	var all sync.WaitGroup
	for i := range speeds {
		all.Go(func() { speeds[i] = yardstick(t, 200*time.Millisecond) })
	}
	all.Wait()
	var sum float64
	for _, s := range speeds {
		sum += s
	}
	return sum / float64(len(speeds))
}

// yardstick returns how many million arrivals, a few milliseconds apart, parquet-go decodes in a second on one core.
func yardstick(t *testing.T, long time.Duration) float64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, 100_000)
	at := int64(0)
	for i := range values {
		at += 8000 + random.Int64N(900)
		values[i] = at
	}
	var e delta.BinaryPackedEncoding
	data, err := e.EncodeInt64(nil, values)
	if err != nil {
		t.Error(err)
		return 0
	}
	decoded, began := 0, time.Now()
	for time.Since(began) < long {
		out, err := e.DecodeInt64(values, data)
		if err != nil || len(out) != len(values) {
			t.Errorf("%d values, error %v", len(out), err)
			return 0
		}
		decoded += len(out)
	}
	return float64(decoded) / time.Since(began).Seconds() / 1e6
}
