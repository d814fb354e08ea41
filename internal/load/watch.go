package load

import (
	"sync/atomic"

	"speedmatrix/internal/client"
)

// Phase is where a pass stands, for a display.
type Phase int32

const (
	Idle Phase = iota
	WaitingForIdle
	Scouting
	WarmingUp
	Measuring
	Probing
	Stopping
)

func (p Phase) String() string {
	return [...]string{"", "waiting for the server to be idle", "filling the cache", "warming up", "measuring", "restarting streams", "stopping"}[p]
}

// Watch is what another goroutine may read of the pass under way. Package load only stores into it.
type Watch struct {
	Phase       atomic.Int32
	Cell        atomic.Int32 // index of the cell
	Step        atomic.Int32 // scouts sent, or cold samples taken
	Steps       atomic.Int32 // of how many
	WindowStart atomic.Int64 // microseconds from the epoch; 0 before the window
	WindowEnd   atomic.Int64 // when it is to close
	lives       atomic.Pointer[[]*client.Live]
}

// Lives are the streams of the cell under way, nil between cells. The slice is not changed afterwards.
func (w *Watch) Lives() []*client.Live {
	if p := w.lives.Load(); p != nil {
		return *p
	}
	return nil
}

func (w *Watch) begin(cell Cell) {
	w.lives.Store(nil)
	w.WindowStart.Store(0)
	w.WindowEnd.Store(0)
	w.Step.Store(0)
	w.Steps.Store(0)
	w.Cell.Store(int32(cell.Index))
}

func (w *Watch) phase(p Phase) { w.Phase.Store(int32(p)) }
