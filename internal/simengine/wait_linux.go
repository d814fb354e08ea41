package simengine

import (
	"syscall"
	"time"
)

// waitFinely sleeps in the kernel, whose timer is late by some 60 us, and spins for what that leaves.
func waitFinely(t time.Time) {
	const kernelSlack = 80 * time.Microsecond
	for {
		left := time.Until(t)
		if left <= 0 {
			return
		}
		if left > kernelSlack {
			ts := syscall.NsecToTimespec(int64(left - kernelSlack))
			_ = syscall.Nanosleep(&ts, nil) // an interrupted sleep is taken up again by the loop
		}
	}
}
