package prompt_test

import (
	"context"
	"testing"

	"speedmatrix/internal/prompt"
)

// BenchmarkText writes prompts of 123K tokens whose length is known already: what a cell's start waits for.
func BenchmarkText(b *testing.B) {
	texts := prompt.CalibrationTexts(1)
	w, err := prompt.NewCalibrated(1, [2]prompt.Measured{{Text: texts[0], Tokens: byWord(texts[0])}, {Text: texts[1], Tokens: byWord(texts[1])}})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		p, err := w.Text(context.Background(), prompt.Key{Context: 125952, Stream: i}, 125952, 1000)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(p.Text)))
	}
}
