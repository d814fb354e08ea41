//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
	"speedmatrix/tests/programs"
)

// gather copies the repository's runs, or measures a small one where there is none yet.
func gather(t *testing.T, bin programs.Bin, results string) {
	t.Helper()
	const committed = "../../results"
	for _, folder := range runs(t, committed) {
		if err := os.CopyFS(filepath.Join(results, filepath.Base(folder)), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if len(runs(t, results)) > 0 {
		return
	}
	url := bin.Simulate(t)
	bin.Must(t, 5*time.Minute, "measure", "run", "--url", url, "--contexts=1K,2K,4K", "--concurrency=1,2,4,16",
		"--max-tokens=128", "--duration=1s", "--seed=1", "--yes", "--out", results)
}

// runs lists the run folders of a results folder.
func runs(t *testing.T, results string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "run.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

// largest is the path of the page of the run with the most cells.
func largest(t *testing.T, results string) string {
	t.Helper()
	best, cells := "", -1
	for _, folder := range runs(t, results) {
		log, err := eventlog.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(log.Run().Cells); n > cells && !strings.HasSuffix(folder, hostileID) {
			best, cells = "runs/"+filepath.Base(folder)+"/", n
		}
	}
	return best
}

const hostileID = "20200101t000000z-hostile-00000000"

// hostile is what a contributed run can say where the program expects a name.
const hostile = `</script><script>alert(1)</script>"'><img src=x onerror=alert(2)>` + "\u202eesrever\u202c & "

const hostileNotes = `# Notes </script><script>alert(3)</script>

[a link](javascript:alert(4)) and [another](https://example.org/) <b onclick="alert(5)">bold</b>

![picture](data:image/svg+xml,<svg onload=alert(6)>) <svg><script>alert(7)</script></svg>
`

// addHostile adds a copy of a run whose facts, command and notes try to break the page, and whose words are too
// long for any column.
func addHostile(t *testing.T, results string) {
	t.Helper()
	from, err := eventlog.Open(runs(t, results)[0])
	if err != nil {
		t.Fatal(err)
	}
	requests, err := from.Requests()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := from.Samples()
	if err != nil {
		t.Fatal(err)
	}
	run := from.Run()
	run.ID, run.Started = hostileID, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	run.Hardware = event.Facts{"gpu": hostile, "driver": strings.Repeat("long", 200)}
	run.Engine = event.Facts{"name": hostile, "version": strings.Repeat("0.", 200), "repository": "javascript:alert(8)"}
	run.Model = event.Facts{"id": hostile, "served": hostile, "revision": hostile}
	run.Launch = event.Launch{Command: strings.Repeat(hostile+strings.Repeat("x", 300)+" ", 25), Source: event.FromUser}
	for i := range run.Cells {
		if run.Cells[i].Reason != "" {
			run.Cells[i].Reason = hostile
		}
	}
	writer, err := eventlog.Create(results, run)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for index, cell := range run.Cells {
		for _, pass := range cell.Passes {
			step := eventlog.Step{Cell: index, Repeat: pass.Repeat}
			if err := writer.Part(step, requestsOf(requests, step), samplesOf(samples, step)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(writer.Dir(), "notes.md"), []byte(hostileNotes), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Complete(run); err != nil {
		t.Fatal(err)
	}
}

func requestsOf(all []event.Request, step eventlog.Step) []event.Request {
	var list []event.Request
	for _, r := range all {
		if int(r.Cell) == step.Cell && int(r.Repeat) == step.Repeat {
			list = append(list, r)
		}
	}
	return list
}

func samplesOf(all []event.Sample, step eventlog.Step) []event.Sample {
	var list []event.Sample
	for _, s := range all {
		if int(s.Cell) == step.Cell && int(s.Repeat) == step.Repeat {
			list = append(list, s)
		}
	}
	return list
}
