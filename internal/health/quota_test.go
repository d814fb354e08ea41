package health

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestQuota(t *testing.T) {
	check := func(name string, want float64, files map[string]string) {
		t.Helper()
		root := fstest.MapFS{}
		for file, text := range files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := quota(root); got != want {
			t.Errorf("%s: %v cores, want %v", name, got, want)
		}
	}
	none := math.Inf(1)
	check("no control groups", none, nil)
	check("no limit", none, map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"})
	check("half a core", 0.5, map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n"})
	check("a limit above", 1, map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "100000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n"})
	check("of the root of a container", 1.5, map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"})
	check("version 1", 2, map[string]string{
		"proc/self/cgroup":                      "5:memory:/d\n4:cpu,cpuacct:/d\n",
		"sys/fs/cgroup/cpu/d/cpu.cfs_quota_us":  "200000\n",
		"sys/fs/cgroup/cpu/d/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/memory/d/memory.limit":   "1",
	})
	check("version 1 without a limit", none, map[string]string{
		"proc/self/cgroup": "4:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
	})
	check("nonsense", none, map[string]string{"proc/self/cgroup": "x\n0::\n:::\n", "sys/fs/cgroup/cpu.max": "0 0 0\n"})
}
