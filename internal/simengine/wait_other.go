//go:build !linux

package simengine

import (
	"runtime"
	"time"
)

// waitFinely yields until the instant has come.
func waitFinely(t time.Time) {
	for time.Now().Before(t) {
		runtime.Gosched()
	}
}
