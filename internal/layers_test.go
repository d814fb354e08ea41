package internal_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "speedmatrix"

// layers is the import policy of the module: for each package, the internal packages that it may import and
// the standard packages that it must not. It is policy, not a record: when this test fails, first ask
// whether the new edge should exist, then change docs/architecture.md and this table together.
//
// "clock" stands for reading or waiting on the clock with package time (values such as time.Duration are fine).
var layers = map[string]layer{
	"internal/stat":  {deny: "clock os net net/http"},
	"internal/unit":  {deny: "clock os net net/http"},
	"internal/event": {deny: "clock io io/fs bufio os net net/http"},
	"internal/sse":   {deny: "clock time net net/http encoding/json os"},

	// Measuring: what to do, what to send, how to send it, when, and what the server says of itself.
	"internal/redact":    {deny: "clock net net/http"},
	"internal/plan":      {allow: "event metric", deny: "clock os net net/http"},
	"internal/prompt":    {allow: "event", deny: "clock os net net/http"},
	"internal/client":    {allow: "event sse"},
	"internal/health":    {allow: "event", deny: "net net/http"},
	"internal/bench":     {}, // only its tests have code
	"internal/calibrate": {allow: "event client health simengine stat", deny: "net net/http"},
	"internal/load":      {allow: "event metric plan prompt client stat", deny: "os net/http"},
	"internal/simtest":   {allow: "event load client probe prompt simengine"}, // for tests of load, session and cmd
	"internal/session":   {allow: "event plan load eventlog", deny: "os net net/http"},
	"internal/probe":     {allow: "event redact"},
	"internal/simengine": {allow: "event prompt stat"},

	// Files of a run, and the numbers made from them.
	"internal/eventlog": {allow: "event", deny: "net net/http"},
	"internal/check":    {allow: "event eventlog redact metric summary stat", deny: "clock net net/http"},
	"internal/metric":   {allow: "event stat", deny: "clock io os net net/http"},
	"internal/summary":  {allow: "event metric stat", deny: "clock io os net net/http html/template text/template"},

	// Many runs: comparing two, and keeping what was computed of each.
	"internal/compare": {allow: "event summary", deny: "clock io os net net/http html/template text/template"},
	"internal/pack":    {deny: "clock os net net/http"},

	// Pages.
	"internal/chart":    {allow: "event summary unit stat", deny: "clock os net net/http html/template"},
	"internal/page":     {allow: "event metric summary unit stat chart compare", deny: "clock os net net/http html/template"},
	"internal/site":     {allow: "page chart unit pack site/social", deny: "clock"},
	"internal/textview": {allow: "event eventlog metric summary unit stat", deny: "clock net net/http html/template"},

	"internal/site/social": {allow: "page", deny: "clock os net net/http"},

	"templates": {deny: "os net net/http"}, // files only, embedded into sitegen

	// For tests only: no other package may list these.
	"internal/page/seedtest": {allow: "event summary", deny: "clock os net net/http"},
	"internal/ggufgen":       {deny: "clock net net/http os"},
	"internal/synth":         {allow: "event eventlog", deny: "clock net net/http"},

	"cmd/measure":      {allow: "event plan prompt client load health calibrate session probe redact eventlog simengine stat unit metric summary textview"},
	"cmd/sitegen":      {allow: "event eventlog check redact metric summary unit compare pack page chart site textview templates"},
	"tests/ggufgen":    {allow: "ggufgen"},
	"tests/programs":   {},
	"tests/instrument": {},
	"tests/site":       {},
	"tests/truth":      {},
}

// owners says which packages may import a module from outside the standard library. One not listed is refused.
var owners = map[string]string{
	"github.com/BurntSushi/toml":          "cmd/measure cmd/sitegen internal/eventlog internal/probe internal/simengine internal/site",
	"github.com/andybalholm/brotli":       "internal/client",
	"github.com/klauspost/compress":       "internal/client internal/eventlog internal/site/social",
	"github.com/go-echarts/go-echarts/v2": "internal/chart",
	"github.com/parquet-go/bitpack":       "internal/eventlog",
	"github.com/parquet-go/parquet-go":    "internal/eventlog tests/site",
	"github.com/pelletier/go-toml/v2":     "internal/eventlog",
	"github.com/spf13/pflag":              "cmd/measure cmd/sitegen",
	"github.com/yuin/goldmark":            "internal/page",
	"golang.org/x/image":                  "internal/site/social",
	"golang.org/x/net":                    "internal/client internal/site",
	"golang.org/x/sys":                    "cmd/measure internal/client internal/eventlog internal/health internal/probe internal/site",
	"golang.org/x/term":                   "cmd/measure",
}

// denyBelowCmd holds for every package of internal: programs log and exit, packages return errors.
const denyBelowCmd = "log log/slog flag github.com/spf13/pflag"

type layer struct {
	allow string // names under internal/ (or templates), separated by spaces
	deny  string // import paths, or "clock"
}

// source is what the policy needs to know of a package's files (tests left out).
type source struct {
	imports map[string]token.Position
	clock   map[string]token.Position // uses of the clock: "time.Now" -> where
	inits   []token.Position
}

func TestLayers(t *testing.T) {
	packages := readPackages(t, "..")
	for dir, src := range sorted(packages) {
		rule, listed := layers[dir]
		if !listed {
			t.Errorf("%s is not in the table: add it to docs/architecture.md and to layers", dir)
			continue
		}
		for _, at := range src.inits {
			t.Errorf("%s: func init: build values where they are used", at)
		}
		allow, deny := strings.Fields(rule.allow), strings.Fields(rule.deny)
		if strings.HasPrefix(dir, "internal/") {
			deny = append(deny, strings.Fields(denyBelowCmd)...)
		}
		if slices.Contains(deny, "clock") {
			for use, at := range sorted(src.clock) {
				t.Errorf("%s: %s must not read the clock: %s", at, dir, use)
			}
		}
		for imp, at := range sorted(src.imports) {
			if why := refusal(dir, imp, allow, deny); why != "" {
				t.Errorf("%s: %s must not import %s: %s", at, dir, imp, why)
			}
		}
	}
}

// refusal says why package dir may not import imp; empty when it may.
func refusal(dir, imp string, allow, deny []string) string {
	if slices.Contains(deny, imp) {
		return "it is on the package's deny list"
	}
	if own, ok := strings.CutPrefix(imp, module+"/"); ok {
		if !slices.Contains(allow, strings.TrimPrefix(own, "internal/")) {
			return "the edge is not in the table"
		}
		return ""
	}
	first, _, _ := strings.Cut(imp, "/")
	if !strings.Contains(first, ".") {
		return "" // standard library
	}
	for mod, who := range owners {
		if imp == mod || strings.HasPrefix(imp, mod+"/") {
			if slices.Contains(strings.Fields(who), dir) {
				return ""
			}
			return "only " + who
		}
	}
	return "the module has no owner in the table"
}

// TestLayersHaveNoCycle reads the table alone: what it allows must be an order, whatever is built today.
func TestLayersHaveNoCycle(t *testing.T) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(name string, trail []string)
	visit = func(name string, trail []string) {
		trail = append(trail, name)
		switch state[name] {
		case visiting:
			t.Errorf("cycle in layers: %s", strings.Join(trail, " -> "))
			return
		case done:
			return
		}
		state[name] = visiting
		for _, next := range strings.Fields(layers["internal/"+name].allow) {
			if _, ok := layers["internal/"+next]; !ok {
				t.Errorf("internal/%s allows internal/%s, which is not in the table", name, next)
				continue
			}
			visit(next, trail)
		}
		state[name] = done
	}
	for dir := range sorted(layers) {
		if name, ok := strings.CutPrefix(dir, "internal/"); ok {
			visit(name, nil)
		}
	}
}

// TestRefusal guards the guard: the rules must be able to refuse.
func TestRefusal(t *testing.T) {
	check := func(dir, imp, allow, deny string, refused bool) {
		t.Helper()
		why := refusal(dir, imp, strings.Fields(allow), strings.Fields(deny))
		if (why != "") != refused {
			t.Errorf("refusal(%s, %s, allow %q, deny %q) = %q, want refused %t", dir, imp, allow, deny, why, refused)
		}
	}
	check("internal/plan", "speedmatrix/internal/event", "event", "", false)
	check("internal/plan", "speedmatrix/internal/client", "event", "", true)
	check("internal/plan", "speedmatrix/cmd/measure", "event", "", true)
	check("internal/plan", "strings", "", "os", false)
	check("internal/plan", "os", "", "os", true)
	check("internal/eventlog", "github.com/parquet-go/parquet-go", "", "", false)
	check("internal/eventlog", "github.com/parquet-go/parquet-go/encoding", "", "", false)
	check("internal/site", "github.com/parquet-go/parquet-go", "", "", true)
	check("internal/site", "example.org/unknown", "", "", true)
}

// readPackages parses every Go file below root that is not a test; the key is the package's folder, "internal/x".
func readPackages(t *testing.T, root string) map[string]source {
	t.Helper()
	packages := map[string]source{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		if packages[dir].imports == nil {
			packages[dir] = source{imports: map[string]token.Position{}, clock: map[string]token.Position{}}
		}
		packages[dir] = packages[dir].with(files, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatalf("no Go files below %s", root)
	}
	return packages
}

// clockFuncs read the clock or wait on it.
var clockFuncs = strings.Fields("Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker")

// with adds a file's imports, uses of the clock and init functions.
func (s source) with(files *token.FileSet, f *ast.File) source {
	timeName := ""
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it: cannot happen
		}
		s.imports[imp] = files.Position(spec.Pos())
		if imp == "time" {
			timeName = "time"
			if spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				s.inits = append(s.inits, files.Position(n.Pos()))
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && timeName != "" && x.Name == timeName && slices.Contains(clockFuncs, n.Sel.Name) {
				s.clock["time."+n.Sel.Name] = files.Position(n.Pos())
			}
		}
		return true
	})
	return s
}

// sorted ranges over m in the order of its keys, so that messages stand in the same order every time.
func sorted[K cmp.Ordered, V any](m map[K]V) func(yield func(K, V) bool) {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
