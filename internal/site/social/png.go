package social

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"

	"github.com/klauspost/compress/zlib"
)

// pngWriter encodes palette images as PNG. It is here because image/png takes three times as long (it compresses with compress/zlib),
// which in a site of a thousand runs is seconds. The compressor's memory is kept between images. It is for one goroutine.
type pngWriter struct {
	zlib *zlib.Writer
	out  []byte
}

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	eightBits    = 8 // a pixel
	byPalette    = 3 // PNG's colour type
)

// encode writes an image whose palette is opaque: signature, header, palette, pixels, end.
func (p *pngWriter) encode(w io.Writer, img *image.Paletted) error {
	p.out = append(p.out[:0], pngSignature...)
	p.chunk("IHDR", func() error {
		p.out = binary.BigEndian.AppendUint32(p.out, uint32(img.Rect.Dx()))
		p.out = binary.BigEndian.AppendUint32(p.out, uint32(img.Rect.Dy()))
		p.out = append(p.out, eightBits, byPalette, 0, 0, 0) // deflate, filters a row, not interlaced
		return nil
	})
	p.chunk("PLTE", func() error {
		for _, c := range img.Palette {
			r, g, b, _ := c.RGBA()
			p.out = append(p.out, byte(r>>8), byte(g>>8), byte(b>>8))
		}
		return nil
	})
	if err := p.chunk("IDAT", func() error { return p.pixels(img) }); err != nil {
		return err
	}
	p.chunk("IEND", func() error { return nil })
	_, err := w.Write(p.out)
	return err
}

// chunk appends a chunk with what body appends as its data: length, kind, data, checksum of kind and data.
func (p *pngWriter) chunk(kind string, body func() error) error {
	start := len(p.out)
	p.out = append(append(p.out, 0, 0, 0, 0), kind...)
	if err := body(); err != nil {
		return err
	}
	named := p.out[start+4:]
	binary.BigEndian.PutUint32(p.out[start:], uint32(len(named)-4))
	p.out = binary.BigEndian.AppendUint32(p.out, crc32.ChecksumIEEE(named))
	return nil
}

// pixels appends the compressed rows, each after the byte that says "no filter": filters do not help a palette.
func (p *pngWriter) pixels(img *image.Paletted) error {
	sink := (*appender)(&p.out)
	if p.zlib == nil {
		var err error
		if p.zlib, err = zlib.NewWriterLevel(sink, zlib.BestSpeed); err != nil {
			return err
		}
	} else {
		p.zlib.Reset(sink)
	}
	noFilter := []byte{0}
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride : y*img.Stride+img.Rect.Dx()]
		if _, err := p.zlib.Write(noFilter); err != nil {
			return err
		}
		if _, err := p.zlib.Write(row); err != nil {
			return err
		}
	}
	return p.zlib.Close()
}

// appender is a slice as a writer.
type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}
