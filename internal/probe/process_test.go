package probe

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"speedmatrix/internal/event"
)

// listening is a machine where one process listens at the URL's port on any address.
func listening(t *testing.T, rawURL string, args ...string) machine {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"proc/net/tcp": {Data: []byte(
			"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
				fmt.Sprintf("   0: 00000000:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 777 1 0 100 0 0 10 0\n", port) +
				fmt.Sprintf("   1: 0100007F:%04X 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 778 1 0 100 0 0 10 0\n", port))},
		"proc/1/fd/3":      {},
		"proc/1/cmdline":   {Data: []byte("/sbin/init\x00")},
		"proc/900/fd/3":    {},
		"proc/900/cmdline": {Data: []byte(strings.Join(args, "\x00") + "\x00")},
		"proc/901/fd/3":    {}, // a worker, which has the socket too
		"proc/901/cmdline": {Data: []byte("worker\x00")},
		"proc/902/fd/3":    {},
		"proc/902/cmdline": {Data: []byte("client\x00")},
	}
	return testMachine("linux", files, map[string]string{
		"proc/1/fd/3": "socket:[777]", "proc/900/fd/3": "socket:[777]", "proc/901/fd/3": "socket:[777]", "proc/902/fd/3": "socket:[778]",
	}, nil)
}

func TestProcess(t *testing.T) {
	check := func(args []string, sameMachine bool, launch string, facts ...event.Fact) {
		t.Helper()
		srv := serve(t, "vllm/blocks.txtar", nil)
		s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1", Key: "sk-in-use"}, listening(t, srv.URL, args...))
		if err != nil {
			t.Fatal(err)
		}
		if s.SameMachine() != sameMachine || s.Launch().Command != launch {
			t.Errorf("%q: same machine %t, launch %s\nwant %t, %s", args, s.SameMachine(), s.Launch().Command, sameMachine, launch)
		}
		var got []event.Fact
		for _, f := range s.Facts {
			if f.Source == event.FromProbe && f.Table != "host" {
				got = append(got, f)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(facts) {
			t.Errorf("%q: facts %v, want %v", args, got, facts)
		}
	}
	fact := func(table, key string, value any) event.Fact {
		return event.Fact{Table: table, Key: key, Value: value, Source: event.FromProbe}
	}

	check([]string{"/home/anna/env/bin/vllm", "serve", "Qwen/Qwen3-32B", "--api-key", "sk-in-use", "--tensor-parallel-size=2", "--revision", "main", "--quantization", "awq"},
		true, `"$HOME/env/bin/vllm" serve Qwen/Qwen3-32B --api-key <redacted> --tensor-parallel-size=2 --revision main --quantization awq`,
		fact("engine", "tp", int64(2)), fact("model", "revision", "main"), fact("engine", "quantization", "awq"))
	check([]string{"vllm", "serve", "/root/hub/models--Qwen--Qwen3-32B/snapshots/0123456789abcdef0123456789abcdef01234567", "--dtype", "auto"},
		true, `vllm serve "$HOME/hub/models--Qwen--Qwen3-32B/snapshots/0123456789abcdef0123456789abcdef01234567" --dtype auto`,
		fact("model", "id", "Qwen/Qwen3-32B"), fact("model", "revision", "0123456789abcdef0123456789abcdef01234567"))
	// What listens here may only pass connections on.
	check([]string{"ssh", "-N", "-L", "8000:gpu:8000", "anna@gpu"}, false, "")
	check([]string{"sshd: anna@pts/0"}, false, "")
	check([]string{"/usr/bin/docker-proxy", "-proto", "tcp", "-container-ip", "172.17.0.2"}, true, "")
}

// The command line settles what llama-server's and Ollama's answers leave open.
func TestCapacityByProcess(t *testing.T) {
	check := func(file string, want int64, environ string, args ...string) {
		t.Helper()
		srv := serve(t, file, nil)
		m := listening(t, srv.URL, args...)
		m.files.(fstest.MapFS)["proc/900/environ"] = &fstest.MapFile{Data: []byte(environ)}
		model := map[bool]string{true: "gemma3", false: ""}[strings.HasPrefix(file, "ollama")]
		s, err := detect(t.Context(), Target{BaseURL: srv.URL + "/v1", Model: model}, m)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == 0 && s.CapacityTokens != nil:
			t.Errorf("%q: capacity %d from %s, want none", args, *s.CapacityTokens, s.CapacitySource)
		case want != 0 && (s.CapacityTokens == nil || *s.CapacityTokens != want):
			t.Errorf("%q: capacity %v from %s, want %d", args, s.CapacityTokens, s.CapacitySource, want)
		}
		if strings.Contains(s.CapacitySource, "upper bound") {
			t.Errorf("%q: %s", args, s.CapacitySource)
		}
	}
	const llama = "llamacpp/metrics.txtar"
	check(llama, 8*2048, "", "llama-server", "-c", "16384", "-np", "8")
	check(llama, 8*2048, "", "llama-server", "--parallel=8", "--no-kv-unified")
	check(llama, 2048, "", "llama-server", "-np", "8", "-kvu")
	check(llama, 2048, "", "llama-server", "-c", "2048") // the number of slots left to the server
	check("ollama/loaded.txtar", 4*4096, "HOME=/root\x00OLLAMA_NUM_PARALLEL=4\x00X_API_KEY=sk", "ollama", "serve")
	check("ollama/loaded.txtar", 0, "HOME=/root", "ollama", "serve")
}

func TestParseListeners(t *testing.T) {
	const table = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
   4: 00000000000000000000000000000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0
   5: broken
   6: zz:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 16 1 0 100 0 0 10 0
`
	check := func(at, want string) {
		t.Helper()
		if got := strings.Join(parseListeners(table, netip.MustParseAddrPort(at)), " "); got != want {
			t.Errorf("%s: sockets %q, want %q", at, got, want)
		}
	}
	check("127.0.0.1:8080", "12 13")
	check("[::1]:8080", "11 12")
	check("127.0.0.1:8081", "15")
	check("127.0.0.1:80", "")
}

// TestListenerChild is the child of TestRealProcess: it listens until its input ends.
func TestListenerChild(t *testing.T) {
	if os.Getenv("PROBE_TEST_CHILD") == "" {
		t.Skip("only as a child of TestRealProcess")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening at", l.Addr())
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
		}))
	}()
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// A real process that listens is found through /proc, and its command line is redacted.
func TestRealProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestListenerChild$", "-test.v", "--", "--api-key", "sk-child", "--revision", "v1 b")
	child.Env = append(os.Environ(), "PROBE_TEST_CHILD=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Wait()
	})
	addr := ""
	for lines := bufio.NewScanner(stdout); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "listening at ")
		if !strings.Contains(lines.Text(), "listening at ") {
			addr = ""
		}
	}
	s, err := Detect(t.Context(), Target{BaseURL: "http://" + addr + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if !s.SameMachine() {
		t.Fatal("the child's process was not found")
	}
	const want = "-test.v -- --api-key <redacted> --revision 'v1 b'"
	if got := s.Launch().Command; !strings.HasSuffix(got, want) {
		t.Errorf("launch command %s, want … %s", got, want)
	}
}
