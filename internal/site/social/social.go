// Package social draws the image of a run that link previews show: 1200 x 630, a palette PNG. It uses fonts that are
// part of the program, so that the image depends on its Card alone.
package social

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"speedmatrix/internal/page"
)

const (
	width, height = 1200, 630
	margin        = 64
	shades        = 16 // steps from background to ink, for the edges of letters
)

// ink is a colour of text: the first of its shades in the palette.
type ink int

// The palette: three inks in shades, then the heat scale, then the rule.
const (
	dark  ink = 0
	soft  ink = shades
	alert ink = 2 * shades
	heat      = 3 * shades
	rule      = heat + page.HeatSteps
)

var (
	background = color.RGBA{0xff, 0xff, 0xff, 0xff}
	darkColor  = color.RGBA{0x14, 0x18, 0x1f, 0xff}
	softColor  = color.RGBA{0x54, 0x5d, 0x6b, 0xff}
	alertColor = color.RGBA{0x85, 0x57, 0x00, 0xff}
	ruleColor  = color.RGBA{0xdf, 0xe3, 0xe8, 0xff}
)

// Draw writes the image of a card as PNG.
func Draw(w io.Writer, c page.Card) error {
	p, err := newPainter()
	if err != nil {
		return err
	}
	top := margin + 26
	label := c.Site
	if c.Date != "" {
		label = strings.TrimPrefix(label+"  ·  "+c.Date, "  ·  ")
	}
	p.text(margin, top, p.small, soft, label)
	if c.Simulated {
		p.text(width-margin-p.width(p.smallBold, "Simulated engine"), top, p.smallBold, alert, "Simulated engine")
	}
	y := top + 78
	for _, line := range p.wrap(p.title, c.Title, width-2*margin, 3) {
		p.text(margin, y, p.title, dark, line)
		y += 62
	}
	p.text(margin, y, p.small, soft, p.fit(p.small, c.Subtitle, width-2*margin))
	p.figures(c.Figures)
	p.heat(c.Heat)
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, p.img)
}

// painter holds the picture and its fonts.
type painter struct {
	img                             *image.Paletted
	mask                            *image.Alpha
	title, number, small, smallBold font.Face
}

func newPainter() (*painter, error) {
	p := &painter{img: image.NewPaletted(image.Rect(0, 0, width, height), palette()), mask: image.NewAlpha(image.Rect(0, 0, width, 96))}
	for _, f := range []struct {
		to   *font.Face
		ttf  []byte
		size float64
	}{{&p.title, gobold.TTF, 50}, {&p.number, gobold.TTF, 54}, {&p.small, goregular.TTF, 27}, {&p.smallBold, gobold.TTF, 27}} {
		parsed, err := opentype.Parse(f.ttf)
		if err != nil {
			return nil, err
		}
		if *f.to, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: f.size, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// palette has the background as the first shade of each ink.
func palette() color.Palette {
	var out color.Palette
	for _, c := range []color.RGBA{darkColor, softColor, alertColor} {
		for i := range shades {
			out = append(out, mix(background, c, i, shades-1))
		}
	}
	for _, c := range page.LightHeat().Background {
		out = append(out, color.RGBA{c.R, c.G, c.B, 0xff})
	}
	return append(out, ruleColor)
}

func mix(a, b color.RGBA, i, n int) color.RGBA {
	at := func(x, y uint8) uint8 { return uint8((int(x)*(n-i) + int(y)*i) / n) }
	return color.RGBA{at(a.R, b.R), at(a.G, b.G), at(a.B, b.B), 0xff}
}

// figures puts the large numbers at the foot, left.
func (p *painter) figures(fs []page.CardFigure) {
	x := margin
	for _, f := range fs[:min(3, len(fs))] {
		value, label := p.fit(p.number, f.Value, 230), p.fit(p.small, f.Label, 300)
		p.text(x, height-margin-44, p.number, dark, value)
		p.text(x, height-margin, p.small, soft, label)
		x += max(p.width(p.number, value), p.width(p.small, label)) + 44
	}
}

// heat draws the decode matrix as a small picture at the foot, right.
func (p *painter) heat(rows [][]int) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return
	}
	const boxWidth, boxHeight, gap = 250, 150, 2
	cellW, cellH := max(3, boxWidth/len(rows[0])), max(3, boxHeight/len(rows))
	cellW, cellH = min(cellW, 40), min(cellH, 30)
	left, top := width-margin-cellW*len(rows[0]), height-margin-cellH*len(rows)
	for y, row := range rows {
		for x, level := range row {
			r := image.Rect(left+x*cellW, top+y*cellH, left+(x+1)*cellW-gap, top+(y+1)*cellH-gap)
			index := uint8(rule)
			if level >= 0 && level < page.HeatSteps {
				index = uint8(heat + level)
			}
			p.fill(r, index, level < 0)
		}
	}
}

// fill paints a rectangle, hatched where the cell has no rate.
func (p *painter) fill(r image.Rectangle, index uint8, hatched bool) {
	r = r.Intersect(p.img.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if !hatched || (x+y)%6 == 0 {
				p.img.SetColorIndex(x, y, index)
			}
		}
	}
}

// text writes one line with its baseline at y.
func (p *painter) text(x, y int, face font.Face, c ink, s string) {
	const ascent = 64
	clear(p.mask.Pix)
	d := font.Drawer{Dst: p.mask, Src: image.Opaque, Face: face, Dot: fixed.P(x, ascent)}
	d.DrawString(drawable(face, s))
	for my := range p.mask.Rect.Dy() {
		py := y - ascent + my
		if py < 0 || py >= height {
			continue
		}
		line := p.mask.Pix[my*p.mask.Stride : my*p.mask.Stride+width]
		for px, a := range line {
			if shade := int(a) * (shades - 1) / 255; shade > 0 {
				p.img.SetColorIndex(px, py, uint8(int(c)+shade))
			}
		}
	}
}

func (p *painter) width(face font.Face, s string) int {
	return font.MeasureString(face, drawable(face, s)).Ceil()
}

// drawable replaces what the font has no letter for.
func drawable(face font.Face, s string) string {
	return strings.Map(func(r rune) rune {
		if _, ok := face.GlyphAdvance(r); !ok {
			return '?'
		}
		return r
	}, s)
}

// fit shortens s with "…" until it is at most w wide.
func (p *painter) fit(face font.Face, s string, w int) string {
	if p.width(face, s) <= w {
		return s
	}
	r := []rune(s)
	r = r[:min(len(r), 200)]
	for len(r) > 0 && p.width(face, string(r)+"…") > w {
		r = r[:len(r)-1]
	}
	return strings.TrimRight(string(r), " ") + "…"
}

// wrap breaks s between words into at most n lines; the last is shortened to fit.
func (p *painter) wrap(face font.Face, s string, w, n int) []string {
	var lines []string
	line := ""
	words := strings.Fields(s)
	for i, word := range words {
		next := strings.TrimLeft(line+" "+word, " ")
		if line == "" || p.width(face, next) <= w {
			line = next
			continue
		}
		if len(lines) == n-1 {
			return append(lines, p.fit(face, line+" "+strings.Join(words[i:], " "), w))
		}
		lines = append(lines, p.fit(face, line, w))
		line = word
	}
	return append(lines, p.fit(face, line, w))
}
