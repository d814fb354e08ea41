package client

import "unicode/utf8"

// Bounds of the loop test, in characters (METRICS, "Prompts": 4 or more cycles over 4,096 characters).
const (
	loopWindow = 4096
	loopCycles = 4
	loopLeast  = 256 // shorter texts are not judged
)

// tail keeps the end of a generated text, at least loopWindow characters of it, in bounded memory.
type tail struct{ b []byte }

// tailKeep is the bytes of loopWindow characters at most.
const tailKeep = loopWindow * utf8.UTFMax

func (t *tail) add(text []byte) {
	if len(text) > tailKeep {
		text = text[len(text)-tailKeep:]
	}
	if len(t.b)+len(text) > 2*tailKeep {
		t.b = t.b[:copy(t.b, t.b[len(t.b)-tailKeep:])]
	}
	t.b = append(t.b, text...)
}

// looped reports whether the last loopWindow characters (the whole text when it is shorter) are one cycle
// repeated exactly, loopCycles times or more.
func (t *tail) looped() bool {
	b := t.b
	start := len(b)
	for n := 0; n < loopWindow && start > 0; n++ {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	text := []rune(string(b[start:]))
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
