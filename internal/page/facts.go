package page

import (
	"fmt"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// FactTable is one block of facts: Hardware, Engine, Run, Host.
type FactTable struct {
	ID    string // anchor
	Title string
	Wide  bool // a block of its own width
	Facts []Fact
}

// Fact is one line of a FactTable.
type Fact struct {
	Term   string
	Text   string
	Href   string // http(s), or ""
	Note   string // e.g. "branch, not pinned"
	Source string // "server", "probe", "user", or "" when the program itself decided it
	Code   bool   // identifiers that are read letter by letter
}

// factName is how a known key of an open table is shown; keys not listed follow, sorted, under their own name.
type factName struct {
	key, term string
	format    func(any) string // nil: plain
}

var hardwareNames = []factName{
	{"type", "Type", nil}, {"gpu", "GPU", nil}, {"gpu_count", "GPUs", nil}, {"vram_gb", "VRAM", suffix("GB")},
	{"os", "OS", nil}, {"driver", "Driver", nil}, {"power_limit_w", "Power limit", suffix("W")},
	{"pcie", "PCIe", nil}, {"cpu", "CPU", nil}, {"cores", "CPU cores", nil}, {"ram_gb", "RAM", suffix("GB")},
	{"kernel", "Kernel", nil}, {"governor", "CPU governor", nil},
}

var engineNames = []factName{
	{"name", "Engine", nil}, {"version", "Version", nil}, {"quantization", "Quantization", nil},
	{"backend", "Backend", nil}, {"repository", "Repository", nil}, {"build", "Build", nil},
	{"commit", "Commit", nil}, {"attention_backend", "Attention backend", nil}, {"tp", "Tensor parallel", nil},
	{"simulated", "Simulated", nil}, {"profile", "Profile", nil},
}

var modelNames = []factName{
	{"served", "Served model", nil}, {"id", "Model", nil}, {"revision", "Revision", nil}, {"dtype", "Data type", nil},
	{"quantization", "Model quantization", nil}, {"parameters", "Parameters", nil},
}

var serverNames = []factName{
	{"url_host_kind", "Server address", nil}, {"max_running_requests", "Requests the server runs at most", nil},
}

var hostNames = []factName{
	{"same_machine", "Same machine as the server", nil}, {"cpu", "CPU", nil}, {"cores", "CPU cores", nil},
	{"ram_gb", "RAM", suffix("GB")}, {"os", "OS", nil}, {"kernel", "Kernel", nil}, {"go", "Go", nil},
	{"clock", "Arrivals stamped by", nil},
}

// codeTerms are shown in the fixed-width face.
var codeTerms = map[string]bool{"Commit": true, "Revision": true, "Build": true, "Version": true, "Served model": true}

func suffix(unit string) func(any) string {
	return func(v any) string {
		s := plainFact(v)
		if strings.HasSuffix(strings.ToLower(s), strings.ToLower(unit)) {
			return s
		}
		return s + " " + unit
	}
}

// plainFact prints a scalar of an open table.
func plainFact(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return Clean(v)
	case float64:
		return number(v)
	}
	return Clean(fmt.Sprint(v))
}

// facts lists a table: known keys in the order of names, then the others by key.
func facts(table string, f event.Facts, names []factName, sources map[string]event.Source) []Fact {
	var out []Fact
	known := map[string]bool{}
	for _, n := range names {
		known[n.key] = true
		v, ok := f[n.key]
		if !ok {
			continue
		}
		text := plainFact(v)
		if n.format != nil && text != "" {
			text = n.format(v)
		}
		out = appendFact(out, n.term, text, sources[table+"."+n.key])
	}
	var rest []string
	for k := range f {
		if !known[k] {
			rest = append(rest, k)
		}
	}
	slices.Sort(rest)
	for _, k := range rest {
		out = appendFact(out, keyTerm(k), plainFact(f[k]), sources[table+"."+k])
	}
	return out
}

func appendFact(out []Fact, term, text string, src event.Source) []Fact {
	if text == "" {
		return out
	}
	return append(out, Fact{Term: term, Text: text, Source: Clean(string(src)), Code: codeTerms[term]})
}

// keyTerm turns a key that pages do not know into words: "kv_cache_dtype" is "Kv cache dtype".
func keyTerm(key string) string {
	s := Clean(strings.ReplaceAll(key, "_", " "))
	if s == "" {
		return "(no name)"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// factTables gathers the four blocks of the run page. A block without facts is left out.
func factTables(r *event.Run) []FactTable {
	hardware := facts("hardware", r.Hardware, hardwareNames, r.Sources)
	engine := facts("engine", r.Engine, engineNames, r.Sources)
	for i := range engine {
		engine[i] = linkFact(engine[i], r.Engine)
	}
	model := facts("model", r.Model, modelNames, r.Sources)
	for i := range model {
		if model[i].Term == "Revision" {
			model[i].Note = revisionNote(model[i].Text)
		}
	}
	run := slices.Concat(model, methodFacts(r), facts("server", withoutOverrides(r.Server), serverNames, r.Sources))
	all := []FactTable{
		{"hardware", "Hardware", false, hardware}, {"engine", "Engine", false, engine}, {"run", "Run", true, run},
		{"host", "Host that measured", true, facts("host", r.Host, hostNames, r.Sources)},
	}
	return slices.DeleteFunc(all, func(t FactTable) bool { return len(t.Facts) == 0 })
}

// linkFact gives the engine's repository and commit their addresses, where they are plain names on a known host.
func linkFact(f Fact, engine event.Facts) Fact {
	repo := strings.TrimPrefix(strings.TrimPrefix(engine.Text("repository"), "https://"), "http://")
	if !repoPattern.MatchString(repo) {
		return f
	}
	switch f.Term {
	case "Repository":
		f.Href = httpURL("https://" + repo)
	case "Commit":
		if commitPattern.MatchString(f.Text) && strings.HasPrefix(repo, "github.com/") {
			f.Href = httpURL("https://" + repo + "/commit/" + f.Text)
		}
	}
	return f
}

// revisionNote says whether a model's revision names its weights for ever.
func revisionNote(rev string) string {
	if hashPattern.MatchString(rev) {
		return ""
	}
	return "branch, not pinned"
}
