package probe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/redact"
)

func TestMerge(t *testing.T) {
	fact := func(table, key string, value any, source event.Source) event.Fact {
		return event.Fact{Table: table, Key: key, Value: value, Source: source}
	}
	check := func(name string, want any, source event.Source, facts ...event.Fact) {
		t.Helper()
		for _, f := range [][]event.Fact{facts, {facts[len(facts)-1], facts[0]}} {
			var run event.Run
			probe.Merge(&run, f, redact.Redactor{})
			if got := run.Hardware["gpu"]; got != want || run.Sources["hardware.gpu"] != source {
				t.Errorf("%s: %v from %s, want %v from %s", name, got, run.Sources["hardware.gpu"], want, source)
			}
		}
	}
	check("alone", "A", event.FromProbe, fact("hardware", "gpu", "A", event.FromProbe))
	check("user over probe", "B", event.FromUser, fact("hardware", "gpu", "A", event.FromProbe), fact("hardware", "gpu", "B", event.FromUser))
	check("user over server", "B", event.FromUser, fact("hardware", "gpu", "A", event.FromServer), fact("hardware", "gpu", "B", event.FromUser))
	check("server over probe", "B", event.FromServer, fact("hardware", "gpu", "A", event.FromProbe), fact("hardware", "gpu", "B", event.FromServer))

	// A run that is resumed knows where its facts came from.
	run := event.Run{Engine: event.Facts{"version": "1"}, Sources: map[string]event.Source{"engine.version": event.FromUser}}
	probe.Merge(&run, []event.Fact{
		fact("engine", "version", "2", event.FromServer),
		fact("engine", "tp", 2, event.FromServer),
		fact("engine", "note", "key sk-1234\nat /home/anna/x", event.FromUser),
		fact("engine", "bad", []int{1}, event.FromServer),
		fact("engine", "nan", math.NaN(), event.FromServer),
		fact("engine", "Bad Key", 1, event.FromServer),
		fact("nonsense", "x", 1, event.FromServer),
		fact("engine", "x", 1, "hearsay"),
		fact("host", "long", strings.Repeat("x", 1000), event.FromProbe),
	}, redact.New(redact.Options{}, "sk-1234"))
	want := event.Facts{"version": "1", "tp": int64(2), "note": "key <redacted> at $HOME/x"}
	if fmt.Sprint(run.Engine) != fmt.Sprint(want) {
		t.Errorf("engine %v, want %v", run.Engine, want)
	}
	if n := len([]rune(run.Host.Text("long"))); n != 300 {
		t.Errorf("a text of 1000 characters was kept with %d", n)
	}
	if len(run.Sources) != 4 {
		t.Errorf("sources %v", run.Sources)
	}
}

func TestReadInfo(t *testing.T) {
	facts, launch, err := probe.ReadInfo(strings.NewReader(`
[hardware]
gpu = "H200"
gpu_count = 8
vram_gb = 141
power_limit_w = 700.5
[engine]
prefix_caching = false
[launch]
command = " vllm serve m "
`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "[{engine prefix_caching false user} {hardware gpu H200 user} {hardware gpu_count 8 user} {hardware power_limit_w 700.5 user} {hardware vram_gb 141 user}]"
	if got := fmt.Sprint(facts); got != want || launch != "vllm serve m" {
		t.Errorf("facts %s\nwant  %s\nlaunch %q", got, want, launch)
	}

	check := func(text string, want ...string) {
		t.Helper()
		facts, launch, err := probe.ReadInfo(strings.NewReader(text))
		if err == nil || facts != nil || launch != "" {
			t.Errorf("%q: %v, %q, %v", text, facts, launch, err)
			return
		}
		if got := err.Error(); got != strings.Join(want, "\n") {
			t.Errorf("%q:\n got %s\nwant %s", text, got, strings.Join(want, "\n"))
		}
	}
	check("[gpu]\nname = 1\n[engine]\nsimulated = false\n\"Bad\" = 1\nlist = [1]\n[engine.deep]\nx = 1",
		`key "Bad" of [engine] is not in lower_snake form`,
		`engine.deep is not a text, number or truth value; write it as one`,
		`engine.list is not a text, number or truth value; write it as one`,
		`engine.simulated is told by the server alone; leave it out`,
		`table "gpu" is not known; use hardware, engine, model, server, host or launch`)
	check("gpu = 1", `key "gpu" stands outside a table; put it under [hardware], [engine], [model], [server] or [host]`)
	check("[launch]\ncommand = 1\nflags = \"x\"",
		`launch.command is not known; [launch] takes command = "…"`, `launch.flags is not known; [launch] takes command = "…"`)
	if _, _, err := probe.ReadInfo(strings.NewReader("= nonsense")); err == nil || !strings.HasPrefix(err.Error(), "the info file is not TOML") {
		t.Errorf("not TOML: %v", err)
	}
}

func FuzzReadInfo(f *testing.F) {
	f.Add("[hardware]\ngpu = \"x\"\n")
	f.Add("[engine]\nsimulated = true\n[launch]\ncommand = \"x\"")
	f.Fuzz(func(t *testing.T, text string) {
		facts, _, err := probe.ReadInfo(strings.NewReader(text))
		if err != nil {
			return
		}
		var run event.Run
		probe.Merge(&run, facts, redact.Redactor{})
		if run.Simulated() {
			t.Errorf("%q makes a run simulated", text)
		}
		for name, source := range run.Sources {
			if source != event.FromUser {
				t.Errorf("%s comes from %s", name, source)
			}
		}
	})
}
