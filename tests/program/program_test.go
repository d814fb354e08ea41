// Package program tests the two programs as programs: their command lines, output, files and exit codes. Each
// file of testdata is a script of one theme (https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript) that
// runs the real binaries. Beside testscript's own commands a script has
//
//	exits CODE prog args...   run prog to its end; its exit code must be CODE
//	simulate VAR flags...     start "measure simulate" on a free port until the script ends; VAR is its base URL
//	html VAR                  start a web server that answers everything with a page; VAR is its URL
//	runid VAR DIR             VAR is the name of the one run in results folder DIR
//	nofolder DIR              DIR does not exist, or holds nothing
//
// and the variables TEMPLATES (the repository's templates) and NOWHERE (a URL at which nothing listens). An
// engine sees the script's SIMULATED_KEY.
package program

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"speedmatrix/tests/programs"
)

var update = flag.Bool("update", false, "write what the programs print into the scripts' golden files")

func TestScripts(t *testing.T) {
	bin := string(programs.Build(t))
	templates, err := filepath.Abs("../../templates")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := closedPort(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("TEMPLATES", templates)
			env.Setenv("NOWHERE", "http://"+nowhere+"/v1")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"simulate": simulate,
			"html":     html,
			"runid":    runID,
			"nofolder": noFolder,
		},
	})
}

// closedPort is an address of this machine that refuses connections: it was free a moment ago.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE prog args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func simulate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: simulate VAR flags...")
	}
	path, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "measure"))
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"simulate", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "SIMULATED_KEY="+ts.Getenv("SIMULATED_KEY"))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	ts.Defer(func() {
		if cmd.Process.Kill() != nil {
			ts.Logf("measure simulate had ended: %s", stderr.String())
		}
		_ = cmd.Wait() // killed: the error says only that
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		ts.Fatalf("measure simulate: %v: %s", err, stderr.String())
	}
	go io.Copy(io.Discard, out)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		ts.Fatalf("measure simulate printed %q, want its address", line)
	}
	ts.Setenv(args[0], url)
}

func html(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: html VAR")
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintln(w, "<!doctype html><title>It works</title>")
	}
	server := httptest.NewServer(http.HandlerFunc(page))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

func runID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: runid VAR DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(entries) != 1 {
		ts.Fatalf("%s holds %d entries, want one run", args[1], len(entries))
	}
	ts.Setenv(args[0], entries[0].Name())
}

func noFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nofolder DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s holds %s, want nothing left behind", args[0], e.Name())
	}
}
