package probe

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gpu is one accelerator, by whichever tool. Numbers are 0 when the tool did not tell them.
type gpu struct {
	name      string
	memoryMiB float64
	driver    string
	powerW    float64 // limit
	clockMHz  float64 // highest of the processors
	memoryMHz float64
	pcie      string // "5.0 x16", the link's maximum
	mig       bool   // split into MIG devices
}

var (
	nvidiaQuery = "name,memory.total,driver_version,power.limit,clocks.max.sm,clocks.max.memory,pcie.link.gen.max,pcie.link.width.max,mig.mode.current"
	// nvidiaShort is for drivers that refuse the whole query because of one field that they do not know.
	nvidiaShort = "name,memory.total,driver_version,power.limit"
)

// nvidia adds NVIDIA GPUs; false when there are none.
func (m machine) nvidia(ctx context.Context, list *factList) bool {
	gpus := parseNvidiaCSV(string(m.run(ctx, "nvidia-smi", "--query-gpu="+nvidiaQuery, "--format=csv")))
	if len(gpus) == 0 {
		gpus = parseNvidiaCSV(string(m.run(ctx, "nvidia-smi", "--query-gpu="+nvidiaShort, "--format=csv")))
	}
	if len(gpus) == 0 {
		return false
	}
	list.text("hardware", "type", "Discrete GPU")
	if slices.ContainsFunc(gpus, func(g gpu) bool { return g.mig }) {
		addMIG(list, gpus, parseMIG(string(m.run(ctx, "nvidia-smi", "-L"))))
		return true
	}
	addGPUs(list, gpus)
	return true
}

// parseNvidiaCSV reads `nvidia-smi --query-gpu=… --format=csv`: a header with units in brackets, one line a GPU. What
// is not available is "[N/A]" or the like.
func parseNvidiaCSV(text string) []gpu {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll() // refuses rows whose number of columns is not the header's
	if err != nil || len(rows) < 2 {
		return nil
	}
	var gpus []gpu
	for _, row := range rows[1:] {
		column := map[string]string{}
		for i, name := range rows[0] {
			name, _, _ = strings.Cut(name, " [")
			column[strings.TrimSpace(name)] = available(row[i])
		}
		g := gpu{
			name:      strings.TrimPrefix(column["name"], "NVIDIA "),
			memoryMiB: leadingNumber(column["memory.total"]),
			driver:    column["driver_version"],
			powerW:    leadingNumber(column["power.limit"]),
			clockMHz:  leadingNumber(column["clocks.max.sm"]),
			memoryMHz: leadingNumber(column["clocks.max.memory"]),
			mig:       column["mig.mode.current"] == "Enabled",
		}
		gen, width := leadingNumber(column["pcie.link.gen.max"]), leadingNumber(column["pcie.link.width.max"])
		if gen > 0 && width > 0 {
			g.pcie = fmt.Sprintf("%g.0 x%g", gen, width)
		}
		if g.name != "" {
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// available turns the tools' words for "not available" into "".
func available(value string) string {
	value = strings.TrimSpace(value)
	switch strings.ToLower(strings.Trim(value, "[]")) {
	case "n/a", "not supported", "unknown error", "not found", "insufficient permissions", "requested functionality has been deprecated":
		return ""
	}
	return value
}

// leadingNumber reads "97887 MiB" or "600.00 W"; 0 when there is none.
func leadingNumber(value string) float64 {
	field, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

// addGPUs adds the facts of a machine's GPUs. With GPUs of several kinds only the names are told: one number would be
// wrong for some of them.
func addGPUs(list *factList, gpus []gpu) {
	counts := map[string]int{}
	for _, g := range gpus {
		counts[g.name]++
	}
	list.number("hardware", "gpu_count", float64(len(gpus)))
	if len(counts) > 1 {
		var parts []string
		for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
		}) {
			parts = append(parts, fmt.Sprintf("%d x %s", counts[name], name))
		}
		list.text("hardware", "gpu", strings.Join(parts, " + "))
		list.text("hardware", "driver", gpus[0].driver)
		return
	}
	g := gpus[0]
	list.text("hardware", "gpu", g.name)
	list.positive("hardware", "vram_gb", vramGB(same(gpus, func(g gpu) float64 { return g.memoryMiB })))
	list.text("hardware", "driver", g.driver)
	list.positive("hardware", "power_limit_w", same(gpus, func(g gpu) float64 { return g.powerW }))
	list.positive("hardware", "clock_mhz", same(gpus, func(g gpu) float64 { return g.clockMHz }))
	list.positive("hardware", "memory_clock_mhz", same(gpus, func(g gpu) float64 { return g.memoryMHz }))
	list.text("hardware", "pcie", same(gpus, func(g gpu) string { return g.pcie }))
}

// same is the value that all GPUs share, else the zero value: not recorded rather than wrong for some.
func same[T comparable](gpus []gpu, of func(gpu) T) T {
	first := of(gpus[0])
	for _, g := range gpus[1:] {
		if of(g) != first {
			var none T
			return none
		}
	}
	return first
}

// vramGB is the memory of one GPU as people write it: 97,887 MiB is a card of 96 GB.
//
// What a tool reports is a little below what is built in, so it is rounded up to whole GiB. Cards that keep their ECC
// bits in the same memory report 15/16 of it (T4 15 of 16, L4 22.5 of 24, L40S 45 of 48): where 15/16 of a multiple of
// 8 GB is met within 0.1, that multiple is meant.
func vramGB(mib float64) float64 {
	gib := mib / 1024
	if built := math.Round(gib*16/15/8) * 8; built > 0 && built <= 64 && math.Abs(gib-built*15/16) < 0.1 {
		return built
	}
	return math.Ceil(gib - 0.01)
}

var migDevice = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+\d+:`)

// parseMIG reads the profiles of the MIG devices in `nvidia-smi -L` ("1g.10gb").
func parseMIG(text string) []string {
	var profiles []string
	for line := range strings.Lines(text) {
		if m := migDevice.FindStringSubmatch(line); m != nil {
			profiles = append(profiles, m[1])
		}
	}
	return profiles
}

var migMemory = regexp.MustCompile(`\.(\d+)gb`)

// addMIG adds GPUs that are split. The whole card's memory would be wrong; which part the server has is known only when
// there is but one.
func addMIG(list *factList, gpus []gpu, profiles []string) {
	list.text("hardware", "gpu", same(gpus, func(g gpu) string { return g.name }))
	list.text("hardware", "driver", gpus[0].driver)
	list.text("hardware", "mig", strings.Join(profiles, ", "))
	if len(profiles) == 1 {
		list.number("hardware", "gpu_count", 1)
		if m := migMemory.FindStringSubmatch(profiles[0]); m != nil {
			list.positive("hardware", "vram_gb", leadingNumber(m[1]))
		}
	}
}
