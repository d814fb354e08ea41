package site

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/synth"
	"speedmatrix/tests/programs"
)

// Versions of the foreign readers that the published data is tested with.
const (
	duckdbVersion     = "1.5.5"
	jsonschemaVersion = "4.25.1"
)

// python returns an interpreter that has DuckDB and jsonschema, in a virtual environment under the user's cache folder. Where it cannot
// be installed the test is skipped with a loud line.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("SKIPPED: NO FOREIGN READER TESTED: %v", err)
	}
	venv := filepath.Join(cache, "speedmatrix-tests", "duckdb-"+duckdbVersion+"-jsonschema-"+jsonschemaVersion)
	bin := filepath.Join(venv, "bin", "python")
	if exec.Command(bin, "-c", "import duckdb, jsonschema").Run() == nil {
		return bin
	}
	for _, cmd := range [][]string{
		{"python3", "-m", "venv", "--clear", venv},
		{bin, "-m", "pip", "install", "--quiet", "duckdb==" + duckdbVersion, "jsonschema==" + jsonschemaVersion},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: NO FOREIGN READER TESTED: %s: %v\n%s", strings.Join(cmd, " "), err, out)
		}
	}
	return bin
}

// script runs Python in dir; what it prints on failure is the test's message.
func script(t *testing.T, dir, code string, args ...string) string {
	t.Helper()
	cmd := exec.Command(python(t), append([]string{"-c", code}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// someSite builds a site of a few synthetic runs and returns the results folder and the site.
func someSite(t *testing.T, bin programs.Bin) (results, out string) {
	t.Helper()
	dir := t.TempDir()
	results, out = filepath.Join(dir, "results"), filepath.Join(dir, "site")
	for i, id := range synth.Identities(3) {
		if err := os.MkdirAll(results, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := synth.Store(results, synth.Config{Seed: uint64(i), Small: true, Seconds: 4, Output: 200, Repeats: 1 + 2*(i%2)}, id); err != nil {
			t.Fatal(err)
		}
	}
	bin.Must(t, time.Minute, "sitegen", "build", "--results", results, "--templates", "../../templates", "--out", out, "--cache", "")
	return results, out
}

// Each SQL example of the data page answers at least one row: those of raw events in the results folder, those of numbers in the site.
func TestDataPageQueries(t *testing.T) {
	text, err := os.ReadFile("../../templates/data.md")
	if err != nil {
		t.Fatal(err)
	}
	results, out := someSite(t, programs.Build(t))
	n := 0
	for i, block := range strings.Split(string(text), "```sql\n") {
		if i == 0 {
			continue
		}
		n++
		query, _, _ := strings.Cut(block, "```")
		dir := results
		if strings.Contains(query, "json") {
			dir = out
		}
		if rows := strings.TrimSpace(script(t, dir, "import duckdb, sys\nprint(len(duckdb.sql(sys.argv[1].strip().rstrip(';')).fetchall()))", query)); rows == "0" {
			t.Errorf("this example answers nothing:\n%s", query)
		}
	}
	if n < 5 {
		t.Errorf("the data page has %d SQL examples", n)
	}
}

// Every run.json is valid by the published schema, and the schema refuses what is none.
func TestRunJSONIsValid(t *testing.T) {
	_, out := someSite(t, programs.Build(t))
	got := script(t, out, `
import glob, json, jsonschema
schema = json.load(open("data/run.schema.json"))
check = jsonschema.Draft202012Validator
check.check_schema(schema)
files = glob.glob("runs/*/run.json")
for f in files:
    errors = [f"{f}: {list(e.path)}: {e.message}" for e in check(schema).iter_errors(json.load(open(f)))]
    if errors: raise SystemExit("\n".join(errors[:10]))
run = json.load(open(files[0]))
known = set(schema["properties"]["decode"]["items"]["properties"])
if set(run["decode"][0]) != known: raise SystemExit(f"keys differ: {set(run['decode'][0]) ^ known}")
if set(run) != set(schema["properties"]): raise SystemExit(f"keys differ: {set(run) ^ set(schema['properties'])}")
run["decode"][0]["tok_s"] = "fast"
if check(schema).is_valid(run): raise SystemExit("a rate in words is valid")
print(len(files))`)
	if strings.TrimSpace(got) != "3" {
		t.Errorf("%s files were looked at, want 3", got)
	}
}

// The checksums are those of the files.
func TestChecksums(t *testing.T) {
	results, out := someSite(t, programs.Build(t))
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("there is no sha256sum")
	}
	cmd := exec.Command("sha256sum", "--check", "--strict", filepath.Join(out, "data", "SHA256SUMS"))
	cmd.Dir = results
	text, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(text), ": OK") != 6 {
		t.Errorf("%v\n%s", err, text)
	}
}
