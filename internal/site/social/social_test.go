package social_test

import (
	"bytes"
	"image/png"
	"io"
	"strings"
	"testing"

	"speedmatrix/internal/page"
	"speedmatrix/internal/site/social"
)

func card() page.Card {
	c := page.Card{
		Site: "Speedmatrix", Date: "1 December 2026", Title: "gemma-4-E2B-it on NVIDIA RTX PRO 6000 Blackwell Workstation Edition", Subtitle: "vllm · 0.21.0",
		Figures: []page.CardFigure{{Value: "7,948.1", Label: "tok/s at 8K × 128"}, {Value: "155.1", Label: "tok/s for one request"}, {Value: "33.4K", Label: "tok/s prefill"}},
	}
	for y := range 5 {
		row := make([]int, 8)
		for x := range row {
			row[x] = (x+y)%(page.HeatSteps+1) - 1
		}
		c.Heat = append(c.Heat, row)
	}
	return c
}

func draw(t *testing.T, p *social.Painter, c page.Card) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Draw(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newPainter(tb testing.TB) *social.Painter {
	tb.Helper()
	p, err := social.NewPainter()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// An image depends on its card alone: not on what the painter drew before, nor on which painter draws.
func TestSameCardSameImage(t *testing.T) {
	p := newPainter(t)
	first := draw(t, p, card())
	other := card()
	other.Title, other.Simulated, other.Heat = strings.Repeat("Ωß漢 ", 400), true, nil
	if bytes.Equal(draw(t, p, other), first) {
		t.Error("two cards, one image")
	}
	if !bytes.Equal(draw(t, p, card()), first) {
		t.Error("the same painter draws the card differently the second time")
	}
	if !bytes.Equal(draw(t, newPainter(t), card()), first) {
		t.Error("another painter draws the card differently")
	}
}

// Letters that the font does not have are drawn as question marks, and nothing leaves the canvas.
func TestHostileText(t *testing.T) {
	p := newPainter(t)
	for _, text := range []string{"", "\x00\xff", "\u202e\u2066abc", strings.Repeat("W", 10_000), strings.Repeat("a ", 10_000), "\n\n\n"} {
		c := card()
		c.Title, c.Subtitle, c.Site, c.Date = text, text, text, text
		c.Figures = []page.CardFigure{{Value: text, Label: text}, {Value: text, Label: text}, {Value: text, Label: text}, {Value: text, Label: text}}
		img, err := png.Decode(bytes.NewReader(draw(t, p, c)))
		if err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		if b := img.Bounds(); b.Dx() != 1200 || b.Dy() != 630 {
			t.Errorf("%.20q: %v, want 1200 x 630", text, b)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	p := newPainter(b)
	c := card()
	for b.Loop() {
		if err := p.Draw(io.Discard, c); err != nil {
			b.Fatal(err)
		}
	}
}
