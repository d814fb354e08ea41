package probe

import (
	"math"
	"runtime"
	"strconv"
	"strings"
)

// linux adds CPU, memory, kernel, distribution and frequency governor from /proc, /sys and /etc.
func (m machine) linux(list *factList, table string) {
	model, logical := parseCPUInfo(m.read("proc/cpuinfo"))
	list.text(table, "cpu", model)
	if table == "host" {
		// What this program may use: its affinity, and the quota of its control group.
		list.positive(table, "cores", usableCores(runtime.NumCPU(), m.read("sys/fs/cgroup/cpu.max")))
	} else {
		list.positive(table, "cores", float64(logical))
	}
	list.positive(table, "ram_gb", parseMemTotal(m.read("proc/meminfo")))
	list.text(table, "kernel", m.read("proc/sys/kernel/osrelease"))
	list.text(table, "distribution", parseOSRelease(m.read("etc/os-release")))
	list.text(table, "governor", m.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
}

// parseCPUInfo returns the first model name and the number of logical CPUs. ARM kernels tell no model name.
func parseCPUInfo(text string) (model string, logical int) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "processor":
			logical++
		case "model name":
			if model == "" {
				model = strings.TrimSpace(value)
			}
		}
	}
	return model, logical
}

// usableCores is the smaller of the CPUs that the process may run on and the quota in cpu.max ("150000 100000" is 1.5
// CPUs, "max 100000" none).
func usableCores(allowed int, cpuMax string) float64 {
	cores := float64(allowed)
	fields := strings.Fields(cpuMax)
	if len(fields) != 2 {
		return cores
	}
	quota, err1 := strconv.ParseFloat(fields[0], 64)
	period, err2 := strconv.ParseFloat(fields[1], 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 {
		return cores
	}
	return min(cores, quota/period)
}

// parseMemTotal returns the memory in GiB, rounded: the kernel tells a little less than what is built in. 0 when absent.
func parseMemTotal(text string) float64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return 0
			}
			return math.Round(kib / (1 << 20))
		}
	}
	return 0
}

// parseOSRelease returns the distribution's name for people.
func parseOSRelease(text string) string {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return ""
}
