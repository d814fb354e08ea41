package probe

import (
	"context"
	"math"
	"strings"
)

// darwin adds what macOS tells.
func (m machine) darwin(ctx context.Context, list *factList, table string) {
	sysctl := func(name string) string {
		return strings.TrimSpace(string(m.run(ctx, "sysctl", "-n", name)))
	}
	list.text(table, "cpu", sysctl("machdep.cpu.brand_string"))
	list.positive(table, "cores", leadingNumber(sysctl("hw.logicalcpu")))
	list.positive(table, "ram_gb", math.Round(leadingNumber(sysctl("hw.memsize"))/(1<<30)))
	list.text(table, "kernel", sysctl("kern.osrelease"))
	if version := strings.TrimSpace(string(m.run(ctx, "sw_vers", "-productVersion"))); version != "" {
		list.text(table, "distribution", "macOS "+version)
	}
}

// apple adds the GPU of an Apple chip, which shares the machine's memory: it has no memory of its own to tell.
func (m machine) apple(ctx context.Context, list *factList) bool {
	if m.goos != "darwin" {
		return false
	}
	chip := strings.TrimSpace(string(m.run(ctx, "sysctl", "-n", "machdep.cpu.brand_string")))
	if !strings.HasPrefix(chip, "Apple ") {
		return false
	}
	list.text("hardware", "type", "Integrated GPU, unified memory")
	list.text("hardware", "gpu", chip)
	list.number("hardware", "gpu_count", 1)
	return true
}
