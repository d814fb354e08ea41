package probe

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"speedmatrix/internal/event"
)

const (
	askNvidia      = "nvidia-smi --query-gpu=name,memory.total,driver_version,power.limit,clocks.max.sm,clocks.max.memory,pcie.link.gen.max,pcie.link.width.max,mig.mode.current --format=csv"
	askNvidiaShort = "nvidia-smi --query-gpu=name,memory.total,driver_version,power.limit --format=csv"
	askAMD         = "amd-smi static --asic --vram --driver --limit --bus --json"
	askROCm        = "rocm-smi --showproductname --showmeminfo vram --showdriverversion --showmaxpower --json"
)

// hardware is the table hardware of a machine, as "key=value" sorted.
func hardware(m machine) string {
	var lines []string
	for _, f := range sorted(m.facts(context.Background(), true)) {
		if f.Table == "hardware" {
			lines = append(lines, fmt.Sprintf("%s=%v", f.Key, f.Value))
		}
		if f.Source != event.FromProbe {
			lines = append(lines, fmt.Sprintf("source of %s.%s is %s", f.Table, f.Key, f.Source))
		}
	}
	return strings.Join(lines, " | ")
}

func TestHardware(t *testing.T) {
	check := func(name string, tools map[string]string, want string) {
		t.Helper()
		outputs := map[string]string{}
		for command, file := range tools {
			data, err := os.ReadFile("testdata/machine/" + file)
			if err != nil {
				t.Fatal(err)
			}
			outputs[command] = string(data)
		}
		if got := hardware(testMachine("linux", fstest.MapFS{}, nil, outputs)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	check("one NVIDIA GPU", map[string]string{askNvidia: "nvidia-one.csv"},
		"clock_mhz=2430 | driver=580.95.05 | gpu=RTX PRO 6000 Blackwell Server Edition | gpu_count=1 | memory_clock_mhz=12481 | os=linux | pcie=5.0 x16 | power_limit_w=600 | type=Discrete GPU | vram_gb=96")
	// The limits differ, so there is no one limit to tell.
	check("several", map[string]string{askNvidia: "nvidia-eight.csv"},
		"clock_mhz=1980 | driver=570.133.20 | gpu=H200 | gpu_count=4 | memory_clock_mhz=3201 | os=linux | pcie=5.0 x16 | type=Discrete GPU | vram_gb=141")
	check("of two kinds", map[string]string{askNvidia: "nvidia-mixed.csv"},
		"driver=550.54.14 | gpu=2 x GeForce RTX 4090 + 1 x GeForce RTX 3060 | gpu_count=3 | os=linux | type=Discrete GPU")
	check("not available", map[string]string{askNvidia: "nvidia-na.csv"},
		"clock_mhz=3003 | driver=580.95.05 | gpu=GB10 | gpu_count=1 | os=linux | type=Discrete GPU")
	check("MIG, which part is not known", map[string]string{askNvidia: "nvidia-mig.csv", "nvidia-smi -L": "nvidia-mig-list.txt"},
		"driver=535.183.01 | gpu=A100-SXM4-80GB | mig=3g.40gb, 1g.10gb | os=linux | type=Discrete GPU")
	check("an old driver", map[string]string{askNvidiaShort: "nvidia-old.csv"},
		"driver=418.67 | gpu=Tesla T4 | gpu_count=1 | os=linux | power_limit_w=70 | type=Discrete GPU | vram_gb=16")
	check("AMD", map[string]string{askAMD: "amd-smi.json"},
		"driver=6.8.5 | gpu=Instinct MI300X | gpu_count=2 | os=linux | pcie=5.0 x16 | power_limit_w=750 | type=Discrete GPU | vram_gb=192")
	check("AMD, newer", map[string]string{askAMD: "amd-smi-new.json"},
		"driver=6.16.6 | gpu=Radeon RX 7900 XTX | gpu_count=1 | os=linux | type=Discrete GPU | vram_gb=24")
	check("ROCm", map[string]string{askROCm: "rocm-smi.json"},
		"driver=6.3.6 | gpu=Instinct MI210 | gpu_count=1 | os=linux | power_limit_w=300 | type=Discrete GPU | vram_gb=64")
	check("no GPU", nil, "os=linux | type=CPU")
}

// A GPU whose tool is missing is not told to be absent.
func TestUnknownAccelerator(t *testing.T) {
	m := testMachine("linux", fstest.MapFS{"dev/nvidia0": {}}, nil, nil)
	if got := hardware(m); got != "os=linux" {
		t.Errorf("hardware %s", got)
	}
}

func TestApple(t *testing.T) {
	m := testMachine("darwin", fstest.MapFS{}, nil, map[string]string{
		"sysctl -n machdep.cpu.brand_string": "Apple M3 Max\n",
		"sysctl -n hw.logicalcpu":            "16\n",
		"sysctl -n hw.memsize":               "137438953472\n",
		"sysctl -n kern.osrelease":           "25.1.0\n",
		"sw_vers -productVersion":            "26.1\n",
	})
	const want = "cores=16 | cpu=Apple M3 Max | distribution=macOS 26.1 | gpu=Apple M3 Max | gpu_count=1 | kernel=25.1.0 | os=darwin | ram_gb=128 | type=Integrated GPU, unified memory"
	if got := hardware(m); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestLinux(t *testing.T) {
	files := fstest.MapFS{
		"proc/cpuinfo":              {Data: []byte("processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 9654 96-Core Processor\n")},
		"proc/meminfo":              {Data: []byte("MemTotal:       1583984624 kB\nMemFree:        1 kB\n")},
		"proc/sys/kernel/osrelease": {Data: []byte("6.8.0-45-generic\n")},
		"etc/os-release":            {Data: []byte("NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n")},
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": {Data: []byte("performance\n")},
		"sys/fs/cgroup/cpu.max":                                {Data: []byte("50000 100000\n")},
	}
	m := testMachine("linux", files, nil, nil)
	const want = "cores=2 | cpu=AMD EPYC 9654 96-Core Processor | distribution=Ubuntu 24.04.1 LTS | governor=performance | kernel=6.8.0-45-generic | os=linux | ram_gb=1511 | type=CPU"
	if got := hardware(m); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	host := map[string]any{}
	for _, f := range m.facts(t.Context(), false) {
		if f.Table != "host" {
			t.Errorf("%s.%s is told of a machine that is not measured", f.Table, f.Key)
		}
		host[f.Key] = f.Value
	}
	// The quota is half a CPU, however many there are.
	if host["cores"] != 0.5 || host["go"] != runtime.Version() {
		t.Errorf("host %v", host)
	}
}

func TestUsableCores(t *testing.T) {
	check := func(allowed int, cpuMax string, want float64) {
		t.Helper()
		if got := usableCores(allowed, cpuMax); got != want {
			t.Errorf("usableCores(%d, %q) = %g, want %g", allowed, cpuMax, got, want)
		}
	}
	check(8, "", 8)
	check(8, "max 100000\n", 8)
	check(8, "150000 100000\n", 1.5)
	check(2, "400000 100000", 2)
	check(2, "-1 100000", 2)
	check(2, "1 0", 2)
}

func TestVRAM(t *testing.T) {
	for mib, want := range map[float64]float64{
		97887: 96, 143771: 141, 81559: 80, 81920: 80, 40960: 40, 24564: 24, 24576: 24, 32607: 32, 12288: 12, 8192: 8,
		15360: 16, 23034: 24, 46068: 48, 49140: 48, 196592: 192, 183359: 180, 6144: 6, 0: 0,
	} {
		if got := vramGB(mib); got != want {
			t.Errorf("vramGB(%g) = %g, want %g", mib, got, want)
		}
	}
}

// The machine that the test runs on: whatever it is, facts are well-formed.
func TestThisMachine(t *testing.T) {
	facts := Machine(t.Context(), true)
	keys := map[string]bool{}
	for _, f := range facts {
		name := f.Table + "." + f.Key
		if keys[name] {
			t.Errorf("%s is told twice", name)
		}
		keys[name] = true
		if f.Value == "" || f.Value == int64(0) || f.Value == nil {
			t.Errorf("%s = %v", name, f.Value)
		}
	}
	for _, name := range []string{"host.os", "host.go", "hardware.os"} {
		if !keys[name] {
			t.Errorf("no %s among %v", name, slices.Sorted(maps.Keys(keys)))
		}
	}
}

func TestRunTool(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("uses /usr/bin/env and sh")
	}
	t.Setenv("SECRET_KEY", "leaked")
	env := string(runTool(t.Context(), "env"))
	if strings.Contains(env, "leaked") || !strings.Contains(env, "LC_ALL=C") {
		t.Errorf("environment of a tool:\n%s", env)
	}
	if out := runTool(t.Context(), "no-such-tool-here"); out != nil {
		t.Errorf("an absent tool said %q", out)
	}
	if out := runTool(t.Context(), "sh", "-c", "echo half an answer; exit 1"); out != nil {
		t.Errorf("a failing tool said %q", out)
	}
	if out := runTool(t.Context(), "sh", "-c", "yes"); out != nil {
		t.Errorf("an endless tool said %d bytes", len(out))
	}
}

func FuzzTools(f *testing.F) {
	entries, err := os.ReadDir("testdata/machine")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile("testdata/machine/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, gpus := range [][]gpu{parseNvidiaCSV(string(data)), parseAMDSMI(data), parseROCmSMI(data)} {
			if len(gpus) == 0 {
				continue
			}
			list := factList{source: event.FromProbe}
			addGPUs(&list, gpus)
			for _, fact := range list.facts {
				if fact.Value == "" || fact.Value == int64(0) {
					t.Errorf("%s = %v", fact.Key, fact.Value)
				}
			}
		}
		parseMIG(string(data))
	})
}
