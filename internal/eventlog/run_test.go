package eventlog_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

func goodToml(t testing.TB) string { return string(goodFile(t, "run.toml")) }

func TestRunTomlRefuses(t *testing.T) {
	good := goodToml(t)
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the golden run.toml has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `key "schema" is missing`},
		{"no TOML", "<html>", "run.toml: line 1"},
		{"unknown key at the top", "surprise = 1\n" + good, `key "surprise" is not one of schema 1`},
		{"unknown key in a closed table", replace("[tool]\n", "[tool]\nsurprise = 1\n"), `key "tool.surprise"`},
		{"unknown key in a cell", replace("[[cell]]\n", "[[cell]]\nsurprise = 1\n"), `key "cell.surprise"`},
		{"unknown key in a pass", replace("[[cell.pass]]\n", "[[cell.pass]]\nsurprise = 1\n"), `key "cell.pass.surprise"`},
		{"no id", replace("id = ", "#"), `key "id" is missing`},
		{"bad id", replace(`id = "2026`, `id = "../2026`), "want lower-case letters"},
		{"state", replace(`"complete"`, `"done"`), `state "done"`},
		{"local time", replace("10:15:00Z", "10:15:00"), "want an instant in UTC"},
		{"another zone", replace("10:15:00Z", "10:15:00+02:00"), "want an instant in UTC"},
		{"array in an open table", replace("[host]\n", "[host]\nx = [1]\n"), "host.x: want a string, a number or a bool"},
		{"table in an open table", replace("[host]\n", "[host]\nx = {y = 1}\n"), "host.x: want"},
		{"date in an open table", replace("[host]\n", "[host]\nx = 2026-12-01\n"), "host.x: want"},
		{"not a number", replace("[host]\n", "[host]\nx = nan\n"), "host.x is NaN"},
		{"key of an open table", replace("[host]\n", "[host]\nX-Y = 1\n"), `key "X-Y": want lower_snake`},
		{"source", replace(`"hardware.gpu" = "probe"`, `"hardware.gpu" = "gossip"`), `the source "gossip"`},
		{"phase", replace(`phase = "prefill"`, `phase = "warm"`), `phase "warm"`},
		{"status", replace(`status = "over-capacity"`, `status = "valid"`), `status "valid"`},
		{"stop", replace(`stop = "done"`, `stop = "tired"`), `stop "tired"`},
		{"repeats out of order", replace("repeat = 1\n", "repeat = 0\n"), "want them ascending"},
		{"negative context", replace("context = 8192", "context = -1"), "may not be negative"},
		{"integer overflow", replace("seed = 1", "seed = 99999999999999999999"), "run.toml"},
		{"negative seed", replace("seed = 1", "seed = -1"), "run.toml"},
		{"nested arrays", "a = " + strings.Repeat("[", 100_000), "nested deeper"},
		{"nested over lines", "a = " + strings.Repeat("[\n", 100_000), "nested deeper"},
		{"nested behind quotes", `a = ["""x"""", ` + strings.Repeat("[", 100_000), "nested deeper"},
		{"nested behind an escape", `a = ["\"", ` + strings.Repeat("[", 100_000), "nested deeper"},
		{"key of many parts", strings.Repeat("a.", 100_000) + "a = 1", "nested deeper"},
		{"size", strings.Repeat("#", 3<<20), "are refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := eventlog.DecodeRun([]byte(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestBracketsInStringsDoNotNest(t *testing.T) {
	run := sampleRun()
	run.Launch.Command = strings.Repeat(`[{"'`, 100) + "\n#[[["
	b, err := eventlog.EncodeRun(run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := eventlog.DecodeRun(b)
	if err != nil || got.Launch.Command != run.Launch.Command {
		t.Errorf("read %q, error %v", got.Launch.Command, err)
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	bad := strings.NewReplacer(`"complete"`, `"done"`, `phase = "prefill"`, `phase = "warm"`, "[tool]\n", "[tool]\nx = 1\n").Replace(goodToml(t))
	_, err := eventlog.DecodeRun([]byte(bad))
	for _, want := range []string{`"done"`, `"warm"`, `"tool.x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell %s: %v", want, err)
		}
	}
}

func TestVersionDoor(t *testing.T) {
	for _, c := range []struct {
		schema string
		number int
		want   string
	}{{"schema = 2", 2, "made by a newer speedmatrix"}, {"schema = 0", 0, "does not exist"}} {
		in := strings.Replace(goodToml(t), "schema = 1", c.schema, 1) + "\nfrom_the_future = true\n"
		_, err := eventlog.DecodeRun([]byte(in))
		var se *eventlog.SchemaError
		if !errors.As(err, &se) || se.Schema != c.number || !strings.Contains(se.Error(), c.want) {
			t.Errorf("%s: error %v, want a SchemaError with %q", c.schema, err, c.want)
		}
	}
}

func TestMakeID(t *testing.T) {
	at := time.Date(2026, 12, 1, 11, 15, 0, 0, time.FixedZone("", 3600))
	id := func(model, gpu, engine string, salt ...string) string {
		return eventlog.MakeID(at, model, gpu, engine, salt...)
	}
	if got, want := id("google/gemma-4-E2B-it", "RTX PRO 6000 Blackwell Server Edition", "SGLang"),
		"20261201t101500z-gemma-4-e2b-it-rtx-pro-6000-blackwell-server-edition-sglang-"; !strings.HasPrefix(got, want) || len(got) != len(want)+8 {
		t.Errorf("id %q, want %q and 8 hex digits", got, want)
	}
	if got := id("", "../../etc", "<script>"); !strings.HasPrefix(got, "20261201t101500z-unknown-etc-script-") {
		t.Errorf("id %q", got)
	}
	if again := id("m", "g", "e"); id("m", "g", "e", "1") == id("m", "g", "e", "2") || again != id("m", "g", "e") {
		t.Error("the hash does not follow the salt alone")
	}
	for _, s := range []string{strings.Repeat("ü/", 300), strings.Repeat("a.", 300), "...", "", "Q4_K_M.gguf"} {
		if got := id(s, s, s); !eventlog.ValidID(got) {
			t.Errorf("id %q of %q is not valid", got, s)
		}
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"20261201t101500z-a-b-c-1a2b3c4d": true, "a": true, "a.b": true,
		"": false, "..": false, "a/b": false, "A": false, "-a": false, "a-": false, "a..b": false, ".a": false,
		"a.partial": false, "a b": false, "ä": false, strings.Repeat("a", 201): false,
	} {
		if eventlog.ValidID(id) != want {
			t.Errorf("ValidID(%q) is not %v", id, want)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir, _, _ := writeRun(t, t.TempDir(), true)
	if _, err := eventlog.Create(filepath.Dir(dir), sampleRun()); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the id of a finished run: error %v", err)
	}
	partial, _, _ := writeRun(t, t.TempDir(), false)
	if _, err := eventlog.Create(filepath.Dir(partial), sampleRun()); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the id of a run in progress: error %v", err)
	}
	file := filepath.Join(t.TempDir(), "results")
	must(t, os.WriteFile(file, nil, 0o644))
	if _, err := eventlog.Create(file, sampleRun()); err == nil || !strings.Contains(err.Error(), "cannot write to the results folder") {
		t.Errorf("a file in place of the folder: error %v", err)
	}
	bad := sampleRun()
	bad.Seed = 1 << 63
	results := filepath.Join(t.TempDir(), "results")
	if _, err := eventlog.Create(results, bad); err == nil {
		t.Error("a seed that TOML cannot hold was taken")
	}
	if _, err := os.Stat(results); err == nil {
		t.Error("a refused run left the results folder behind")
	}
}

func TestReadOnlyResults(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	results := t.TempDir()
	must(t, os.Chmod(results, 0o555))
	if _, err := eventlog.Create(results, sampleRun()); err == nil || !strings.Contains(err.Error(), "cannot write") {
		t.Errorf("error %v", err)
	}
}

func TestDiscard(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	w, err := eventlog.Create(results, sampleRun())
	must(t, err)
	must(t, w.Discard())
	if _, err := os.Stat(results); err == nil {
		t.Error("the results folder that Create made is still there")
	}
	w, err = eventlog.Create(results, sampleRun())
	must(t, err)
	must(t, w.Part(eventlog.Step{}, passRequests(eventlog.Step{}), nil))
	must(t, w.Discard())
	if got := names(t, results); len(got) != 1 {
		t.Errorf("a run with a measured pass was discarded: %q", got)
	}
}

func TestLock(t *testing.T) {
	w, err := eventlog.Create(t.TempDir(), sampleRun())
	must(t, err)
	defer w.Close()
	if _, err := eventlog.Resume(w.Dir()); err == nil || !strings.Contains(err.Error(), "another measure process") {
		t.Errorf("a second writer: error %v", err)
	}
	must(t, w.Close())
	again, err := eventlog.Resume(w.Dir())
	must(t, err)
	must(t, again.Close())
}

func TestResumeRefuses(t *testing.T) {
	dir, _, _ := writeRun(t, t.TempDir(), true)
	if _, err := eventlog.Resume(dir); err == nil || !strings.Contains(err.Error(), `ends in ".partial"`) {
		t.Errorf("a finished run: error %v", err)
	}
	other := filepath.Join(t.TempDir(), "another-id.partial")
	partial, _, _ := writeRun(t, t.TempDir(), false)
	must(t, os.Rename(partial, other))
	if _, err := eventlog.Resume(other); err == nil || !strings.Contains(err.Error(), "has the id") {
		t.Errorf("a renamed run: error %v", err)
	}
	if _, err := eventlog.Resume(filepath.Join(t.TempDir(), "none.partial")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no run: error %v", err)
	}
}

func TestPartRefuses(t *testing.T) {
	w, err := eventlog.CreateOn(nil, t.TempDir(), sampleRun())
	must(t, err)
	defer w.Close()
	s := eventlog.Step{Cell: 1}
	must(t, w.Part(s, passRequests(s), nil))
	for name, c := range map[string]struct {
		step eventlog.Step
		reqs []event.Request
		want string
	}{
		"twice":            {s, nil, "stored already"},
		"another cell":     {eventlog.Step{Cell: 0}, passRequests(s), "another cell or repeat"},
		"no cell":          {eventlog.Step{Cell: 3}, nil, "3 cells"},
		"a negative cell":  {eventlog.Step{Cell: -1}, nil, "3 cells"},
		"too many repeats": {eventlog.Step{Cell: 0, Repeat: 1000}, nil, "1000 repeats"},
	} {
		if err := w.Part(c.step, c.reqs, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestSaveKeepsTheRunInProgress(t *testing.T) {
	w, err := eventlog.CreateOn(nil, t.TempDir(), sampleRun())
	must(t, err)
	defer w.Close()
	run := w.Run()
	run.State = event.Complete
	run.Files = map[string]string{"requests.parquet": "sha256:00"}
	run.Method.Resumed = 1
	must(t, w.Save(run))
	l, err := eventlog.Open(w.Dir())
	must(t, err)
	if got := l.Run(); got.State != event.Interrupted || len(got.Files) != 0 || got.Method.Resumed != 1 {
		t.Errorf("saved state %q, files %v, resumed %d", got.State, got.Files, got.Method.Resumed)
	}
	run.ID = "another-id"
	if err := w.Save(run); err == nil {
		t.Error("a run of another id was saved")
	}
}

func TestVerifyTellsEachDifference(t *testing.T) {
	dir, _, _ := writeRun(t, t.TempDir(), true)
	must(t, os.WriteFile(filepath.Join(dir, "samples.parquet"), goodFile(t, "run.toml"), 0o644))
	must(t, os.Remove(filepath.Join(dir, "requests.parquet")))
	l, err := eventlog.Open(dir)
	must(t, err)
	err = l.Verify()
	for _, want := range []string{"samples.parquet has the digest", "requests.parquet"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Verify does not tell %q: %v", want, err)
		}
	}
}

func TestRequestsOfUnknownCells(t *testing.T) {
	dir, _, _ := writeRun(t, t.TempDir(), true)
	must(t, os.WriteFile(filepath.Join(dir, "requests.parquet"), eventlog.EncodeUnchecked(synthetic(7, 0, 1, 1)), 0o644))
	l, err := eventlog.Open(dir)
	must(t, err)
	if _, err := l.Requests(); err == nil || !strings.Contains(err.Error(), "is of cell 7: the run has 3") {
		t.Errorf("error %v", err)
	}
}

func TestReadFile(t *testing.T) {
	f, err := eventlog.ReadFile(filepath.Join(goldenRun(), "requests.parquet"))
	if err != nil || f.Kind != eventlog.KindRequests || len(f.Requests) != 39 {
		t.Errorf("kind %q, %d requests, error %v", f.Kind, len(f.Requests), err)
	}
	f, err = eventlog.ReadFile(filepath.Join(goldenRun(), "samples.parquet"))
	want := append(append(someSamples(0, 0, 3), someSamples(1, 0, 3)...), someSamples(1, 1, 3)...)
	if err != nil || f.Kind != eventlog.KindSamples || !reflect.DeepEqual(f.Samples, want) {
		t.Errorf("kind %q, samples %v, error %v", f.Kind, f.Samples, err)
	}
	if _, err := eventlog.ReadFile(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func FuzzDecodeRun(f *testing.F) {
	good := goodToml(f)
	f.Add([]byte(good))
	f.Add([]byte("schema = 1\n[[cell]]\n[[cell.pass]]\n"))
	f.Add([]byte("schema = 1\nid = '''a''''\n[hardware]\n\"a.b\" = {c = [[1]]}\n"))
	f.Add([]byte(`schema = 2`))
	f.Fuzz(func(t *testing.T, in []byte) {
		run, err := eventlog.DecodeRun(in)
		if err != nil {
			return
		}
		b, err := eventlog.EncodeRun(run)
		if err != nil {
			t.Fatalf("a run that was read cannot be written: %v", err)
		}
		again, err := eventlog.DecodeRun(b)
		if err != nil {
			t.Fatalf("a run that was written cannot be read: %v", err)
		}
		if b2, _ := eventlog.EncodeRun(again); string(b2) != string(b) {
			t.Fatal("a run changes when it is written again")
		}
	})
}

func FuzzDecodeFile(f *testing.F) {
	for _, name := range []string{"requests.parquet", "samples.parquet"} {
		good := goodFile(f, name)
		f.Add(good)
		f.Add(good[:len(good)/2])
		f.Add(good[len(good)/2:])
	}
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := eventlog.DecodeFile(in)
		if err == nil && file.Kind != eventlog.KindRequests && file.Kind != eventlog.KindSamples {
			t.Fatalf("kind %q and no error", file.Kind)
		}
	})
}

// FuzzDecodeValues reaches behind the page checksums that stop FuzzDecodeFile.
func FuzzDecodeValues(f *testing.F) {
	var delta encoding.Encoding = &parquet.DeltaBinaryPacked
	values := make([]int64, 300)
	for i := range values {
		values[i] = int64(i) * int64(i%7)
	}
	b, err := delta.EncodeInt64(nil, values)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint16(300))
	f.Add(b[:len(b)-9], uint16(300))
	f.Add([]byte{0x03, 0x55, 0x02, 0x01}, uint16(9))
	f.Add([]byte{2, 3, 0xe4, 0xe4}, uint16(8))
	f.Fuzz(func(t *testing.T, in []byte, n uint16) {
		got, err := eventlog.DecodeValues(in, int(n))
		if err == nil && len(got) != int(n) {
			t.Fatalf("%d values and no error, want %d", len(got), n)
		}
	})
}
