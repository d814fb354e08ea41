package calibrate

import (
	"fmt"
	"slices"
	"time"
)

// maxStep is the largest change of the wall clock against the monotonic one that still lets the two be compared; NTP
// slews both alike.
const maxStep = 50 * time.Microsecond

// wallClock puts instants that count from an epoch, on the monotonic clock, on the wall clock, where the engine's are.
type wallClock struct {
	offset int64 // wall minus monotonic-from-epoch, nanoseconds
}

// readWall reads both clocks together several times and takes the middle offset, since a pause may come between the two
// readings.
func readWall(epoch time.Time) wallClock {
	var offsets [15]int64
	for i := range offsets {
		now := time.Now() // both clocks, tens of nanoseconds apart
		offsets[i] = now.UnixNano() - int64(now.Sub(epoch))
	}
	slices.Sort(offsets[:])
	return wallClock{offsets[len(offsets)/2]}
}

// wallNS is the instant us microseconds after the epoch, in nanoseconds of Unix time.
func (w wallClock) wallNS(us int64) int64 { return w.offset + us*1000 }

// check fails when the wall clock was stepped since the offset was read.
func (w wallClock) check(epoch time.Time) error {
	moved := time.Duration(readWall(epoch).offset - w.offset)
	if moved.Abs() > maxStep {
		return fmt.Errorf("the wall clock was stepped by %s meanwhile, so the engine's stamps cannot be compared; repeat it", moved)
	}
	return nil
}
