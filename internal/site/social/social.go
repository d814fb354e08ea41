// Package social draws the image of a run that link previews show: 1200 x 630, a palette PNG. It uses fonts that are
// part of the program, so that the image depends on its Card alone.
package social

import (
	"image"
	"image/color"
	"io"
	"strings"

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

// Painter draws one image after the other with the same canvas, letters and compressor: these cost five times what an image costs.
// It is for one goroutine.
type Painter struct {
	img *image.Paletted
	faces
	png pngWriter
}

// NewPainter reads the fonts.
func NewPainter() (*Painter, error) {
	f, err := newFaces()
	if err != nil {
		return nil, err
	}
	return &Painter{img: image.NewPaletted(image.Rect(0, 0, width, height), palette()), faces: f}, nil
}

// Draw writes the image of a card as PNG.
func (p *Painter) Draw(w io.Writer, c page.Card) error {
	clear(p.img.Pix)
	top := margin + 26
	label := c.Site
	if c.Date != "" {
		label = strings.TrimPrefix(label+"  ·  "+c.Date, "  ·  ")
	}
	p.text(margin, top, p.small, soft, label)
	if c.Simulated {
		p.text(width-margin-p.smallBold.width("Simulated engine"), top, p.smallBold, alert, "Simulated engine")
	}
	y := top + 78
	for _, line := range p.title.wrap(c.Title, width-2*margin, 3) {
		p.text(margin, y, p.title, dark, line)
		y += 62
	}
	p.text(margin, y, p.small, soft, p.small.fit(c.Subtitle, width-2*margin))
	p.figures(c.Figures)
	p.heat(c.Heat)
	return p.png.encode(w, p.img)
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
func (p *Painter) figures(fs []page.CardFigure) {
	x := margin
	for _, f := range fs[:min(3, len(fs))] {
		value, label := p.number.fit(f.Value, 230), p.small.fit(f.Label, 300)
		p.text(x, height-margin-44, p.number, dark, value)
		p.text(x, height-margin, p.small, soft, label)
		x += max(p.number.width(value), p.small.width(label)) + 44
	}
}

// heat draws the decode matrix as a small picture at the foot, right.
func (p *Painter) heat(rows [][]int) {
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
func (p *Painter) fill(r image.Rectangle, index uint8, hatched bool) {
	r = r.Intersect(p.img.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := p.img.Pix[y*p.img.Stride+r.Min.X : y*p.img.Stride+r.Max.X]
		for i := range row {
			if !hatched || (r.Min.X+i+y)%6 == 0 {
				row[i] = index
			}
		}
	}
}

// text writes one line with its baseline at y.
func (p *Painter) text(x, y int, l *lettering, c ink, s string) {
	l.each(x, s, func(penX int, form letter) { p.letter(penX, y, c, form) })
}

// letter puts a letter where the pen stands, cut at the edges of the image. Where letters touch, the darker shade stays.
func (p *Painter) letter(penX, y int, c ink, form letter) {
	box := form.box.Add(image.Pt(penX, y))
	seen := box.Intersect(p.img.Rect)
	for py := seen.Min.Y; py < seen.Max.Y; py++ {
		row := form.shades[(py-box.Min.Y)*box.Dx()+seen.Min.X-box.Min.X:]
		to := p.img.Pix[py*p.img.Stride+seen.Min.X : py*p.img.Stride+seen.Max.X]
		for i := range to {
			if shade := row[i]; shade > 0 {
				to[i] = max(to[i], uint8(c)+shade)
			}
		}
	}
}
