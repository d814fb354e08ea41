//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// serverEnv holds the pacing of the server process, as JSON, in the process that shall be one.
const serverEnv = "SPEEDMATRIX_BENCH_SERVER"

func TestMain(m *testing.M) {
	raiseDescriptors()
	if text := os.Getenv(serverEnv); text != "" {
		if err := serveUntilClosed(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func raiseDescriptors() {
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim) == nil {
		lim.Cur = lim.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim) // a benchmark with too many streams says so itself
	}
}

// serveUntilClosed is the server process: it prints its address and serves until stdin is closed.
func serveUntilClosed(text string) error {
	var p pacing
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("server at %s\n", l.Addr())
	go newPacer(p).serve(l)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startServer starts the server process and returns its address.
func startServer(b testing.TB, p pacing) string {
	b.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "server at ")
	if err != nil || !ok {
		b.Fatalf("the server process gave no address but %q (%v)", line, err)
	}
	return address
}
