package prompt_test

import (
	"context"
	"strings"
	"testing"

	"speedmatrix/internal/prompt"
)

func newCalibrated(t testing.TB, limit int, server func(string) int) *prompt.Writer {
	t.Helper()
	texts := prompt.CalibrationTextsWithin(1, limit)
	w, err := prompt.NewCalibrated(1, [2]prompt.Measured{{Text: texts[0], Tokens: server(texts[0])}, {Text: texts[1], Tokens: server(texts[1])}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The bound of METRICS, "Prompts": 0.5 % after one correction, for every stream of the context.
func TestCalibratedWithinHalfAPercent(t *testing.T) {
	for _, tk := range tokenizers() {
		if tk.name == "merging" {
			continue // its counts depend on the order of words by more than 0.5 %: only a tokenizer can tell
		}
		t.Run(tk.name, func(t *testing.T) {
			server := func(s string) int { return tk.count(s) + template }
			w := newCalibrated(t, 0, server)
			for _, size := range []int{4096, 8192, 16384} {
				first := text(t, w, prompt.ColdKey(size, 0, 0), size, 0)
				if off := server(first.Text) - size; abs(off)*100 > 2*size {
					t.Errorf("%d tokens, before the correction: off by %d", size, off)
				}
				if err := w.Correct(size, server(first.Text)); err != nil {
					t.Fatal(err)
				}
				for stream := range 8 {
					p := text(t, w, rowKey(size, stream), size, 0)
					if off := server(p.Text) - size; abs(off)*200 > size {
						t.Errorf("%d tokens, stream %d: off by %d, more than 0.5 %%", size, stream, off)
					}
					if off := p.Tokens - size; abs(off) > 10 {
						t.Errorf("%d tokens, stream %d: expects %d", size, stream, p.Tokens)
					}
				}
			}
		})
	}
}

// A prefill row stands 65 tokens below the model's limit, so its first prompt must not overshoot by more: the
// shorter contexts that came before tell the rate well enough.
func TestCalibratedLongestStaysBelowTheLimit(t *testing.T) {
	server := func(s string) int { return bySubword(s) + template }
	w := newCalibrated(t, 0, server)
	for _, size := range []int{8192, 16384, 32768, 65536} {
		p := text(t, w, prompt.ColdKey(size, 0, 0), size, 0)
		if err := w.Correct(size, server(p.Text)); err != nil {
			t.Fatal(err)
		}
	}
	p := text(t, w, prompt.ColdKey(131007, 0, 0), 131007, 0)
	if off := server(p.Text) - 131007; abs(off) > 65 {
		t.Errorf("uncorrected 131,007 tokens: off by %d, want at most 65", off)
	}
}

func TestCalibratedExtra(t *testing.T) {
	server := func(s string) int { return bySubword(s) + template }
	w := newCalibrated(t, 0, server)
	plain := text(t, w, rowKey(4096, 1), 4096, 0)
	closing := plain.Text[strings.LastIndex(plain.Text, "\n\n")+2:]
	p := text(t, w, rowKey(4096, 1), 4096, 2000)
	if !strings.HasPrefix(p.Text, strings.TrimSuffix(plain.Text, closing)) || !strings.HasSuffix(p.Text, closing) {
		t.Error("with extra text the context or the instruction is another")
	}
	if off := server(p.Text) - server(plain.Text) - 2000; abs(off) > 40 {
		t.Errorf("2,000 extra tokens: off by %d", off)
	}
}

func TestCorrectionHoldsWhenOthersFollow(t *testing.T) {
	server := func(s string) int { return bySubword(s) + template }
	w := newCalibrated(t, 0, server)
	correct := func(size int) {
		p := text(t, w, prompt.ColdKey(size, 0, 0), size, 0)
		if err := w.Correct(size, server(p.Text)); err != nil {
			t.Fatal(err)
		}
	}
	correct(8192)
	before := text(t, w, rowKey(8192, 0), 8192, 0)
	correct(4096)
	correct(16384)
	if after := text(t, w, rowKey(8192, 0), 8192, 0); after != before {
		t.Error("correcting other contexts changed a prompt that the server has cached")
	}
}

func TestCalibrationTextsFitTheLimit(t *testing.T) {
	for _, limit := range []int{512, 1024, 2048, 8192} {
		for _, s := range prompt.CalibrationTextsWithin(1, limit) {
			if byByte(s)+template > limit {
				t.Errorf("limit %d: a calibration text of %d bytes", limit, len(s))
			}
		}
		newCalibrated(t, limit, func(s string) int { return byByte(s) + template })
	}
	if a, b := prompt.CalibrationTexts(1), prompt.CalibrationTexts(1); a != b {
		t.Error("calibration texts differ from call to call")
	}
}

func TestNewCalibratedRefuses(t *testing.T) {
	texts := prompt.CalibrationTexts(1)
	for name, tokens := range map[string][2]int{
		"nothing":   {0, 0},
		"constant":  {300, 300},
		"shrinking": {3000, 300},
		"negative":  {-10, 3000},
		"absurd":    {300, 1 << 40},
	} {
		if _, err := prompt.NewCalibrated(1, [2]prompt.Measured{{Text: texts[0], Tokens: tokens[0]}, {Text: texts[1], Tokens: tokens[1]}}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	same := prompt.Measured{Text: texts[0], Tokens: 300}
	if _, err := prompt.NewCalibrated(1, [2]prompt.Measured{same, same}); err == nil {
		t.Error("one text twice: want an error")
	}
	w := newCalibrated(t, 0, byWord)
	if _, err := w.Text(context.Background(), rowKey(64, 0), w.Shortest()-1, 0); err == nil {
		t.Error("below the shortest: want an error")
	}
}
