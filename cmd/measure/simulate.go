package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"speedmatrix/internal/simengine"
)

// simulateFlags are the flags of "measure simulate" as typed.
type simulateFlags struct {
	listen, profile string
	listProfiles    bool
	keyEnv, log     string
	dialect, usage  string
	faultKinds      []string
	prefixCache     bool
	noUsage         bool
	opt             simengine.Options
}

// simulate serves the built-in simulated engine until ctx ends. It prints the address on stdout once it listens.
func simulate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f simulateFlags
	set := f.flagSet(stderr)
	if err := set.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return &exitError{exitUsage, err}
	}
	if set.NArg() > 0 {
		return usageError("simulate takes no arguments, got %q", set.Arg(0))
	}
	if f.listProfiles {
		return listProfiles(stdout)
	}
	profile, err := simengine.LoadProfile(f.profile)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	opt, err := f.options()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if f.log != "" {
		file, err := os.Create(f.log)
		if err != nil {
			return fmt.Errorf("create truth log: %w", err)
		}
		defer file.Close()
		opt.Truth = simengine.LogTo(file, func(err error) { fmt.Fprintf(stderr, "write truth log: %v\n", err) })
	}
	engine, err := simengine.New(profile, opt)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(stderr, "%s, %s dialect: its figures are simulated\n", engine.Label(), engine.Dialect())
	fmt.Fprintf(stdout, "listening on http://%s/v1\n", listener.Addr())
	return engine.Serve(ctx, listener)
}

func (f *simulateFlags) flagSet(stderr io.Writer) *pflag.FlagSet {
	set := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	set.SetOutput(stderr)
	set.SortFlags = false
	set.Usage = func() {
		fmt.Fprintf(stderr, "Serve the built-in simulated engine.\n\nUsage: measure simulate [flags]\n\n%s", set.FlagUsages())
	}
	set.StringVar(&f.listen, "listen", "127.0.0.1:8000", "`address` to listen on; port 0 takes a free one")
	set.StringVar(&f.profile, "profile", "tiny", "built-in profile's `name`, or a TOML file")
	set.BoolVar(&f.listProfiles, "list-profiles", false, "list the built-in profiles and end")
	set.StringVar(&f.dialect, "dialect", "", "API to speak: "+strings.Join(simengine.Dialects(), ", ")+" (default: the profile's, else vllm)")
	set.IntVar(&f.opt.MaxRunning, "max-running", 0, "requests that run at once (default: the profile's)")
	set.IntVar(&f.opt.KVTokens, "kv-tokens", 0, "tokens that the KV cache holds (default: the profile's)")
	set.IntVar(&f.opt.MaxModelLen, "max-model-len", 0, "tokens of one request, prompt and output (default: the profile's)")
	set.BoolVar(&f.prefixCache, "prefix-cache", true, "reuse what is cached of a prompt")
	set.Float64Var(&f.opt.Speed, "speed", 1, "divide all durations by this `factor`")
	set.BoolVar(&f.opt.Spread, "spread", false, "send a step's tokens spread over the next step's time, not all at once")
	set.IntVar(&f.opt.TokensPerStep, "tokens-per-step", 1, "tokens in each chunk, as with speculative decoding")
	set.BoolVar(&f.opt.NoMetrics, "no-metrics", false, "have no /metrics")
	set.DurationVar(&f.opt.StaleGauges, "stale-gauges", 0, "gauges show the last load for so long after it ended, as SGLang's do")
	set.IntVar(&f.opt.Ranks, "ranks", 1, "data-parallel ranks that the metrics tell apart (vllm)")
	set.BoolVar(&f.noUsage, "no-usage", false, "tell no usage at all")
	set.StringVar(&f.usage, "usage", "", "final: no usage per chunk; continuous: in every chunk, asked or not (default: what the request asks for)")
	set.BoolVar(&f.opt.NoCached, "no-cached-tokens", false, "leave cached tokens out of the usage")
	set.StringSliceVar(&f.opt.RejectFields, "reject", nil, "answer requests that have one of these `fields` with a 400 that names it")
	set.Float64Var(&f.opt.EarlyStop, "early-stop", 0, "`share` of requests that stop by themselves before max_tokens, unless ignore_eos is set")
	set.BoolVar(&f.opt.AlwaysEOS, "always-eos", false, "ignore ignore_eos")
	set.Float64Var(&f.opt.Faults.Rate, "faults", 0, "`share` of requests that go wrong")
	set.StringSliceVar(&f.faultKinds, "fault-kinds", nil, fmt.Sprintf("in which ways, of %v (default: all)", simengine.AllFaults()))
	set.StringVar(&f.keyEnv, "api-key-env", "", "`name` of the environment variable with the API key that requests must bring")
	set.Uint64Var(&f.opt.Seed, "seed", 1, "seed of texts, early stops and faults")
	set.StringVar(&f.log, "log", "", "`file` for what was really sent, one line of JSON a request")
	return set
}

// options gathers the engine's options from the flags.
func (f *simulateFlags) options() (simengine.Options, error) {
	opt := f.opt
	opt.Dialect = simengine.Dialect(f.dialect)
	opt.NoPrefixCache = !f.prefixCache
	opt.Usage = simengine.UsageMode(f.usage)
	if f.noUsage {
		if f.usage != "" {
			return opt, fmt.Errorf("--no-usage and --usage %s contradict each other: leave one out", f.usage)
		}
		opt.Usage = simengine.UsageNone
	}
	for _, k := range f.faultKinds {
		opt.Faults.Kinds = append(opt.Faults.Kinds, simengine.Fault(k))
	}
	if f.keyEnv != "" {
		if opt.Key = os.Getenv(f.keyEnv); opt.Key == "" {
			return opt, fmt.Errorf("environment variable %s of --api-key-env is empty or not set", f.keyEnv)
		}
	}
	return opt, nil
}

func listProfiles(w io.Writer) error {
	for _, name := range simengine.Profiles() {
		p, err := simengine.LoadProfile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-26s %s\n", name, p.Description)
	}
	return nil
}
