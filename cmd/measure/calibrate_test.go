package main

import (
	"bytes"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
)

func TestCalibrateRefusesBadFlags(t *testing.T) {
	check := func(want string, args ...string) {
		t.Helper()
		err := calibrateCommand(t.Context(), args, process{stdout: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("calibrate %q = %v, want an error with %q", args, err, want)
		}
	}
	check("--concurrency", "--concurrency", "none")
	check("must be more than 0", "--tokens-per-second", "0")
	check("must not be negative", "--duration", "-1s")
	check("must be at most 1m0s", "--duration", "2m")
	check("takes no arguments", "extra")
	check("measure calibrate --help", "--nosuch")
}

func TestCalibrationTable(t *testing.T) {
	c := event.Calibration{
		Streams: 128, InstantP50US: 3.25, InstantP99US: 17.5, TTFTP50US: 154, TTFTP99US: 820.4, BetweenTokensUS: 0.012,
		RatePercent: -0.001, CPUPerTokenUS: 6.5, MergedShare: 0.0042, Clock: event.Kernel,
	}
	var text bytes.Buffer
	calibrationTable(&text, false)(c)
	head, row, _ := strings.Cut(strings.TrimPrefix(text.String(), calibrationHead[:strings.Index(calibrationHead, " streams")]), "\n")
	if want := "     128     3.2 /   17.5     154 /    820            0.012     -0.001            6.50         0.42 %   kernel\n"; row != want {
		t.Errorf("row\n%q, want\n%q", row, want)
	}
	if strings.Index(head, "clock") != strings.Index(row, "kernel") {
		t.Errorf("head and row do not line up:\n%s\n%s", head, row)
	}
	text.Reset()
	calibrationTable(&text, true)(c)
	if got := text.String(); !strings.Contains(got, `"instant_p99_us":17.5`) || !strings.Contains(got, `"clock":"kernel"`) || strings.Count(got, "\n") != 1 {
		t.Errorf("as JSON: %q", got)
	}
}

func TestPlannedStreamsAreThoseThatWillRun(t *testing.T) {
	cfg := plan.Standard()
	cfg.Contexts, cfg.Concurrency = []int{1024, 8192}, []int{1, 4, 16}
	capacity := int64(60000) // 4 streams of 8K and its output, 11 of 1K
	p, err := plan.Build(cfg, plan.Limits{CapacityTokens: &capacity})
	if err != nil {
		t.Fatal(err)
	}
	if got := plannedStreams(p); joinInts(got) != "1,4" {
		t.Errorf("plannedStreams = %v, want 1 and 4: 16 streams are over capacity everywhere", got)
	}
}
