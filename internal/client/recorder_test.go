package client

import (
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"speedmatrix/internal/event"
)

func TestSpread(t *testing.T) {
	check := func(total int, chars, want []int32) {
		t.Helper()
		if got := spread(total, chars); !reflect.DeepEqual(got, want) {
			t.Errorf("spread(%d, %v) = %v, want %v", total, chars, got, want)
		}
	}
	check(3, []int32{9, 1, 1}, []int32{1, 1, 1})        // as many as chunks: one each
	check(4, []int32{9, 1, 1}, []int32{1, 1, 2})        // and a stop token
	check(2, []int32{9, 1, 1}, []int32{1, 1, 0})        // and text that brought none
	check(20, []int32{8, 8, 8, 8}, []int32{5, 5, 5, 5}) // in proportion
	check(10, []int32{1, 100}, []int32{1, 9})           // at least one each
	check(10, []int32{100, 1, 1}, []int32{8, 1, 1})     // also of the last
	check(6, []int32{1, 2, 3}, []int32{1, 2, 3})        // exactly
	check(1, []int32{5, 5, 5}, []int32{0, 1, 0})        // 1/3 rounds down, 2/3 up
	check(0, []int32{5, 5, 5}, []int32{0, 0, 0})        // the server says none
	check(7, []int32{0, 0}, []int32{1, 6})              // no text at all: no division by zero
	check(7, nil, nil)
}

// The parts always sum to the total, none is negative, and none is 0 where there are enough tokens.
func TestSpreadSums(t *testing.T) {
	property := func(total uint16, texts []uint8) bool {
		if len(texts) == 0 {
			return true
		}
		chars := make([]int32, len(texts))
		for i, c := range texts {
			chars[i] = int32(c)
		}
		sum, least := 0, int32(1<<30)
		for _, n := range spread(int(total), chars) {
			sum += int(n)
			least = min(least, n)
		}
		return sum == int(total) && least >= 0 && (int(total) < len(texts) || least >= 1)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// said is one event for a recorder.
type said struct {
	text   string
	choice bool
	finish string
	output int32 // 0: none told
}

func TestCounting(t *testing.T) {
	check := func(name string, events []said, want []int32, at []int64, source event.TokenSource) {
		t.Helper()
		var r recorder
		r.reset(0)
		for i, e := range events {
			c := chunk{text: []byte(e.text), visible: e.text != "", choice: e.choice, finish: e.finish, prompt: -1, cached: -1, output: e.output}
			if e.output == 0 {
				c.output = -1
			}
			r.add(int64(10*i), &c)
		}
		var rec event.Request
		r.fill(&rec)
		if !reflect.DeepEqual(rec.ChunkTokens, want) || !reflect.DeepEqual(rec.ChunkUS, at) || rec.TokenSource != source {
			t.Errorf("%s: tokens %v at %v by %s, want %v at %v by %s", name, rec.ChunkTokens, rec.ChunkUS, rec.TokenSource, want, at, source)
		}
	}
	text := func(s string, output int32) said { return said{text: s, choice: true, output: output} }
	check("per chunk, text-free chunk with a token", []said{text("a", 1), text("", 2), text("bc", 4)}, []int32{1, 1, 2}, []int64{0, 10, 20}, event.UsagePerChunk)
	check("per chunk, the first one without text", []said{text("", 1), text("a", 2)}, []int32{1, 1}, []int64{0, 10}, event.UsagePerChunk)
	check("per chunk, text that brought none", []said{text("a", 2), text("b", 2)}, []int32{2, 0}, []int64{0, 10}, event.UsagePerChunk)
	check("per chunk, stop token in the finish chunk", []said{text("a", 1), {choice: true, finish: "stop", output: 2}}, []int32{1, 1}, []int64{0, 10}, event.UsagePerChunk)
	check("per chunk, token only in the usage chunk", []said{text("a", 1), {choice: true, finish: "stop", output: 1}, {output: 2}}, []int32{2}, []int64{0}, event.UsagePerChunk)
	check("per chunk, a chunk without its count", []said{text("a", 1), text("b", 0), text("c", 3)}, []int32{1, 0, 2}, []int64{0, 10, 20}, event.UsagePerChunk)
	check("per chunk, goes down", []said{text("a", 5), text("b", 3), text("c", 6)}, []int32{5, 0, 1}, []int64{0, 10, 20}, event.UsagePerChunk)
	check("final in the finish chunk (llama.cpp completions)", []said{text("ab", 0), text("cd", 0), {choice: true, finish: "length", output: 8}}, []int32{4, 4}, []int64{0, 10}, event.UsageFinal)
	check("final in a chunk of its own (llama.cpp chat)", []said{text("ab", 0), text("cd", 0), {choice: true, finish: "length"}, {output: 8}}, []int32{4, 4}, []int64{0, 10}, event.UsageFinal)
	check("final, with the only text", []said{{text: "a", choice: true, finish: "length", output: 1}}, []int32{1}, []int64{0}, event.UsageFinal)
	check("final, no text at all: the finish chunk is the arrival", []said{text("", 0), {choice: true, finish: "length"}, {output: 1}}, []int32{1}, []int64{10}, event.UsageFinal)
	check("none", []said{text("ab", 0), text("cd", 0), {choice: true, finish: "length"}}, []int32{1, 1}, []int64{0, 10}, event.ByChunks)
	check("none, nothing", []said{{choice: true}}, nil, nil, event.UnknownTokens)
}

// A usage that is 0 in every chunk and total at the end is a final usage, not one per chunk.
func TestZeroUsageUntilTheEnd(t *testing.T) {
	var r recorder
	r.reset(0)
	for i := range 4 {
		r.add(int64(i), &chunk{text: []byte("abcd"), choice: true, prompt: -1, cached: -1, output: 0})
	}
	r.add(5, &chunk{choice: true, finish: "stop", prompt: 9, cached: 3, output: 12})
	var rec event.Request
	chars := r.fill(&rec)
	if rec.TokenSource != event.UsageFinal || !reflect.DeepEqual(rec.ChunkTokens, []int32{3, 3, 3, 3}) || !reflect.DeepEqual(chars, []int32{4, 4, 4, 4}) {
		t.Errorf("got %v by %s, characters %v", rec.ChunkTokens, rec.TokenSource, chars)
	}
	if *rec.PromptTokens != 9 || *rec.CachedTokens != 3 || *rec.OutputTokens != 12 {
		t.Errorf("usage: %d, %d, %d", *rec.PromptTokens, *rec.CachedTokens, *rec.OutputTokens)
	}
}

func TestLooped(t *testing.T) {
	check := func(name, text string, want bool) {
		t.Helper()
		for _, piece := range []int{1, 7, 1000, len(text)} {
			var tl tail
			for rest := []byte(text); len(rest) > 0; {
				n := min(max(piece, 1), len(rest))
				tl.add(rest[:n])
				rest = rest[n:]
			}
			if got := tl.looped(); got != want {
				t.Errorf("%s, in pieces of %d: looped %v, want %v", name, piece, got, want)
			}
		}
	}
	cycle := func(n int) string { return varied(n, 1) }
	check("nothing", "", false)
	check("varied", varied(20_000, 2), false)
	check("one character", strings.Repeat("a", 5000), true)
	check("short text", strings.Repeat("ab", 100), false)
	check("a shorter text, all loop", strings.Repeat("the cat sat. ", 30), true)
	check("four cycles of 1024", strings.Repeat(cycle(1024), 4), true)
	check("fewer than four cycles", strings.Repeat(cycle(1025), 4), false)
	check("falls into it", varied(9000, 3)+strings.Repeat("again and again, ", 300), true)
	check("and out of it", strings.Repeat("again and again, ", 300)+"and then something else", false)
	check("not yet in it for 4096", varied(9000, 3)+strings.Repeat("again and again, ", 200), false)
	check("runes", strings.Repeat("日本語のループ。", 600), true)
	check("one character off", strings.Repeat("abcdefgh", 300)+"X"+strings.Repeat("abcdefgh", 200), false)
}

// varied is text without a short period: a linear congruential sequence of letters.
func varied(n int, seed uint32) string {
	b := make([]byte, n)
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = 'a' + byte(seed>>24)%26
	}
	return string(b)
}
