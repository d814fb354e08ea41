package calibrate_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/calibrate"
	"speedmatrix/internal/event"
	"speedmatrix/internal/simengine"
)

// engineEnv makes this test binary the engine: "engine", or a way to go wrong.
const engineEnv = "CALIBRATE_TEST_ENGINE"

func TestMain(m *testing.M) {
	switch os.Getenv(engineEnv) {
	case "":
		os.Exit(m.Run())
	case "dies":
		fmt.Fprintln(os.Stderr, "no such profile")
		os.Exit(1)
	default:
		if err := serve(os.Args[1:], os.Getenv(engineEnv) == "forgets"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// serve is what "measure simulate" does, as far as calibrate needs it. It may forget the last token of each request in
// its log.
func serve(args []string, forgets bool) error {
	value := func(flag string) string { return args[slices.Index(args, flag)+1] }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log, err := os.Create(value("--log"))
	if err != nil {
		return err
	}
	defer log.Close()
	profile, err := simengine.LoadProfile(value("--profile"))
	if err != nil {
		return err
	}
	speed, err := strconv.ParseFloat(value("--speed"), 64)
	if err != nil {
		return err
	}
	write := simengine.LogTo(log, nil)
	engine, err := simengine.New(profile, simengine.Options{
		Dialect: simengine.Dialect(value("--dialect")), Speed: speed, Spread: slices.Contains(args, "--spread=true"),
		Truth: func(s simengine.Served) {
			if forgets {
				s.SentNS = s.SentNS[:len(s.SentNS)-1]
			}
			write(s)
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", value("--listen"))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s/v1\n", l.Addr())
	return engine.Serve(ctx, l)
}

func config(t *testing.T, as string, streams ...int) calibrate.Config {
	t.Helper()
	t.Setenv(engineEnv, as)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return calibrate.Config{Engine: []string{self}, Streams: streams, Duration: 200 * time.Millisecond}
}

func TestRunComparesWithAnotherProcess(t *testing.T) {
	cfg := config(t, "engine", 1, 6)
	var told []int
	cfg.Done = func(c event.Calibration) { told = append(told, c.Streams) }
	got, err := calibrate.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Streams != 1 || got[1].Streams != 6 || !slices.Equal(told, []int{1, 6}) {
		t.Fatalf("Run = %+v, told of %v, want a result at 1 and at 6", got, told)
	}
	for _, c := range got {
		// An arrival comes after its sending: by how much is for the benchmarks to say.
		if c.InstantP50US < -2 || c.InstantP99US < c.InstantP50US || c.TTFTP99US < c.TTFTP50US {
			t.Errorf("errors out of order: %+v", c)
		}
		if c.CPUPerTokenUS <= 0 || c.MergedShare < 0 || c.MergedShare > 1 || c.Clock == "" {
			t.Errorf("cost or clock missing: %+v", c)
		}
	}
}

func TestRunSpread(t *testing.T) {
	cfg := config(t, "engine", 3)
	cfg.Spread, cfg.TokensPerSecond = true, 200
	if got, err := calibrate.Run(t.Context(), cfg); err != nil || len(got) != 1 {
		t.Errorf("Run = %+v, %v", got, err)
	}
}

func TestRunFails(t *testing.T) {
	check := func(want string, cfg calibrate.Config) {
		t.Helper()
		if _, err := calibrate.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run = %v, want an error with %q", err, want)
		}
	}
	check("no such profile", config(t, "dies", 1))
	check("the engine sent", config(t, "forgets", 2))
	missing := config(t, "engine", 1)
	missing.Engine = []string{"/nowhere/at/all"}
	check("start the engine", missing)
}

func TestRunSaysAllThatIsWrong(t *testing.T) {
	_, err := calibrate.Run(t.Context(), calibrate.Config{Streams: []int{0, 20000}, TokensPerSecond: -1, Duration: time.Hour})
	for _, want := range []string{"no command", "0 streams", "20000 streams", "-1 tokens per second", "duration 1h0m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run = %v, want an error with %q", err, want)
		}
	}
}

func TestRunCanBeInterrupted(t *testing.T) {
	cfg := config(t, "engine", 1, 2, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Done = func(event.Calibration) { cancel() }
	got, err := calibrate.Run(ctx, cfg)
	if err != context.Canceled || len(got) != 1 {
		t.Errorf("interrupted after the first result: %d results, %v, want 1 and the context's error", len(got), err)
	}
}
