package client

import "time"

// clock turns the kernel's receive timestamps, which are on the wall clock, into monotonic instants.
type clock struct {
	epoch  time.Time // with its monotonic reading
	offset int64     // wall minus monotonic, nanoseconds, at the read before
	at     int64     // monotonic instant of that read, nanoseconds from the epoch
	known  bool      // offset and at are set
}

// Bounds of a believable kernel stamp, in nanoseconds.
const (
	maxJump = 1e6   // the wall clock may move against the monotonic one by this at once
	maxSlew = 1e-3  // and by this share of the time between two reads (NTP slews by at most half of it)
	maxLag  = 600e9 // bytes do not wait longer in a socket that is being read
)

// arrival returns the instant at which bytes arrived, in nanoseconds from the epoch, and how long before now
// that was. now is the time at which the read returned, wall and monotonic read together; stamp is the kernel's
// in nanoseconds of Unix time, or 0. The instant is now - (wall now - stamp): a step of the wall clock made at
// any other time has no effect. When the offset of the clocks jumped since the read before, or the stamp is
// absent or absurd, the instant is now itself and ok is false.
func (c *clock) arrival(now time.Time, stamp int64) (at, lag int64, ok bool) {
	mono := int64(now.Sub(c.epoch))
	if stamp == 0 {
		return mono, 0, false
	}
	wall := now.UnixNano()
	jumped := c.jumped(now)
	c.offset, c.at, c.known = wall-mono, mono, true
	lag = wall - stamp
	if jumped || lag < -maxJump || lag > maxLag {
		return mono, 0, false
	}
	lag = max(lag, 0)
	return mono - lag, lag, true
}

// jumped reports whether the wall clock moved against the monotonic one since the read before by more than a clock
// may. A pause of this thread between the two readings of now looks the same, so ask twice.
func (c *clock) jumped(now time.Time) bool {
	mono := int64(now.Sub(c.epoch))
	moved, limit := now.UnixNano()-mono-c.offset, maxJump+int64(maxSlew*float64(mono-c.at))
	return c.known && (moved > limit || moved < -limit)
}
