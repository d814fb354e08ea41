package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/check"
	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

func ptr[T any](v T) *T { return &v }

var started = time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC)

const id = "20261201t101500z-tiny-cpu-sim-1a2b3c4d"

// fixture is a good run that a test spoils in one place before it is written.
type fixture struct {
	run  event.Run
	reqs map[eventlog.Step][]event.Request
}

func good() *fixture {
	f := &fixture{reqs: map[eventlog.Step][]event.Request{}}
	f.run = event.Run{
		ID: id, Started: started, Seed: 1,
		Tool:     event.Tool{Name: "measure", Version: "0.1.0", Method: 1, Flags: []string{"--url", "http://localhost:8000/v1", "--max-tokens", "4096", "--kv-tokens", "100000"}},
		Hardware: event.Facts{"gpu": "RTX PRO 6000", "driver": "580.95.05", "kernel": "6.8.0-1.2.3"},
		Launch:   event.Launch{Command: "vllm serve m --host 0.0.0.0 --port 8000 --tokenizer m --max-num-batched-tokens 8192 --api-key <redacted>"},
		Cells: []event.Cell{
			{Phase: event.Prefill, Context: 8192, Label: "8K", Concurrency: 1,
				Passes: []event.Pass{{WindowStartUS: 1_000_000, WindowEndUS: 2_000_000, Stop: event.StopDone}}},
			{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 1,
				Passes: []event.Pass{
					{WindowStartUS: 10_000_000, WindowEndUS: 40_000_000, Stop: event.StopDone},
					{Repeat: 1, WindowStartUS: 50_000_000, WindowEndUS: 80_000_000, Stop: event.StopDone}}},
			{Phase: event.Decode, Context: 8192, Label: "8K", Concurrency: 2, Status: event.OverCapacity, Reason: "too large"},
		},
	}
	for i, c := range f.run.Cells {
		for _, p := range c.Passes {
			s := eventlog.Step{Cell: i, Repeat: p.Repeat}
			warm := request(s, p.WindowStartUS-5_000_000*int64(i))
			warm.Stage = event.Warmup
			f.reqs[s] = []event.Request{warm, request(s, p.WindowStartUS+1000), request(s, p.WindowStartUS+500_000)}
			for j := range f.reqs[s] {
				f.reqs[s][j].Ordinal = int32(j)
			}
		}
	}
	return f
}

// request is a whole one of 200 tokens, one every 5 ms.
func request(s eventlog.Step, start int64) event.Request {
	r := event.Request{Cell: int32(s.Cell), Repeat: int32(s.Repeat), Stage: event.InWindow, StartUS: start,
		ConnectUS: ptr(int64(100)), HeadersUS: ptr(int64(60_000)), VisibleUS: ptr(int64(70_000)), Clock: event.Kernel,
		AskedTokens: 200, PromptSHA: "0123456789abcdef", PromptTokens: ptr(int32(8192)), CachedTokens: ptr(int32(0)),
		OutputTokens: ptr(int32(200)), TokenSource: event.UsagePerChunk, FinishReason: ptr("length"), HTTPStatus: ptr(int32(200)),
		Outcome: event.OK}
	for i := range int64(200) {
		r.ChunkUS = append(r.ChunkUS, 70_000+5000*i)
		r.ChunkTokens = append(r.ChunkTokens, 1)
	}
	r.EndUS = ptr(r.ChunkUS[199] + 10)
	return r
}

// write stores the run below results and returns its folder.
func (f *fixture) write(t testing.TB, results string) string {
	t.Helper()
	w, err := eventlog.Create(results, f.run)
	must(t, err)
	defer w.Close()
	for i, c := range f.run.Cells {
		for repeat := range max(1, len(c.Passes)) {
			s := eventlog.Step{Cell: i, Repeat: repeat}
			if reqs, ok := f.reqs[s]; ok {
				sample := event.Sample{AtUS: 20_000_000, Cell: int32(i), Repeat: int32(repeat), Source: "server", Metric: "running", Value: 1}
				must(t, w.Part(s, reqs, []event.Sample{sample}))
			}
		}
	}
	dir, err := w.Complete(f.run)
	must(t, err)
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var now = check.Options{Now: started.Add(time.Hour)}

func TestGoodRunHasNoProblem(t *testing.T) {
	dir := good().write(t, t.TempDir())
	must(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("# Measured at home\n\nTokens: 200 a request.\n"), 0o644))
	if got := check.Run(dir, now); len(got) != 0 {
		t.Errorf("problems of a good run: %v", got)
	}
}

// A scout whose prompt did not do is asked again under the same number.
func TestScoutsAskedAgain(t *testing.T) {
	f, s := good(), eventlog.Step{Cell: 1}
	for i := range int64(2) {
		scout := request(s, 1+i)
		scout.Stage = event.Scout
		f.reqs[s] = append(f.reqs[s], scout)
	}
	if got := check.Run(f.write(t, t.TempDir()), now); len(got) != 0 {
		t.Errorf("problems of a good run: %v", got)
	}
}

// wants fails unless one problem has the file, the text and the severity, and none is of several lines.
func wants(t *testing.T, got []check.Problem, file, what string, severity check.Severity) {
	t.Helper()
	for _, p := range got {
		if line := p.String(); strings.Contains(line, "\n") || p.Mend == "" || p.What == "" {
			t.Errorf("not one line of file, what and how to mend: %q", line)
		}
	}
	if !slices.ContainsFunc(got, func(p check.Problem) bool {
		return filepath.Base(p.Path) == file && strings.Contains(p.What, what) && p.Severity == severity
	}) {
		t.Errorf("no %s of %s with %q among %v", severity, file, what, got)
	}
}

// Each rule on events and facts has a run that breaks it and, but for that, is good.
func TestRulesOnTheRun(t *testing.T) {
	decode := eventlog.Step{Cell: 1}
	cases := []struct {
		name       string
		spoil      func(f *fixture)
		file, what string
	}{
		{"id form", func(f *fixture) { f.run.ID = "my-run" }, "my-run", "not of the form"},
		{"id's instant", func(f *fixture) { f.run.Started = started.Add(-time.Second) }, "run.toml", "is not the instant in the id"},
		{"started in the future", func(f *fixture) {
			f.run.Started = started.Add(24 * time.Hour)
			f.run.ID = strings.Replace(id, "20261201", "20261202", 1)
		}, "run.toml", "in the future"},
		{"goes on into the future", func(f *fixture) {
			f.reqs[decode][1].StartUS = 39_000_000
			f.run.Cells[1].Passes[0].WindowEndUS = 49_000_000
			*f.reqs[decode][1].EndUS = 4e9
		},
			"requests.parquet", "goes on until"},

		{"a window into the future", func(f *fixture) { f.run.Cells[1].Passes[1].WindowEndUS = 4e9 }, "run.toml", "has a window until 2026-12-01T11:21:40Z"},

		{"a row twice", func(f *fixture) { f.reqs[decode] = append(f.reqs[decode], f.reqs[decode][1]) }, "requests.parquet", "rows 4 and 6 are both request 1 of stream 0 of cell 1, repeat 0"},
		{"two requests of one number", func(f *fixture) { f.reqs[decode][2].Ordinal = 1 }, "requests.parquet", "rows 4 and 5 are both request 1"},
		{"a scout twice", func(f *fixture) {
			scout := request(decode, 1)
			scout.Stage = event.Scout
			f.reqs[decode] = append(f.reqs[decode], scout, scout)
		}, "requests.parquet", "are both request 0"},
		{"a stream too many", func(f *fixture) { f.reqs[decode][1].Stream = 1 }, "requests.parquet", "row 4 is of stream 1, counted from 0; cell 1 has 1"},

		{"window ends before it starts", func(f *fixture) { f.run.Cells[1].Passes[0].WindowEndUS = 9_000_000 }, "run.toml", "does not end after it starts"},
		{"empty window", func(f *fixture) { f.run.Cells[1].Passes[0].WindowEndUS = 10_000_000 }, "run.toml", "does not end after it starts"},
		{"windows overlap", func(f *fixture) { f.run.Cells[1].Passes[0].WindowEndUS = 51_000_000 }, "run.toml", "overlap"},
		{"no pass and no status", func(f *fixture) { f.run.Cells[2].Status = event.Ran }, "run.toml", "no pass and no status"},
		{"pass without requests", func(f *fixture) { delete(f.reqs, decode) }, "requests.parquet", "not one request"},
		{"request of no pass", func(f *fixture) { f.run.Cells[1].Passes = f.run.Cells[1].Passes[1:] }, "requests.parquet", "which run.toml does not have"},
		{"request of a cell that did not run", func(f *fixture) {
			f.reqs[eventlog.Step{Cell: 2}] = []event.Request{request(eventlog.Step{Cell: 2}, 1)}
		}, "requests.parquet", "which did not run (over-capacity)"},
		{"request outside its window", func(f *fixture) { f.reqs[decode][1].StartUS = 45_000_000 }, "requests.parquet", `outside the "window"`},
		{"warm-up after the window", func(f *fixture) { f.reqs[decode][0].StartUS = 45_000_000 }, "requests.parquet", `outside the "warmup"`},
		{"probe before the window's end", func(f *fixture) { f.reqs[decode][1].Stage = event.Probe }, "requests.parquet", `outside the "probe"`},

		{"chunks decrease", func(f *fixture) { f.reqs[decode][1].ChunkUS[5] = 70_001 }, "requests.parquet", "row 4: chunk_us decreases"},
		{"end before the last chunk", func(f *fixture) { *f.reqs[decode][1].EndUS = 80_000 }, "requests.parquet", "end_us is before the last chunk"},
		{"first chunk before the header", func(f *fixture) { *f.reqs[decode][1].HeadersUS = 70_001 }, "requests.parquet", "before headers_us"},
		{"visible before the first chunk", func(f *fixture) { *f.reqs[decode][1].VisibleUS = 69_999 }, "requests.parquet", "visible_us is outside"},
		{"end before the header", func(f *fixture) {
			q := &f.reqs[decode][1]
			q.ChunkUS, q.ChunkTokens, q.VisibleUS, q.EndUS, q.OutputTokens = nil, nil, nil, ptr(int64(5)), nil
		}, "requests.parquet", "end_us is before headers_us"},

		{"usage and chunks differ", func(f *fixture) { *f.reqs[decode][1].OutputTokens = 199 }, "requests.parquet", "hold 200 tokens, the usage says 199"},
		{"more tokens than asked for", func(f *fixture) { f.reqs[decode][1].AskedTokens = 198 }, "requests.parquet", "200 tokens arrived, 198 were asked for"},
		{"more cached than sent", func(f *fixture) { *f.reqs[decode][1].CachedTokens = 8193 }, "requests.parquet", "8193 prompt tokens were cached, of 8192"},
		{"a stream too fast", func(f *fixture) {
			for i := range f.reqs[decode][1].ChunkUS {
				f.reqs[decode][1].ChunkUS[i] = 70_000 + int64(i)*9 // 111,111 tok/s
			}
		}, "requests.parquet", "more than 100000 tok/s"},
		{"a prefill too fast", func(f *fixture) {
			q := &f.reqs[decode][1]
			q.ChunkUS[0], *q.HeadersUS, *q.ConnectUS = 80, 70, 0 // 8,192 tokens in 80 us
		}, "requests.parquet", "more than 100000000 tok/s"},
		{"a window too fast", func(f *fixture) {
			q := &f.reqs[decode][1]
			q.TokenSource, q.OutputTokens = event.ByChunks, nil
			q.ChunkTokens[0] = 301_000_000
		}, "requests.parquet", "more than 10000000 tok/s"},

		{"secret in the launch command", func(f *fixture) { f.run.Launch.Command += " --api-key s3cr3t" }, "run.toml", "flag"},
		{"secret with =", func(f *fixture) { f.run.Launch.Command += " --api-key=s3cr3t" }, "run.toml", "flag"},
		{"secret in two flags", func(f *fixture) { f.run.Tool.Flags = append(f.run.Tool.Flags, "--token", "s3cr3t") }, "run.toml", "flag"},
		{"header", func(f *fixture) { f.run.Launch.Command = "curl -H 'Authorization: Bearer s3cr3t'" }, "run.toml", "header"},
		{"credentials in a URL", func(f *fixture) { f.run.Tool.Flags[1] = "https://me:s3cr3t@example.com/v1" }, "run.toml", "credentials in a URL"},
		{"environment", func(f *fixture) { f.run.Launch.Command = "HF_TOKEN=s3cr3t vllm serve m" }, "run.toml", "environment"},
		{"home folder", func(f *fixture) { f.run.Launch.Command = "vllm serve /home/anna/m" }, "run.toml", "home folder"},
		{"home folder on a Mac", func(f *fixture) { f.run.Model = event.Facts{"id": "/Users/anna/m.gguf"} }, "run.toml", "home folder"},
		{"private address", func(f *fixture) { f.run.Tool.Flags[1] = "http://192.168.1.7:8000/v1" }, "run.toml", "private address"},
		{"host name", func(f *fixture) { f.run.Tool.Flags[1] = "http://gpubox.corp:8000/v1" }, "run.toml", "host name"},
		{"secret in an error", func(f *fixture) {
			q := &f.reqs[decode][1]
			q.Error = ptr("401: Authorization: Bearer s3cr3t")
		}, "requests.parquet", "header"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := good()
			c.spoil(f)
			got := check.Run(f.write(t, t.TempDir()), now)
			wants(t, got, c.file, c.what, check.Refuse)
			for _, p := range got {
				if strings.Contains(p.String(), "s3cr3t") || strings.Contains(p.String(), "anna") {
					t.Errorf("the report repeats the secret: %s", p)
				}
			}
		})
	}
}

// Each rule on files has a folder that breaks it.
func TestRulesOnTheFolder(t *testing.T) {
	at := func(dir, name string) string { return filepath.Join(dir, name) }
	write := func(t *testing.T, path, text string) { must(t, os.WriteFile(path, []byte(text), 0o644)) }
	for _, c := range []struct {
		name       string
		spoil      func(t *testing.T, dir string)
		file, what string
		severity   check.Severity
	}{
		{"extra file", func(t *testing.T, dir string) { write(t, at(dir, "extra.txt"), "x") }, id, `holds "extra.txt"`, check.Refuse},
		{"missing file", func(t *testing.T, dir string) { must(t, os.Remove(at(dir, "samples.parquet"))) }, id, "has no samples.parquet", check.Refuse},
		{"a link", func(t *testing.T, dir string) {
			must(t, os.Rename(at(dir, "samples.parquet"), at(dir, "../s")))
			must(t, os.Symlink("../s", at(dir, "samples.parquet")))
		}, "samples.parquet", "is not a regular file", check.Refuse},
		{"checksum", func(t *testing.T, dir string) {
			b, err := os.ReadFile(at(dir, "samples.parquet"))
			must(t, err)
			write(t, at(dir, "samples.parquet"), string(b)+" ")
		}, "samples.parquet", "has the digest", check.Refuse},
		{"truncated", func(t *testing.T, dir string) { must(t, os.Truncate(at(dir, "requests.parquet"), 1000)) }, "requests.parquet", "truncated", check.Refuse},
		{"not parquet", func(t *testing.T, dir string) { write(t, at(dir, "requests.parquet"), "cell,repeat") }, "requests.parquet", "not a parquet file", check.Refuse},
		{"unknown key", func(t *testing.T, dir string) { replace(t, dir, "[tool]\n", "[tool]\nx = 1\n") }, "run.toml", `"tool.x" is not one of schema 1`, check.Refuse},
		{"newer schema", func(t *testing.T, dir string) { replace(t, dir, "schema = 1", "schema = 2") }, "run.toml", "made by a newer speedmatrix", check.Refuse},
		{"another id", func(t *testing.T, dir string) { replace(t, dir, `tiny-cpu`, `huge-cpu`) }, "run.toml", "in a folder called", check.Refuse},
		{"not finished", func(t *testing.T, dir string) { replace(t, dir, `"complete"`, `"interrupted"`) }, "run.toml", `the state is "interrupted"`, check.Refuse},
		{"secret in a comment", func(t *testing.T, dir string) { replace(t, dir, "[tool]\n", "[tool] # OPENAI_API_KEY=s3cr3t\n") }, "run.toml", "environment", check.Refuse},
		{"large", func(t *testing.T, dir string) { must(t, os.Truncate(pad(t, dir), 5<<20)) }, id, "every clone", check.Warn},
		{"too large", func(t *testing.T, dir string) { must(t, os.Truncate(pad(t, dir), 51<<20)) }, id, "more than 50 are refused", check.Refuse},
		{"long notes", func(t *testing.T, dir string) { must(t, os.Truncate(pad(t, dir), 300<<10)) }, "notes.md", "more than 262144 are refused", check.Refuse},
		{"notes with a home folder", func(t *testing.T, dir string) { write(t, at(dir, "notes.md"), "fine\nfrom /home/anna/x\n") }, "notes.md", "line 2: home folder", check.Refuse},
		{"notes that are no text", func(t *testing.T, dir string) { write(t, at(dir, "notes.md"), "\xff\xfe") }, "notes.md", "not UTF-8", check.Refuse},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := good().write(t, t.TempDir())
			c.spoil(t, dir)
			wants(t, check.Run(dir, now), c.file, c.what, c.severity)
		})
	}
}

func pad(t *testing.T, dir string) string {
	path := filepath.Join(dir, "notes.md")
	must(t, os.WriteFile(path, nil, 0o644))
	return path
}

func replace(t *testing.T, dir, old, with string) {
	t.Helper()
	path := filepath.Join(dir, "run.toml")
	b, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(b), old) {
		t.Fatalf("run.toml has no %q", old)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(string(b), old, with, 1)), 0o644))
}

func TestNoRunAtAll(t *testing.T) {
	dir := t.TempDir()
	wants(t, check.Run(filepath.Join(dir, "none"), now), "none", "cannot be read", check.Refuse)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	wants(t, check.Run(file, now), "file", "is not a folder", check.Refuse)
	must(t, os.Symlink(good().write(t, t.TempDir()), filepath.Join(dir, id)))
	wants(t, check.Run(filepath.Join(dir, id), now), id, "is not a folder", check.Refuse)
	partial := filepath.Join(dir, id+".partial")
	must(t, os.Mkdir(partial, 0o755))
	wants(t, check.Run(partial, now), id+".partial", "is a run in progress", check.Refuse)
}

func TestManyOfAKindAreCounted(t *testing.T) {
	f := good()
	s := eventlog.Step{Cell: 1}
	for i := range int32(100) {
		q := request(s, 11_000_000)
		q.AskedTokens, q.Ordinal = 1, 3+i
		f.reqs[s] = append(f.reqs[s], q)
	}
	got := check.Run(f.write(t, t.TempDir()), now)
	if len(got) != 6 {
		t.Errorf("%d problems, want 5 and their number", len(got))
	}
	wants(t, got, "requests.parquet", "95 more like this", check.Refuse)
}

func TestDuplicates(t *testing.T) {
	results := t.TempDir()
	a := good().write(t, results)
	f := good()
	f.run.ID = strings.Replace(id, "1a2b3c4d", "ffffffff", 1)
	b := f.write(t, results)
	f = good()
	f.run.ID = strings.Replace(id, "1a2b3c4d", "00000000", 1)
	f.reqs[eventlog.Step{}][0].StartUS++
	other := f.write(t, results)
	same := good().write(t, filepath.Join(t.TempDir(), "z"))

	got := check.Duplicates([]string{b, a, other, a + "/"})
	if len(got) != 1 {
		t.Fatalf("problems %v, want one", got)
	}
	wants(t, got, filepath.Base(b), "has the same events as "+a, check.Refuse)
	wants(t, check.Duplicates([]string{a, same}), id, "has the same id as", check.Refuse)
	if got := check.Duplicates([]string{a, other, "none"}); len(got) != 0 {
		t.Errorf("problems of different runs: %v", got)
	}
}

func TestChanges(t *testing.T) {
	old, fresh := "results/"+id+"/", "results/"+strings.Replace(id, "1a2b3c4d", "ffffffff", 1)+"/"
	changes, err := check.ParseNameStatus([]byte(strings.Join([]string{
		"A", fresh + "run.toml", "A", fresh + "requests.parquet", "A", fresh + "notes.md",
		"M", old + "run.toml", "A", old + "notes.md", "D", old + "samples.parquet",
		"M", "results/names.toml", "A", "results/errata/" + id + ".toml", "M", "README.md", "M", "elsewhere/" + old + "run.toml",
		"A", "results/.hidden/big.bin", "A", "results/x.partial/run.toml", "A", "results/errata/big.bin", "D", "results/mend.bin", "M", "results/README.md", "",
	}, "\x00")))
	must(t, err)
	got := check.Changes("results", changes)
	if len(got) != 6 {
		t.Errorf("problems %v, want six", got)
	}
	wants(t, got, "big.bin", "is no part of", check.Refuse)
	wants(t, got, "run.toml", "is changed in a run that exists", check.Refuse)
	wants(t, got, "notes.md", "is added in a run that exists", check.Refuse)
	wants(t, got, "samples.parquet", "is deleted in a run that exists", check.Refuse)

	if got, err := check.ParseNameStatus(nil); err != nil || got != nil {
		t.Errorf("no output: %v, %v", got, err)
	}
	if _, err := check.ParseNameStatus([]byte("M\x00a\x00X")); err == nil {
		t.Error("a letter without a path was taken")
	}
}

// What lies beside runs is carried by every clone, as they are.
func TestFolder(t *testing.T) {
	dir := filepath.Dir(good().write(t, t.TempDir()))
	write := func(name, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, name := range []string{"names.toml", "README.md", ".gitignore", "errata/" + id + ".toml", "errata/README.md"} {
		write(name, "text = \"fine\"\n")
	}
	must(t, os.Mkdir(filepath.Join(dir, id+".partial"), 0o755))
	if got := check.Folder(dir); len(got) != 0 {
		t.Errorf("problems of a good folder: %v", got)
	}
	write("stray\nline.bin", "x")
	write(".hidden/deep/file", "x")
	write("errata/file.bin", "x")
	write("errata/deep/file", "x")
	write("README.md", "ask with the key "+"sk-"+strings.Repeat("a1B2", 12))
	must(t, os.Symlink(filepath.Join(dir, "names.toml"), filepath.Join(dir, ".gitattributes")))
	must(t, os.Truncate(filepath.Join(dir, "names.toml"), 2<<20))
	got := check.Folder(dir)
	if len(got) != 7 {
		t.Errorf("problems %v, want seven", got)
	}
	wants(t, got, "stray line.bin", "is no part of", check.Refuse)
	wants(t, got, ".hidden", "is no part of", check.Refuse)
	wants(t, got, "file.bin", "is no part of", check.Refuse)
	wants(t, got, "deep", "is no part of", check.Refuse)
	wants(t, got, "README.md", "line 1", check.Refuse)
	wants(t, got, ".gitattributes", "is not a regular file", check.Refuse)
	wants(t, got, "names.toml", "2097152 bytes", check.Refuse)

	must(t, os.RemoveAll(filepath.Join(dir, "errata")))
	must(t, os.Symlink(t.TempDir(), filepath.Join(dir, "errata")))
	wants(t, check.Folder(dir), "errata", "is not a folder", check.Refuse)
}

func FuzzParseNameStatus(f *testing.F) {
	f.Add([]byte("A\x00results/x/run.toml\x00"))
	f.Add([]byte("M\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		changes, err := check.ParseNameStatus(in)
		var back strings.Builder
		for _, c := range changes {
			back.WriteString(string([]byte{c.Status}) + "\x00" + c.Path + "\x00")
		}
		if err == nil && strings.TrimSuffix(back.String(), "\x00") != strings.TrimSuffix(string(in), "\x00") {
			t.Errorf("%q reads back as %q", in, back.String())
		}
	})
}
