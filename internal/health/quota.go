package health

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// quota returns how many cores the process may use by the limits of its control groups (Linux, versions 1 and 2), infinity without a
// limit. root is the root of the file system. The runtime heeds them too, but never below two cores: a container of one core would
// seem half idle while it is starved.
func quota(root fs.FS) float64 {
	cores := math.Inf(1)
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		for ; ; group = path.Dir(group) { // a limit of any group above holds too
			switch {
			case controllers == "":
				cores = min(cores, limit(strings.Fields(read(root, path.Join("sys/fs/cgroup", group, "cpu.max")))))
			case hasCPU(controllers):
				dir := path.Join("sys/fs/cgroup/cpu", group)
				cores = min(cores, limit([]string{
					strings.TrimSpace(read(root, path.Join(dir, "cpu.cfs_quota_us"))), strings.TrimSpace(read(root, path.Join(dir, "cpu.cfs_period_us"))),
				}))
			}
			if group == "/" || group == "." {
				break
			}
		}
	}
	return cores
}

func hasCPU(controllers string) bool {
	for c := range strings.SplitSeq(controllers, ",") {
		if c == "cpu" {
			return true
		}
	}
	return false
}

// limit is quota over period, infinity for "max", -1 and what is no number.
func limit(fields []string) float64 {
	if len(fields) != 2 {
		return math.Inf(1)
	}
	quota, err1 := strconv.ParseFloat(fields[0], 64)
	period, err2 := strconv.ParseFloat(fields[1], 64)
	if err1 != nil || err2 != nil || !(quota > 0 && period > 0) {
		return math.Inf(1)
	}
	return quota / period
}

// read returns a small file, "" when it cannot be read.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(b)
}
