//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// spareDescriptors are for files, gauges, scouts and what the runtime holds.
const spareDescriptors = 64

// raiseDescriptors lets this process open a connection for each stream, raising the soft limit when it must. The
// error names both numbers.
func raiseDescriptors(streams int) error {
	need := uint64(streams + spareDescriptors)
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil || lim.Cur >= need {
		return nil // a platform that does not tell will tell when it refuses
	}
	if lim.Max < need {
		return usageError("%d streams need %d file descriptors, this process may have %d; raise the hard limit (ulimit -Hn) or ask for fewer streams", streams, need, lim.Max)
	}
	lim.Cur = lim.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("raise the file descriptor limit to %d for %d streams: %w", lim.Max, streams, err)
	}
	return nil
}
