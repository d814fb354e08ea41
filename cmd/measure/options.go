package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

// options are the flags of run and plan, as typed.
type options struct {
	url, model, endpoint, engine   string
	contexts, concurrency, prefill string
	duration                       time.Duration
	maxTokens                      string
	prompts, start, preset         string
	repeats                        int
	seed                           uint64
	temperature                    float64
	kvTokens, maxModelLen          string
	prefillTokS                    float64
	apiKeyEnv, apiKeyFile          string
	headerEnv                      []string
	timeout, maxTime               time.Duration
	info, launch                   string
	allowBusy, yes, quiet, json    bool
	out, resume, config, ca        string
	insecure                       bool
	calibrate                      bool

	flags *pflag.FlagSet // all of them, to tell what was typed
}

// A group of flags stands under a heading of its own in the help.
type group struct {
	title string
	flags *pflag.FlagSet
}

// groups declares every flag, the six that a first user needs first.
func (o *options) groups() []group {
	std := plan.Standard()
	first := flagSet()
	first.StringVar(&o.url, "url", "", "base `URL` of the OpenAI-compatible API, e.g. http://localhost:8000/v1")
	first.StringVar(&o.model, "model", "", "served model `name`; not needed when the server has one")
	first.StringVar(&o.contexts, "contexts", plan.Labels(std.Contexts), "`list` of context lengths of the decode matrix; K is 1,024 tokens")
	first.StringVar(&o.concurrency, "concurrency", joinInts(std.Concurrency), "`list` of numbers of simultaneous requests; none leaves decode out")
	first.DurationVar(&o.duration, "duration", std.Duration, "measured window of a cell")
	first.StringVar(&o.out, "out", "results", "`folder` in which the run's folder is made")

	method := flagSet()
	method.StringVar(&o.endpoint, "endpoint", std.Endpoint, "`API`: chat, completions or ollama")
	method.StringVar(&o.prefill, "prefill", "", "`list` of prompt lengths of the prefill table (default: the contexts); none leaves it out")
	method.StringVar(&o.maxTokens, "max-tokens", plan.Labels([]int{std.OutputTokens}), "output `tokens` of a full request")
	method.StringVar(&o.prompts, "prompts", string(std.Prompts), "`mode`; per-stream: each stream its own context, sent again; shared: one for all; fresh: a new one each request")
	method.StringVar(&o.start, "start", string(std.Start), "`mode`; staggered: streams stand at evenly spread positions from the first moment; together: all begin at 0")
	method.IntVar(&o.repeats, "repeats", std.Repeats, "times the whole matrix is measured; 3 or more give intervals between repeats")
	method.StringVar(&o.preset, "preset", "", "`name`; llm-inference-bench: that tool's prompts, start and capacity rule, to compare with its pages")
	method.Uint64Var(&o.seed, "seed", 0, "seed of all prompts and orders; 0 draws one and records it")
	method.Float64Var(&o.temperature, "temperature", std.Temperature, "sampling temperature")

	server := flagSet()
	server.StringVar(&o.engine, "engine", "auto", "`name`: auto, vllm, sglang, llamacpp, ollama, tgi or generic")
	server.StringVar(&o.kvTokens, "kv-tokens", "", "`tokens` that the server's KV cache holds; wins over what the server says")
	server.StringVar(&o.maxModelLen, "max-model-len", "", "longest prompt + output in `tokens`; wins over what the server says")
	server.StringVar(&o.apiKeyEnv, "api-key-env", "", "`name` of the environment variable that holds the API key")
	server.StringVar(&o.apiKeyFile, "api-key-file", "", "`file` that holds the API key")
	server.StringSliceVar(&o.headerEnv, "header-env", nil, "further request headers as `Header=VARIABLE`, values from the environment")
	server.StringVar(&o.ca, "ca", "", "PEM `file` with the certificate authority of the server")
	server.BoolVar(&o.insecure, "insecure", false, "do not verify the server's certificate")
	server.BoolVar(&o.allowBusy, "allow-busy", false, "measure although the server has work of others; recorded")
	server.StringVar(&o.info, "info", "", "TOML `file` with facts of hardware, engine and model; wins over what is found")
	server.StringVar(&o.launch, "launch-command", "", "the `command` that started the server, for the page; secrets are redacted")

	running := flagSet()
	running.DurationVar(&o.timeout, "timeout", 120*time.Second, "a request without a byte for this long has stalled; longer for long cold prefills")
	running.DurationVar(&o.maxTime, "max-time", 0, "begin no further cell after this; 0: no limit")
	running.Float64Var(&o.prefillTokS, "prefill-tok-s", 0, "expected prefill speed, for the expected time of the plan")
	running.StringVar(&o.resume, "resume", "", "go on with an interrupted run: its `folder` ending in .partial")
	running.BoolVar(&o.calibrate, "calibrate", false, "measure this program's own error first and store it; on by itself for runs longer than 10 minutes")
	running.BoolVar(&o.yes, "yes", false, "do not ask before long runs and hosts that are not private")
	running.BoolVar(&o.quiet, "quiet", false, "print errors and the run's folder only")
	running.BoolVar(&o.json, "json", false, "print one JSON object a finished pass, and the run's folder, instead of text")
	running.StringVar(&o.config, "config", "", "TOML `file` in which any of these flags can stand by its name; a typed flag wins")

	return []group{
		{"What a first run needs", first},
		{"How cells are measured", method},
		{"The server", server},
		{"Running", running},
	}
}

func flagSet() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	return f
}

// parseOptions reads flags and --config. Help goes to stdout and gives pflag.ErrHelp.
func parseOptions(name string, args []string, stdout io.Writer) (*options, error) {
	o := &options{flags: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	groups := o.groups()
	for _, g := range groups {
		o.flags.AddFlagSet(g.flags)
	}
	o.flags.SetOutput(io.Discard)
	o.flags.Usage = func() {
		fmt.Fprintf(stdout, "usage: measure %s --url http://localhost:8000/v1 [flags]\n", name)
		for _, g := range groups {
			fmt.Fprintf(stdout, "\n%s:\n%s", g.title, g.flags.FlagUsages())
		}
		fmt.Fprintln(stdout, "\nLists take commas. Secrets come from the environment or a file, never from a flag's value.")
	}
	if err := o.flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, usageError("%v; see measure %s --help", err, name)
	}
	if rest := o.flags.Args(); len(rest) > 0 {
		return nil, usageError("unexpected argument %q; flags begin with --, see measure %s --help", rest[0], name)
	}
	return o, o.readConfig()
}

// readConfig sets every flag that stands in --config and was not typed.
func (o *options) readConfig() error {
	if o.config == "" {
		return nil
	}
	text, err := os.ReadFile(o.config)
	if err != nil {
		return usageError("--config: %v", err)
	}
	var values map[string]any
	if _, err := toml.Decode(string(text), &values); err != nil {
		return usageError("--config %s: %s", o.config, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	var errs []error
	for name, v := range values {
		f := o.flags.Lookup(name)
		if f == nil || name == "config" {
			errs = append(errs, usageError("--config %s: %q is not a flag; the names are those of measure run --help, without --", o.config, name))
			continue
		}
		if f.Changed {
			continue
		}
		if err := o.flags.Set(name, configText(v)); err != nil {
			errs = append(errs, usageError("--config %s: %s: %v", o.config, name, err))
		}
	}
	return joinUsage(errs)
}

// configText writes a TOML value as it would be typed.
func configText(v any) string {
	if list, ok := v.([]any); ok {
		var parts []string
		for _, x := range list {
			parts = append(parts, configText(x))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v)
}

// joinUsage joins errors, in order of their text, under the exit code of a usage error.
func joinUsage(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &exitError{exitUsage, errors.Join(sortErrors(errs)...)}
}

// standIn is a size that is always in order. It stands for one that could not be read, so that the other flags are checked all the same.
const standIn = 1024

// planConfig turns the flags into a plan's configuration; all mistakes at once.
func (o *options) planConfig() (plan.Config, error) {
	var errs []error
	sizes := func(flag, text string) []int {
		if text == "" || text == "none" {
			return nil
		}
		list, err := plan.ParseSizes(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
			return []int{standIn}
		}
		return list
	}
	counts, err := plan.ParseCounts(o.concurrency)
	if o.concurrency == "none" {
		counts, err = nil, nil
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("--concurrency: %w", err))
		counts = []int{1}
	}
	cfg := plan.Config{
		Contexts:    sizes("contexts", o.contexts),
		Concurrency: counts,
		Prefill:     sizes("prefill", o.prefill),
		Duration:    o.duration,
		Prompts:     event.PromptMode(o.prompts),
		Start:       event.StartMode(o.start),
		Repeats:     o.repeats,
		Seed:        o.seed,
		Temperature: o.temperature,
		Endpoint:    o.endpoint,
		Preset:      o.preset,
		PrefillTokS: o.prefillTokS,
		SkipPrefill: o.prefill == "none",
		SkipDecode:  o.concurrency == "none",
	}
	if n, err := plan.ParseSize(o.maxTokens); err != nil {
		errs = append(errs, fmt.Errorf("--max-tokens: %w", err))
		cfg.OutputTokens = standIn
	} else {
		cfg.OutputTokens = n
	}
	if o.timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout %s: must be longer than 0, e.g. 120s", o.timeout))
	}
	if o.maxTime < 0 {
		errs = append(errs, fmt.Errorf("--max-time %s: must not be negative; 0 is no limit", o.maxTime))
	}
	if err := plan.Validate(cfg); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return cfg, &exitError{exitUsage, errors.Join(errs...)}
	}
	return cfg, nil
}

// overrides are the limits that the user states, which win over the server's.
func (o *options) overrides() (kv, limit *int64, err error) {
	read := func(flag, text string) *int64 {
		if text == "" {
			return nil
		}
		n, e := plan.ParseSize(text)
		if e != nil {
			err = errors.Join(err, usageError("--%s: %v", flag, e))
			return nil
		}
		v := int64(n)
		return &v
	}
	kv = read("kv-tokens", o.kvTokens)
	limit = read("max-model-len", o.maxModelLen)
	return kv, limit, err
}

func joinInts(list []int) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ",")
}

// typed are the flags as the user gave them, for the record: names sorted by declaration, secrets never among
// them since no flag takes one.
func (o *options) typed() []string {
	var out []string
	o.flags.Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if s, err := strconv.Unquote(v); err == nil {
			v = s
		}
		out = append(out, "--"+f.Name+"="+v)
	})
	return out
}
