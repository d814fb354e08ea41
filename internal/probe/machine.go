package probe

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"speedmatrix/internal/event"
)

const (
	toolTimeout = 10 * time.Second // nvidia-smi takes seconds on a cold driver
	toolBound   = 1 << 20          // bytes of a tool's output
	fileBound   = 4 << 20          // bytes of a file: /proc/cpuinfo has over a kilobyte a CPU
)

// machine is what facts are read from: files below a root, and tools. Tests give it recorded ones.
type machine struct {
	goos  string
	files fs.FS                                                         // "/" of the machine
	run   func(ctx context.Context, name string, args ...string) []byte // a tool's output; nil when it fails or is absent
	links func(path string) (string, error)                             // target of a symbolic link, path without "/"
	glob  func(pattern string) []string                                 // paths without "/"
}

// thisMachine is the one that the program runs on.
func thisMachine() machine {
	files := os.DirFS("/")
	return machine{
		goos:  runtime.GOOS,
		files: files,
		run:   runTool,
		links: func(path string) (string, error) { return os.Readlink("/" + path) },
		glob: func(pattern string) []string {
			paths, _ := fs.Glob(files, pattern) // the error tells of a malformed pattern only
			return paths
		},
	}
}

// Machine returns facts about the machine that this program runs on, in the table host. When the server runs here too
// (sameMachine), what it runs on is known: the table hardware is filled as well. Absent is simply no fact.
//
// Give Server.SameMachine, which is false for a simulated server: its hardware is what its profile says.
func Machine(ctx context.Context, sameMachine bool) []event.Fact {
	return thisMachine().facts(ctx, sameMachine)
}

func (m machine) facts(ctx context.Context, sameMachine bool) []event.Fact {
	list := factList{source: event.FromProbe}
	m.system(ctx, &list, "host")
	list.text("host", "go", runtime.Version())
	if !sameMachine {
		return list.facts
	}
	m.system(ctx, &list, "hardware")
	gpus := m.nvidia(ctx, &list) || m.amd(ctx, &list) || m.apple(ctx, &list)
	if !gpus && m.goos == "linux" && !m.hasAccelerator() {
		list.text("hardware", "type", "CPU")
	}
	return list.facts
}

// system adds what the operating system tells.
func (m machine) system(ctx context.Context, list *factList, table string) {
	list.text(table, "os", m.goos)
	switch m.goos {
	case "linux":
		m.linux(list, table)
	case "darwin":
		m.darwin(ctx, list, table)
	}
}

// hasAccelerator reports whether a device file of a GPU is there, though no tool told about it.
func (m machine) hasAccelerator() bool {
	return slices.ContainsFunc([]string{"dev/nvidia[0-9]*", "dev/kfd", "dev/accel*", "dev/dri/renderD*"}, func(pattern string) bool {
		return len(m.glob(pattern)) > 0
	})
}

// read returns a small file's text; "" when there is none.
func (m machine) read(path string) string {
	f, err := m.files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileBound))
	if err != nil {
		return ""
	}
	return string(data)
}

// runTool runs a tool with a fixed environment, so that neither language nor settings of the user change its output.
func runTool(ctx context.Context, name string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin"}
	cmd.WaitDelay = time.Second // a child that keeps the pipe open must not hold us up
	out := boundedBuffer{left: toolBound}
	cmd.Stdout = &out
	if cmd.Run() != nil || len(out.data) == 0 {
		return nil
	}
	return out.data
}

// boundedBuffer takes so many bytes and then fails, which ends the command.
type boundedBuffer struct {
	data []byte
	left int
}

var errTooLong = errors.New("output too long")

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooLong
	}
	b.left -= len(p)
	b.data = append(b.data, p...)
	return len(p), nil
}
