package social

import (
	"image"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// lettering is a font at one size whose letters are drawn once: most images hold the same hundred of them.
type lettering struct {
	face    font.Face
	letters map[place]letter
}

// place is a letter at one of the quarters of a pixel where its left edge may stand.
type place struct {
	r       rune
	quarter fixed.Int26_6
}

const (
	quarter    = 16   // of 64 units a pixel
	mostPlaces = 4096 // letters kept; hostile titles may have any number of different ones
)

// letter is the drawn form: shades of ink, row by row, over a box around the point where the pen stands.
type letter struct {
	box    image.Rectangle
	shades []uint8 // 0 to shades-1
}

// faces are the four sizes of the image.
type faces struct{ title, number, small, smallBold *lettering }

func newFaces() (faces, error) {
	var f faces
	for _, want := range []struct {
		to   **lettering
		ttf  []byte
		size float64
	}{{&f.title, gobold.TTF, 50}, {&f.number, gobold.TTF, 54}, {&f.small, goregular.TTF, 27}, {&f.smallBold, gobold.TTF, 27}} {
		parsed, err := opentype.Parse(want.ttf)
		if err != nil {
			return faces{}, err
		}
		face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: want.size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return faces{}, err
		}
		*want.to = &lettering{face: face, letters: map[place]letter{}}
	}
	return f, nil
}

// each calls draw for every letter of a line that starts at x, with the pixel where the pen stands, and returns the width of the line in pixels.
func (l *lettering) each(x int, s string, draw func(penX int, c letter)) int {
	start := fixed.I(x)
	pen, before := start, rune(-1)
	for _, r := range s {
		advance, ok := l.face.GlyphAdvance(r)
		if !ok { // the font has no such letter
			r = '?'
			advance, _ = l.face.GlyphAdvance(r)
		}
		if before >= 0 {
			pen += l.face.Kern(before, r)
		}
		if draw != nil {
			at := (pen + quarter/2) / quarter * quarter
			draw(at.Floor(), l.letter(place{r, at & 63}))
		}
		pen, before = pen+advance, r
	}
	return (pen - start).Ceil()
}

func (l *lettering) width(s string) int { return l.each(0, s, nil) }

func (l *lettering) letter(p place) letter {
	if c, ok := l.letters[p]; ok {
		return c
	}
	c := l.draw(p)
	if len(l.letters) < mostPlaces {
		l.letters[p] = c
	}
	return c
}

// draw rasterises a letter. A font without a form for it gives an empty letter.
func (l *lettering) draw(p place) letter {
	box, mask, from, _, ok := l.face.Glyph(fixed.Point26_6{X: p.quarter}, p.r)
	alpha, isAlpha := mask.(*image.Alpha)
	if !ok || !isAlpha {
		return letter{}
	}
	c := letter{box: box, shades: make([]uint8, 0, box.Dx()*box.Dy())}
	for y := range box.Dy() {
		for x := range box.Dx() {
			c.shades = append(c.shades, uint8(int(alpha.AlphaAt(from.X+x, from.Y+y).A)*(shades-1)/255))
		}
	}
	return c
}

// fit shortens s with "…" until it is at most w wide.
func (l *lettering) fit(s string, w int) string {
	if l.width(s) <= w {
		return s
	}
	r := []rune(s)
	r = r[:min(len(r), 200)]
	for len(r) > 0 && l.width(string(r)+"…") > w {
		r = r[:len(r)-1]
	}
	return strings.TrimRight(string(r), " ") + "…"
}

// wrap breaks s between words into at most n lines; the last is shortened to fit.
func (l *lettering) wrap(s string, w, n int) []string {
	var lines []string
	line := ""
	words := strings.Fields(s)
	for i, word := range words {
		next := strings.TrimLeft(line+" "+word, " ")
		if line == "" || l.width(next) <= w {
			line = next
			continue
		}
		if len(lines) == n-1 {
			return append(lines, l.fit(line+" "+strings.Join(words[i:], " "), w))
		}
		lines = append(lines, l.fit(line, w))
		line = word
	}
	return append(lines, l.fit(line, w))
}
