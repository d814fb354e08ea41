package main

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/event"
)

func parse(t *testing.T, args ...string) (*options, error) {
	t.Helper()
	return parseOptions("run", args, &bytes.Buffer{})
}

func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.toml")
	text := "url = \"http://localhost:1/v1\"\ncontexts = [\"8K\", 1000]\nconcurrency = [1, 2]\nduration = \"5s\"\nyes = true\ntemperature = 0.5\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse(t, "--config", file, "--duration", "7s")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := o.planConfig()
	if err != nil {
		t.Fatal(err)
	}
	if o.url != "http://localhost:1/v1" || !o.yes || cfg.Duration != 7*time.Second || cfg.Temperature != 0.5 ||
		len(cfg.Contexts) != 2 || cfg.Contexts[0] != 8192 || cfg.Contexts[1] != 1000 || len(cfg.Concurrency) != 2 || cfg.Prompts != event.PerStream {
		t.Errorf("options %+v, plan %+v: want the file's values, with the typed duration", o, cfg)
	}
}

func TestUsageErrors(t *testing.T) {
	check := func(want string, args ...string) {
		t.Helper()
		o, err := parse(t, args...)
		if err == nil {
			_, err = o.planConfig()
		}
		var out bytes.Buffer
		if code := report(&out, err); code != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit %d, %q, want exit 2 and %q", args, code, out.String(), want)
		}
	}
	check("--concurrency", "--concurrency", "0")
	check(`"8Q"`, "--contexts", "8Q")
	check("unknown flag: --wat", "--wat")
	check(`unexpected argument "x"`, "x")
	check("--timeout", "--timeout", "-1s")
	check("--prompts", "--prompts", "some")
	check("--start", "--start", "later")
	check("--config", "--config", filepath.Join(t.TempDir(), "missing.toml"))
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("contxts = \"8K\"\napi-key = \"sk-secret\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(`"contxts" is not a flag`, "--config", bad)
}

func TestErrorsAreOneLineEach(t *testing.T) {
	o, err := parse(t, "--concurrency", "0", "--contexts", "8Q", "--duration", "0s", "--max-tokens", "x", "--repeats", "-1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.planConfig()
	var out bytes.Buffer
	report(&out, err)
	for _, mistake := range []string{"--contexts", "8Q", "--max-tokens", "duration", "concurrency", "repeats"} {
		if !strings.Contains(out.String(), mistake) {
			t.Errorf("%q is not among the mistakes told at once:\n%s", mistake, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "measure: ") {
			t.Errorf("line %q does not say who speaks", line)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, bad := range []string{"", "localhost:8000", "ftp://x/v1", "http://", "http://user:pass@host/v1"} {
		if u, err := parseURL(bad); err == nil {
			t.Errorf("--url %q gives %v, want an error", bad, u)
		}
	}
	u, err := parseURL("http://localhost:8000/v1/?x=1#y")
	if err != nil || u.String() != "http://localhost:8000/v1" {
		t.Errorf("got %v, %v, want the address without slash, query and fragment", u, err)
	}
}

func TestPrivateHosts(t *testing.T) {
	check := func(address string, want bool) {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := privateHost(u); got != want {
			t.Errorf("%s private: %v, want %v", address, got, want)
		}
	}
	check("http://127.0.0.1:8000/v1", true)
	check("http://[::1]:8000/v1", true)
	check("http://192.168.1.7/v1", true)
	check("http://gpubox:8000/v1", true)
	check("http://gpubox.local/v1", true)
	check("https://8.8.8.8/v1", false)
	check("https://[2001:4860:4860::8888]/v1", false)
}

func TestSecretsAreReadFromPlacesThatDoNotShow(t *testing.T) {
	env := map[string]string{"KEY": "sk-abcdef", "TENANT": "t-1234"}
	get := func(name string) string { return env[name] }
	o, err := parse(t, "--api-key-env", "KEY", "--header-env", "X-Tenant=TENANT")
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.readSecrets(get)
	if err != nil || s.key != "sk-abcdef" || s.header.Get("X-Tenant") != "t-1234" {
		t.Fatalf("secrets %+v, error %v", s, err)
	}
	if typed := strings.Join(o.typed(), " "); strings.Contains(typed, "abcdef") || strings.Contains(typed, "1234") {
		t.Errorf("the recorded flags hold a secret: %s", typed)
	}
	for _, args := range [][]string{{"--api-key-env", "NONE"}, {"--api-key-file", "/does/not/exist"}, {"--header-env", "X"}, {"--api-key-env", "KEY", "--api-key-file", "f"}} {
		o, err := parse(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.readSecrets(get); report(&bytes.Buffer{}, err) != exitUsage {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}

func TestHelpShowsTheSixFirst(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseOptions("run", []string{"--help"}, &out); report(&out, err) != exitDone {
		t.Errorf("--help fails: %v", err)
	}
	last := -1
	for _, name := range []string{"--url", "--model", "--contexts", "--concurrency", "--duration", "--out", "--endpoint", "--api-key-env", "--resume"} {
		at := strings.Index(out.String(), name+" ")
		if at <= last {
			t.Errorf("help: %s is at %d, want it after what a first run needs", name, at)
		}
		last = at
	}
}
