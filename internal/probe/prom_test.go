package probe

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestParseSample(t *testing.T) {
	check := func(line string, want sample, ok bool) {
		t.Helper()
		got, gotOK := parseSample(line)
		if gotOK != ok || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("parseSample(%q) = %+v, %t; want %+v, %t", line, got, gotOK, want, ok)
		}
	}
	check(`a 1`, sample{"a", nil, 1}, true)
	check(`a:b_c 1.5e3 1700000000000`, sample{"a:b_c", nil, 1500}, true)
	check(`a{} -Inf`, sample{"a", map[string]string{}, math.Inf(-1)}, true)
	check(`a{x="1", y="two words",} 2`, sample{"a", map[string]string{"x": "1", "y": "two words"}, 2}, true)
	check(`a{x="q\"b\\n\nend}"} 2`, sample{"a", map[string]string{"x": "q\"b\\n\nend}"}, 2}, true)
	check(`a{x="ü"}	3`, sample{"a", map[string]string{"x": "ü"}, 3}, true)
	for _, bad := range []string{"", "# HELP a b", "a", "a b", "a 1 2 3", `a{x="1" 1`, `a{x=1} 1`, `a{x="1"} `, `a{x="1\`, `{x="1"} 1`, ` 1`} {
		check(bad, sample{}, false)
	}
}

// The name is matched exactly, every label set counts, and none counts twice.
func TestSum(t *testing.T) {
	check := func(text string, want float64, ok bool) {
		t.Helper()
		got, gotOK := sum(parseMetrics(text), "g")
		if got != want || gotOK != ok {
			t.Errorf("sum of\n%s= %g, %t; want %g, %t", text, got, gotOK, want, ok)
		}
	}
	check("g 3\n", 3, true)
	check("g_total 9\ngg 9\n", 0, false)
	check("g{engine=\"0\"} 3\ng{engine=\"1\"} 4\n", 7, true)
	check("g{dp_rank=\"0\",tp_rank=\"0\"} 3\ng{dp_rank=\"0\",tp_rank=\"1\"} 3\ng{dp_rank=\"1\",tp_rank=\"0\"} 5\n", 8, true)
	check("g{priority=\"\"} 14\ng{priority=\"0\"} 10\ng{priority=\"1\"} 4\n", 14, true)
	check("g{priority=\"0\"} 10\ng{priority=\"1\"} 4\n", 14, true)
	check("g{engine=\"0\"} NaN\ng{engine=\"1\"} 4\ng{engine=\"2\"} +Inf\ng{engine=\"3\"} -1\n", 4, true)
	check("g NaN\n", 0, false)
	check("# g 3\nbroken{ 1\ng 2\r\n", 2, true)
}

func TestMean(t *testing.T) {
	samples := parseMetrics("u{engine=\"0\"} 0.25\nu{engine=\"1\"} 0.75\n")
	if got := mean(samples, "absent", "u"); got == nil || *got != 0.5 {
		t.Errorf("mean = %v, want 0.5", got)
	}
	if got := mean(samples, "absent"); got != nil {
		t.Errorf("mean of nothing = %v", *got)
	}
}

// Data-parallel engines repeat their total; only different values are shares of it.
func TestVLLMCapacity(t *testing.T) {
	check := func(text string, want int64) {
		t.Helper()
		var srv Server
		vllmCapacity(&srv, parseMetrics(text))
		switch {
		case want == 0 && srv.CapacityTokens != nil:
			t.Errorf("%s: capacity %d, want none", text, *srv.CapacityTokens)
		case want != 0 && (srv.CapacityTokens == nil || *srv.CapacityTokens != want):
			t.Errorf("%s: capacity %v, want %d", text, srv.CapacityTokens, want)
		}
	}
	const c = "vllm:cache_config_info"
	check(c+`{kv_cache_size_tokens="100",num_gpu_blocks="9",block_size="16"} 1`, 100)
	check(c+`{engine="0",kv_cache_size_tokens="100"} 1`+"\n"+c+`{engine="1",kv_cache_size_tokens="100"} 1`, 100)
	check(c+`{engine="0",kv_cache_size_tokens="100"} 1`+"\n"+c+`{engine="1",kv_cache_size_tokens="98"} 1`, 198)
	check(c+`{kv_cache_size_tokens="None",num_gpu_blocks="10",block_size="16"} 1`, 160)
	check(c+`{num_gpu_blocks="None",block_size="16"} 1`, 0)
	check(c+`_extra{kv_cache_size_tokens="100"} 1`, 0)
	check(c+`{kv_cache_size_tokens="-5"} 1`, 0)
	check(c+`{kv_cache_size_tokens="1e300"} 1`, 0)
	check(c+`{kv_cache_size_tokens="NaN"} 1`, 0)
}

// Written samples are read back as they were, and no text makes the parser fail otherwise than by refusing a line.
func FuzzParseMetrics(f *testing.F) {
	f.Add("a", "x", "v", 1.0, "# junk\n")
	f.Add("vllm:x", "engine", `q"\`+"\n", 0.5, `b{x="`)
	f.Fuzz(func(t *testing.T, name, label, value string, number float64, junk string) {
		for _, s := range parseMetrics(junk) {
			if s.name == "" {
				t.Errorf("a sample without a name from %q", junk)
			}
		}
		if name == "" || strings.ContainsAny(name, "{# \t\r\n\v\f\u0085\u00a0") || strings.TrimSpace(name) != name ||
			label == "" || strings.ContainsAny(label, "=,}\" \t\r\n\v\f") || strings.TrimSpace(label) != label || strings.ContainsAny(value, "\r") || math.IsNaN(number) {
			return
		}
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
		line := name + "{" + label + `="` + escaped + `"} ` + strconv.FormatFloat(number, 'g', -1, 64)
		got := parseMetrics(line)
		want := []sample{{name, map[string]string{label: value}, number}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", line, got, want)
		}
	})
}
