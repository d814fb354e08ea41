package eventlog_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Versions of the foreign readers that the format is tested with.
const (
	duckdbVersion  = "1.5.5"
	pyarrowVersion = "21.0.0"
)

// python returns an interpreter that has DuckDB and pyarrow, in a virtual environment under the user's cache folder.
// Where it cannot be installed the test is skipped with a loud line.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("SKIPPED: NO FOREIGN READER TESTED: %v", err)
	}
	venv := filepath.Join(cache, "speedmatrix-tests", "duckdb-"+duckdbVersion+"-pyarrow-"+pyarrowVersion)
	bin := filepath.Join(venv, "bin", "python")
	if exec.Command(bin, "-c", "import duckdb, pyarrow").Run() == nil {
		return bin
	}
	for _, cmd := range [][]string{
		{"python3", "-m", "venv", "--clear", venv},
		{bin, "-m", "pip", "install", "--quiet", "duckdb==" + duckdbVersion, "pyarrow==" + pyarrowVersion},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: NO FOREIGN READER TESTED: cannot install duckdb and pyarrow from PyPI: %s: %v\n%s", strings.Join(cmd, " "), err, out)
		}
	}
	return bin
}

// script runs Python with the golden run's folder as its working folder and decodes the JSON that it prints.
func script(t *testing.T, code string, args ...string) any {
	t.Helper()
	cmd := exec.Command(python(t), append([]string{"-c", code}, args...)...)
	cmd.Dir = goldenRun()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var v any
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return v
}

func TestDuckDBReadsTheColumns(t *testing.T) {
	got := script(t, `
import duckdb, json
out = {}
for f in ("requests.parquet", "samples.parquet"):
    out[f] = [[r[0], r[1]] for r in duckdb.sql(f"DESCRIBE SELECT * FROM '{f}'").fetchall()]
print(json.dumps(out))`)
	words := strings.NewReplacer("list<int64>", "BIGINT[]", "list<int32>", "INTEGER[]", "int64", "BIGINT", "int32", "INTEGER",
		"string", "VARCHAR", "bool", "BOOLEAN", "double", "DOUBLE", "?", "")
	for _, name := range []string{"requests.parquet", "samples.parquet"} {
		var have []string
		for _, c := range got.(map[string]any)[name].([]any) {
			have = append(have, c.([]any)[0].(string)+" "+c.([]any)[1].(string))
		}
		if want := words.Replace(goldenColumns(t, name)); strings.Join(have, "\n") != want {
			t.Errorf("%s: DuckDB sees\n%s\nwant\n%s", name, strings.Join(have, "\n"), want)
		}
	}
}

// goldenColumns is the part of columns.txt that is about one file.
func goldenColumns(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(goldenV1, "columns.txt"))
	must(t, err)
	_, rest, _ := strings.Cut(string(b), "# "+name+"\n")
	part, _, _ := strings.Cut(rest, "\n#")
	return strings.TrimSpace(part)
}

// Row 9 of the golden run is the first of oddRequests(0, 0), row 11 the third; the values are those written there.
func TestForeignReadersSeeTheValues(t *testing.T) {
	got := script(t, `
import duckdb, json
import pyarrow.parquet as pq
t = pq.read_table("requests.parquet")
rows = t.to_pylist()
d = duckdb.sql("SELECT * FROM 'requests.parquet'").fetchall()
print(json.dumps({
  "n": t.num_rows, "equal": [tuple(r.values()) for r in rows] == d,
  "list": str(t.schema.field("chunk_us").type), "list32": str(t.schema.field("chunk_tokens").type),
  "bare": rows[9], "cut": rows[11],
  "tokens": duckdb.sql("SELECT sum(list_sum(chunk_tokens)) FROM 'requests.parquet'").fetchone()[0].__int__(),
  "samples": [list(r) for r in duckdb.sql("SELECT * FROM 'samples.parquet'").fetchall()],
}))`).(map[string]any)
	bare, cut := got["bare"].(map[string]any), got["cut"].(map[string]any)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"rows", got["n"], 39.0},
		{"pyarrow and DuckDB agree", got["equal"], true},
		{"chunk_us", got["list"], "list<element: int64 not null>"},
		{"chunk_tokens", got["list32"], "list<element: int32 not null>"},
		{"unknown instant", bare["end_us"], nil},
		{"unknown count", bare["output_tokens"], nil},
		{"unknown status", bare["http_status"], nil},
		{"empty list", len(bare["chunk_us"].([]any)), 0},
		{"error", bare["error"], "dial: refused"},
		{"outcome", bare["outcome"], "unreachable"},
		{"looped", bare["looped"], false},
		{"last instant", cut["chunk_us"].([]any)[2], float64(1 << 40)},
		{"tokens of a chunk", cut["chunk_tokens"].([]any)[1], 1e6},
		{"tokens in all", got["tokens"], 3 * (9*40 + 1_000_001.0)},
		{"samples", len(got["samples"].([]any)), 9},
		{"value of a sample", got["samples"].([]any)[1].([]any)[6], 0.25},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v (%T), want %v", c.name, c.got, c.got, c.want)
		}
	}
}

// Each SQL example of docs/format.md runs on the golden run and answers at least one row.
func TestDocumentedQueries(t *testing.T) {
	doc, err := os.ReadFile("../../docs/format.md")
	must(t, err)
	var queries []string
	for i, block := range strings.Split(string(doc), "```sql\n") {
		if i > 0 {
			q, _, _ := strings.Cut(block, "```")
			queries = append(queries, q)
		}
	}
	if len(queries) < 5 {
		t.Fatalf("docs/format.md has %d SQL examples", len(queries))
	}
	counts := script(t, `
import duckdb, json, sys
print(json.dumps([len(duckdb.sql(q).fetchall()) for q in sys.argv[1:]]))`, queries...)
	for i, n := range counts.([]any) {
		if n == 0.0 {
			t.Errorf("this example answers nothing:\n%s", queries[i])
		}
	}
}
