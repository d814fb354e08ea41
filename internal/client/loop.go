package client

import "unicode/utf8"

// Bounds of the loop test, in characters (METRICS, "Prompts": 4 or more cycles over 4,096 characters).
const (
	loopWindow = 4096
	loopCycles = 4
	loopLeast  = 256 // shorter texts are not judged
)

// tail keeps the end of a generated text, at least loopWindow characters of it, in bounded memory.
type tail struct {
	b     []byte
	limit int // bytes at which it is cut back
}

func (t *tail) add(text []byte) {
	if len(t.b)+len(text) > t.limit {
		t.b = append(t.b[:copy(t.b, lastRunes(t.b))], lastRunes(text)...)
		t.limit = max(2*loopWindow, 2*len(t.b))
		return
	}
	t.b = append(t.b, text...)
}

func (t *tail) reset() { *t = tail{b: t.b[:0]} }

// lastRunes returns the last loopWindow characters of b.
func lastRunes(b []byte) []byte {
	if len(b) <= loopWindow {
		return b
	}
	start := len(b)
	for n := 0; n < loopWindow && start > 0; n++ {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}

// looped reports whether the last loopWindow characters (the whole text when it is shorter) are one cycle
// repeated exactly, loopCycles times or more.
func (t *tail) looped() bool {
	text := []rune(string(lastRunes(t.b)))
	if len(text) < loopLeast {
		return false
	}
	return period(text)*loopCycles <= len(text)
}

// period returns the shortest p with text[i] = text[i-p] for all i >= p: the failure function of Knuth, Morris
// and Pratt.
func period(text []rune) int {
	border := make([]int, len(text))
	for i, k := 1, 0; i < len(text); i++ {
		for k > 0 && text[i] != text[k] {
			k = border[k-1]
		}
		if text[i] == text[k] {
			k++
		}
		border[i] = k
	}
	return len(text) - border[len(text)-1]
}
