//go:build bench

package site

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"speedmatrix/internal/synth"
	"speedmatrix/tests/programs"
)

// TestBenchSite prints how long a site of many synthetic runs of the seed's size takes to build, and how much memory: make bench-site.
// BENCH_RUNS is a list of sizes, "100,1000,10000" without it (about 5 minutes, and up to 6 for a disk to rest). All cold builds come first, since the later
// ones delete files of the old sites. Before each it prints how fast the machine is just then: shared machines differ by half from one minute to the next.
func TestBenchSite(t *testing.T) {
	sizes := os.Getenv("BENCH_RUNS")
	if sizes == "" {
		sizes = "100,1000,10000"
	}
	bin := programs.Build(t)
	var sites []*benchSite
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, newBenchSite(t, bin, n))
	}
	restDisk(t)
	fmt.Printf("%8s  %-28s %9s %9s %11s %12s %12s\n", "runs", "build", "wall", "CPU", "memory", "wall a run", "CPU a run")
	for _, s := range sites {
		fmt.Printf("%8d  parquet-go reads %.0f M tokens a second on one core, and the disk takes %.0f new files a millisecond\n",
			s.n, yardstick(t, readEvents(t, s.results), 500*time.Millisecond), newFiles(t))
		s.build(t, "cold")
	}
	benchByYardstick(t, bin)
	for _, s := range sites {
		s.build(t, "warm, nothing new")
		s.add(t, s.n)
		s.build(t, "warm, one new run")
		s.build(t, "a template changed", "--overrides", s.overrides(t))
	}
}

// benchSite is a site of n synthetic runs. Four of them have events of their own, the others are the same files under
// other names and facts, so a site of 1,000 runs needs 10 MB of disk and not 2 GB.
type benchSite struct {
	bin          programs.Bin
	n            int
	dir, results string
	ids          []synth.Identity // n, and one more
	own          []string         // folders of the runs with events of their own
}

func newBenchSite(t *testing.T, bin programs.Bin, n int) *benchSite {
	t.Helper()
	dir := t.TempDir()
	s := &benchSite{bin: bin, n: n, dir: dir, results: filepath.Join(dir, "results"), ids: synth.Identities(n + 1)}
	if err := os.MkdirAll(s.results, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.add(t, i)
	}
	return s
}

// add stores run i.
func (s *benchSite) add(t *testing.T, i int) {
	t.Helper()
	if i >= 4 {
		if _, err := synth.Copy(s.results, s.own[i%len(s.own)], s.ids[i]); err != nil {
			t.Fatal(err)
		}
		return
	}
	folder, err := synth.Store(s.results, synth.Config{Seed: uint64(i + 1), Slow: 1 + 0.05*float64(i)}, s.ids[i])
	if err != nil {
		t.Fatal(err)
	}
	s.own = append(s.own, folder)
}

// build builds the site and prints what that took.
func (s *benchSite) build(t *testing.T, what string, more ...string) {
	t.Helper()
	args := append([]string{"build", "--results", s.results, "--out", filepath.Join(s.dir, "site"), "--cache", filepath.Join(s.dir, "cache")}, more...)
	cmd := exec.Command(filepath.Join(string(s.bin), "sitegen"), args...)
	cmd.Dir = s.dir
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wall := time.Since(began)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	perRun := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(s.n) }
	fmt.Printf("%8d  %-28s %7.2f s %7.2f s %8d MB %9.2f ms %9.2f ms\n",
		s.n, what, wall.Seconds(), cpu.Seconds(), usage.Maxrss/1024, perRun(wall), perRun(cpu))
}

// overrides makes a folder of templates in which one differs.
func (s *benchSite) overrides(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(s.dir, "overrides")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "stone.html"), []byte(`{{define "content"}}<h1>{{.Heading}}</h1>{{end}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// benchByYardstick builds a site of 100 runs cold, again and again, each time between two looks at how fast the machine is with all of its cores at
// work, and prints the median of the builds, and of what each would take where parquet-go reads 530 M tokens a second a core.
func benchByYardstick(t *testing.T, bin programs.Bin) {
	t.Helper()
	const (
		builds, runs = 30, 100
		usual        = 530
	)
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	if err := synth.Fill(results, runs); err != nil {
		t.Fatal(err)
	}
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
