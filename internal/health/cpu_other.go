//go:build !unix

package health

import "time"

func cpuTime() time.Duration { return 0 }
