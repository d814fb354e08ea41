package social

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"

	"github.com/klauspost/compress/flate"
)

// pngWriter encodes palette images as PNG. It is here because image/png takes three times as long (it compresses with compress/zlib),
// which in a site of a thousand runs is seconds. The compressor's memory is kept between images. It is for one goroutine.
type pngWriter struct {
	flate *flate.Writer
	out   []byte
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

// pixels appends the compressed rows, each after the byte that says "no filter": filters do not help a palette. They are in zlib's format (RFC 1950): a
// header, deflate, a checksum.
func (p *pngWriter) pixels(img *image.Paletted) error {
	p.out = append(p.out, 0x78, 0x01) // deflate, a window of 32 KB, the fastest level
	sink := (*appender)(&p.out)
	if p.flate == nil {
		var err error
		if p.flate, err = flate.NewWriter(sink, flate.BestSpeed); err != nil {
			return err
		}
	} else {
		p.flate.Reset(sink)
	}
	sum := adler{1, 0}
	noFilter := []byte{0}
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride : y*img.Stride+img.Rect.Dx()]
		for _, part := range [][]byte{noFilter, row} {
			sum.add(part)
			if _, err := p.flate.Write(part); err != nil {
				return err
			}
		}
	}
	if err := p.flate.Close(); err != nil {
		return err
	}
	p.out = binary.BigEndian.AppendUint32(p.out, sum.sums<<16|sum.sum)
	return nil
}

// adler is zlib's checksum: the sum of all bytes, and the sum of all those sums. The library's goes byte by byte; this adds eight at a time,
// as two numbers of four lanes of 16 bits. The highest lane of a product is then the sum of the lanes with the weights of the other factor.
type adler struct{ sum, sums uint32 }

// add takes up to 5,552 bytes: more, and the sums might overflow.
func (a *adler) add(b []byte) {
	const even = 0x00ff_00ff_00ff_00ff
	sum, sums := a.sum, a.sums
	for ; len(b) >= 8; b = b[8:] {
		eight := binary.LittleEndian.Uint64(b)
		first, second := eight&even, eight>>8&even
		sums += 8*sum + uint32(first*0x0008_0006_0004_0002>>48) + uint32(second*0x0007_0005_0003_0001>>48)
		sum += uint32((first + second) * 0x0001_0001_0001_0001 >> 48)
	}
	for _, c := range b {
		sum += uint32(c)
		sums += sum
	}
	const prime = 65521
	a.sum, a.sums = sum%prime, sums%prime
}

// appender is a slice as a writer.
type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}
