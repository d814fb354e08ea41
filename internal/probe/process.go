package probe

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/redact"
)

// process looks for the server's process when it answered on a loopback address.
func (srv *Server) process(r redact.Redactor, m machine) {
	p, ok := m.listener(srv.session.local())
	found := factList{source: event.FromProbe}
	if ok {
		switch forwarder(p.args) {
		case toElsewhere:
			ok = false // a tunnel: the server may run anywhere
		case toContainer:
		case notForwarding:
			srv.launch = event.Launch{Command: r.Command(p.args), Source: event.FromProbe}
			argumentFacts(&found, p.args)
			switch srv.Engine {
			case Ollama:
				ollamaCapacity(srv, m.read(fmt.Sprintf("proc/%d/environ", p.pid)))
			case LlamaCpp:
				llamaCapacity(srv, p.args)
			}
		}
	}
	srv.sameMachine = ok
	found.flag("host", "same_machine", ok)
	srv.Facts = append(srv.Facts, found.facts...)
}

// SameMachine reports whether the server runs on this machine, so that this machine's hardware is what is measured.
// False for a simulated server, whose hardware is what its profile says.
func (srv *Server) SameMachine() bool { return srv.sameMachine && srv.Simulated == "" }

// Launch is the command line of the server's process, redacted; empty when it was not found on this machine.
func (srv *Server) Launch() event.Launch { return srv.launch }

// forwarding says where a process that only passes connections on sends them.
type forwarding int

const (
	notForwarding forwarding = iota
	toContainer              // of this machine
	toElsewhere
)

// forwarder knows programs that listen in the place of a server: their command line is not the server's.
func forwarder(args []string) forwarding {
	program, _, _ := strings.Cut(args[0], ":") // "sshd: anna@pts/0"
	switch path.Base(program) {
	case "docker-proxy", "rootlessport", "pasta", "slirp4netns", "conmon":
		return toContainer
	case "ssh", "sshd", "autossh", "kubectl", "socat", "haproxy", "nginx", "caddy", "traefik", "envoy", "cloudflared", "tailscaled":
		return toElsewhere
	}
	return notForwarding
}

// local is the address and port that the server listens at on this machine; an invalid one when it answered from
// elsewhere.
func (s *session) local() netip.AddrPort {
	u, err := url.Parse(s.base)
	if err != nil || !s.peer.IsLoopback() {
		return netip.AddrPort{}
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]), 10, 16)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(s.peer, uint16(port))
}

// process is a process of this machine.
type process struct {
	pid  int
	args []string
}

// listener finds the process that listens at an address: the socket's number from /proc/net/tcp, then the process that
// holds it. Linux only; processes of other users are seen only by root.
func (m machine) listener(at netip.AddrPort) (process, bool) {
	if !at.IsValid() || m.goos != "linux" {
		return process{}, false
	}
	inodes := map[string]bool{}
	for _, file := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		for _, inode := range parseListeners(m.read(file), at) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return process{}, false
	}
	holders := map[int]bool{}
	for _, fd := range m.glob("proc/[0-9]*/fd/*") {
		if target, err := m.links(fd); err == nil && inodes[target] {
			if pid, err := strconv.Atoi(strings.Split(fd, "/")[1]); err == nil {
				holders[pid] = true
			}
		}
	}
	pids := make([]int, 0, len(holders))
	for pid := range holders {
		pids = append(pids, pid)
	}
	// Workers inherit the socket from the process that was started, whose number is the lowest. Number 1 may be the
	// system's service manager, which holds sockets for others: it comes last.
	slices.SortFunc(pids, func(a, b int) int {
		if (a == 1) != (b == 1) {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	})
	for _, pid := range pids {
		if args := splitArgs(m.read(fmt.Sprintf("proc/%d/cmdline", pid))); len(args) > 0 {
			return process{pid, args}, true
		}
	}
	return process{}, false
}

// parseListeners returns the socket numbers in /proc/net/tcp or tcp6 that listen at the address or at any.
func parseListeners(table string, at netip.AddrPort) []string {
	const listening = "0A"
	var inodes []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		addr, ok := parseHexAddr(fields[1])
		if ok && addr.Port() == at.Port() && (addr.Addr() == at.Addr() || addr.Addr().IsUnspecified()) {
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}

// parseHexAddr reads "0100007F:1F90": 32-bit words in the machine's byte order, which is little-endian on all systems
// that servers of this kind run on; the port in network order.
func parseHexAddr(text string) (netip.AddrPort, bool) {
	host, portText, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	port, portErr := strconv.ParseUint(portText, 16, 16)
	if !ok || err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), ok
}

// splitArgs reads /proc/PID/cmdline: arguments ended by zero bytes.
func splitArgs(cmdline string) []string {
	cmdline = strings.TrimRight(cmdline, "\x00")
	if cmdline == "" {
		return nil
	}
	return strings.Split(cmdline, "\x00")
}

// argumentFacts reads what a server's command line tells and its API often does not.
func argumentFacts(list *factList, args []string) {
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			value = args[i+1]
		}
		switch name {
		case "--revision":
			list.text("model", "revision", value)
		case "--dtype":
			list.text("model", "dtype", value)
		case "--quantization", "-q":
			list.text("engine", "quantization", value)
		case "--attention-backend":
			list.text("engine", "attention_backend", value)
		case "--tensor-parallel-size", "--tp-size", "--tp", "-tp":
			list.positive("engine", "tp", leadingNumber(value))
		}
		if snapshotPath.MatchString(a) {
			addOrigin(list, a)
		}
		if name == "-m" && strings.HasSuffix(value, ".gguf") {
			list.text("model", "id", path.Base(value))
		}
	}
}
