package summary_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/summary"
)

// hostile makes a run from bytes: mostly possible values, some absurd ones.
type hostile struct{ data []byte }

func (h *hostile) byte() byte {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return b
}

// number returns a small number, now and then one at the end of the range.
func (h *hostile) number() int64 {
	switch b := h.byte(); b {
	case 255:
		return math.MaxInt64
	case 254:
		return math.MinInt64
	case 253:
		return -1
	case 252:
		return 1 << 50
	default:
		return int64(b) * int64(h.byte()) * 100
	}
}

func (h *hostile) optional() *int64 {
	if h.byte()%2 == 0 {
		return nil
	}
	return ptr(h.number())
}

func (h *hostile) optional32() *int32 {
	if h.byte()%2 == 0 {
		return nil
	}
	return ptr(int32(h.number()))
}

func pick[T any](h *hostile, all ...T) T { return all[int(h.byte())%len(all)] }

func (h *hostile) run() event.Run {
	run := event.Run{State: pick(h, event.Complete, event.Interrupted), Seed: uint64(h.byte())}
	run.Method.Start = pick(h, event.Staggered, event.Together, "")
	run.Method.Prompts = pick(h, event.PerStream, event.Fresh, event.Shared)
	run.Calibration = []event.Calibration{{Streams: int(h.number()), MergedShare: pick(h, 0, math.NaN(), math.Inf(1))}}
	for range h.byte() % 4 {
		c := event.Cell{Phase: pick(h, event.Decode, event.Prefill, event.Decode, "x"), Context: int(1 + h.byte()), Concurrency: int(1 + h.byte()%8)}
		c.Status = pick(h, event.Ran, event.Ran, event.Ran, event.Unready, event.Valid, "x")
		for repeat := range h.byte() % 4 {
			c.Passes = append(c.Passes, event.Pass{Repeat: int(repeat), WindowStartUS: h.number(), WindowEndUS: h.number(),
				Stop: pick(h, event.StopDone, event.StopQueued, event.StopInterrupted, event.StopFailed)})
		}
		run.Cells = append(run.Cells, c)
	}
	return run
}

func (h *hostile) request() event.Request {
	r := event.Request{
		Cell: int32(h.byte() % 4), Repeat: int32(h.byte() % 3), Stream: int32(h.byte() % 4), Ordinal: int32(h.byte() % 2),
		Stage: pick(h, event.Warmup, event.InWindow, event.Probe, event.Scout), StartUS: h.number(), EndUS: h.optional(), VisibleUS: h.optional(),
		PromptTokens: h.optional32(), CachedTokens: h.optional32(), OutputTokens: h.optional32(), AskedTokens: int32(h.number()),
		Clock: pick(h, event.Kernel, event.Process, ""), TokenSource: pick(h, event.UsagePerChunk, event.ByChunks, ""),
		Outcome: pick(h, event.OK, event.Stopped, event.Reset), Looped: h.byte()%4 == 0, Void: h.byte()%4 == 0,
	}
	if h.byte()%2 == 0 {
		r.FinishReason = ptr(pick(h, "stop", "length", ""))
	}
	at := int64(0)
	for range h.byte() % 12 {
		if step := h.number(); step < 1<<50 {
			at += step
		} else {
			at = step
		}
		r.ChunkUS = append(r.ChunkUS, at)
		r.ChunkTokens = append(r.ChunkTokens, int32(h.byte()%5))
	}
	return r
}

// FuzzSummarize: no run makes it panic, and what it makes of one is finite, whole and in order.
func FuzzSummarize(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0, 1, 1, 0, 1, 0, 8, 3, 0, 2, 1, 1, 10, 200, 0, 0, 4, 0, 0, 0, 1, 1, 1, 1, 9, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
	long := make([]byte, 4096)
	for i := range long {
		long[i] = byte(binary.LittleEndian.Uint16([]byte{byte(i * 7), byte(i >> 3)}) * 31 >> 2)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &hostile{data}
		run := h.run()
		var requests []event.Request
		for len(h.data) > 0 && len(requests) < 64 {
			requests = append(requests, h.request())
		}
		samples := []event.Sample{{AtUS: h.number(), Source: event.SourceServer, Metric: event.MetricRunning, Value: math.NaN()}}
		out, err := summary.Summarize(run, requests, samples)
		if err != nil {
			return
		}
		if len(out.Prefill)+len(out.Decode) != len(run.Cells) {
			t.Fatalf("%d cells became %d", len(run.Cells), len(out.Prefill)+len(out.Decode))
		}
		finite(t, reflect.ValueOf(out))
		for i := range out.Decode {
			c := &out.Decode[i]
			for name, d := range map[string]summary.Distribution{"TTFT": c.TTFT, "tokens": c.BetweenTokens, "chunks": c.BetweenChunks, "end": c.EndToEnd} {
				ordered(t, name, d)
			}
			if c.Status == event.Valid && (c.TokS == nil || *c.TokS <= 0 || c.Timeline == nil) {
				t.Errorf("a valid cell has no rate or no timeline: %+v", c)
			}
		}
	})
}

// finite fails for any NaN or infinity that can be reached from v, leaving the facts as stored out.
func finite(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("%v is in the summary", x)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			finite(t, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			finite(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Facts" {
				finite(t, v.Field(i))
			}
		}
	}
}
