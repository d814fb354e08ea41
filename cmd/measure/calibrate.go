package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"speedmatrix/internal/calibrate"
	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

// calibrateAbove is the expected length of a run from which it calibrates by itself.
const calibrateAbove = 10 * time.Minute

// calibrateFlags are the flags of "measure calibrate" as typed.
type calibrateFlags struct {
	concurrency string
	rate        float64
	duration    time.Duration
	spread      bool
	json        bool
}

func (f *calibrateFlags) flagSet(stdout io.Writer) *pflag.FlagSet {
	set := pflag.NewFlagSet("calibrate", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	set.Usage = func() {
		fmt.Fprintf(stdout, `Measure this program's own error: stream from the built-in engine, which runs as another process and writes down when it
sent each token, and compare. No other server is asked.

usage: measure calibrate [flags]

%s`, set.FlagUsages())
	}
	set.StringVar(&f.concurrency, "concurrency", joinInts(plan.Standard().Concurrency), "numbers of simultaneous streams")
	set.Float64Var(&f.rate, "tokens-per-second", 0, "tokens a second of each stream (default 140, less where all together would pass 18,000)")
	set.DurationVar(&f.duration, "duration", 0, "streaming at each number (default 3s, less where all together would pass 30s)")
	set.BoolVar(&f.spread, "spread", false, "let streams take turns; by default all get their tokens at once, which is harder and what real engines do")
	set.BoolVar(&f.json, "json", false, "print one JSON object a number of streams")
	return set
}

// calibrateCommand is `measure calibrate`.
func calibrateCommand(ctx context.Context, args []string, p process) error {
	var f calibrateFlags
	set := f.flagSet(p.stdout)
	if err := set.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usageError("%v; see measure calibrate --help", err)
	}
	if set.NArg() > 0 {
		return usageError("calibrate takes no arguments, got %q", set.Arg(0))
	}
	streams, err := plan.ParseCounts(f.concurrency)
	if err != nil {
		return usageError("--concurrency: %v", err)
	}
	if set.Changed("tokens-per-second") && f.rate <= 0 {
		return usageError("--tokens-per-second %v: must be more than 0", f.rate)
	}
	if f.duration < 0 {
		return usageError("--duration %s: must not be negative", f.duration)
	}
	cfg, err := calibration(streams)
	if err != nil {
		return err
	}
	cfg.TokensPerSecond, cfg.Duration, cfg.Spread = f.rate, f.duration, f.spread
	cfg.Done = calibrationTable(p.stdout, f.json)
	_, err = runCalibration(ctx, cfg)
	return err
}

// calibration configures a calibration at some numbers of streams, with this very program as the engine.
func calibration(streams []int) (calibrate.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return calibrate.Config{}, fmt.Errorf("find this program, to run the built-in engine: %w", err)
	}
	return calibrate.Config{Engine: []string{self, "simulate"}, Streams: streams}, nil
}

// runCalibration prepares this process as for a run and calibrates.
func runCalibration(ctx context.Context, cfg calibrate.Config) ([]event.Calibration, error) {
	most := 0
	for _, n := range cfg.Streams {
		most = max(most, n)
	}
	if err := raiseDescriptors(most); err != nil {
		return nil, err
	}
	tuneCollector(most, 0)
	return calibrate.Run(ctx, cfg)
}

const calibrationHead = `Errors are this program's figures minus the engine's own, in microseconds; 50th / 99th percentile.

 streams         instants             TTFT   between tokens   tok/s, %   CPU per token   merged reads   clock
`

// calibrationTable returns a function that prints one result a line, the head before the first.
func calibrationTable(w io.Writer, asJSON bool) func(event.Calibration) {
	if !asJSON {
		fmt.Fprint(w, calibrationHead)
	}
	return func(c event.Calibration) {
		if asJSON {
			printCalibrationJSON(w, c)
			return
		}
		fmt.Fprintf(w, "%8d  %6.1f / %6.1f  %6.0f / %6.0f  %15.3f  %9.3f  %14.2f  %11.2f %%   %s\n",
			c.Streams, c.InstantP50US, c.InstantP99US, c.TTFTP50US, c.TTFTP99US, c.BetweenTokensUS, c.RatePercent,
			c.CPUPerTokenUS, 100*c.MergedShare, c.Clock)
	}
}

func printCalibrationJSON(w io.Writer, c event.Calibration) {
	line, err := json.Marshal(map[string]any{
		"streams": c.Streams, "instant_p50_us": c.InstantP50US, "instant_p99_us": c.InstantP99US,
		"ttft_p50_us": c.TTFTP50US, "ttft_p99_us": c.TTFTP99US, "between_tokens_us": c.BetweenTokensUS,
		"rate_percent": c.RatePercent, "cpu_per_token_us": c.CPUPerTokenUS, "merged_share": c.MergedShare, "clock": c.Clock,
	})
	if err == nil {
		fmt.Fprintf(w, "%s\n", line)
	}
}

// calibrateRun measures the instrument's error at the plan's numbers of streams, for the run to store: when asked to, and
// by itself before runs that are expected to take longer than calibrateAbove. A calibration that was not asked for does
// not stop a run when it fails.
func (o *options) calibrateRun(ctx context.Context, p process, t target) ([]event.Calibration, error) {
	asked := o.flags.Changed("calibrate")
	streams := plannedStreams(t.plan)
	if len(streams) == 0 || asked && !o.calibrate || !asked && t.expectation().Duration <= calibrateAbove {
		return nil, nil
	}
	cfg, err := calibration(streams)
	if err != nil {
		return nil, err
	}
	if !o.quiet && !o.json {
		fmt.Fprintf(p.stdout, "\nCalibrating this program against its built-in engine, about %.0f s.\n", cfg.Expected().Seconds())
		cfg.Done = calibrationTable(p.stdout, false)
	}
	found, err := runCalibration(ctx, cfg)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && asked:
		return nil, err
	case err != nil:
		fmt.Fprintf(p.stderr, "measure: %v; the run goes on without it\n", err)
	}
	return found, nil
}

// plannedStreams are the numbers of simultaneous requests of the plan's decode cells that will run, ascending.
func plannedStreams(p plan.Plan) []int {
	seen := map[int]bool{}
	var out []int
	for _, n := range p.Config.Concurrency {
		for _, c := range p.Cells {
			if c.Phase == event.Decode && c.Status == event.Ran && c.Concurrency == n && !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}
