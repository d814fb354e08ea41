package prompt

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// Measured is a text that was sent and the prompt tokens that the server reported for it.
type Measured struct {
	Text   string // one of CalibrationTexts
	Tokens int
}

// Words of the calibration texts. The shorter one is hardly more than the overhead that it is to tell; the longer
// one holds most of the lexicon, so its mean is nearly that of any longer text.
const (
	calibrationShort = 16
	calibrationLong  = 2048
)

// CalibrationTexts are the two texts to send to a server that has no tokenizer, about 70 and 2,800 tokens with
// usual vocabularies.
func CalibrationTexts(seed uint64) [2]string { return CalibrationTextsWithin(seed, 0) }

// CalibrationTextsWithin are such texts for a server that takes limit tokens at most (0: not known): the longer
// one then has a word for every ten tokens of the limit at most, so that it fits with a byte-level vocabulary.
func CalibrationTextsWithin(seed uint64, limit int) [2]string {
	long := calibrationLong
	if limit > 0 {
		long = max(16, min(long, (limit-200)/10))
	}
	w := newWriter(seed, nil)
	var out [2]string
	for i, words := range []int{min(calibrationShort, long/4), long} {
		out[i] = string(w.body(Key{Purpose: canonical, Ordinal: i}, partBody, words)) + gap + closing
	}
	return out
}

// calibrated sizes prompts by tokens = overhead + rate x words.
type calibrated struct {
	overhead float64 // tokens of template, tag and closing instruction
	base     point
	points   map[int]point // by context: what a correction found
}

type point struct {
	words  int
	tokens int
}

// NewCalibrated returns a writer that goes by what the server reported for the two CalibrationTexts. It fails when
// the two reports do not give a believable rate.
func NewCalibrated(seed uint64, samples [2]Measured) (*Writer, error) {
	var p [2]point
	for i, s := range samples {
		p[i] = point{len(strings.Fields(s.Text)) - len(strings.Fields(closing)) - 1, s.Tokens}
	}
	if p[0].words > p[1].words {
		p[0], p[1] = p[1], p[0]
	}
	rate := float64(p[1].tokens-p[0].tokens) / float64(p[1].words-p[0].words)
	if p[0].words < 1 || p[0].tokens < 1 || !(rate > 0.05 && rate < 100) {
		return nil, fmt.Errorf("calibrate prompt lengths: server reported %d tokens for %d words and %d for %d; does it report usage, and take prompts uncut?",
			p[0].tokens, p[0].words, p[1].tokens, p[1].words)
	}
	c := &calibrated{overhead: float64(p[0].tokens) - rate*float64(p[0].words), base: p[1], points: map[int]point{}}
	return newWriter(seed, c), nil
}

// nearest is the point that a length is reckoned from: the context's own correction, else the longest one that is
// shorter (a long text tells the rate better), else the calibration.
func (c *calibrated) nearest(context, tokens int) point {
	if p, ok := c.points[context]; ok {
		return p
	}
	best := c.base
	for _, p := range c.points {
		if p.tokens <= tokens && (p.tokens > best.tokens || p.tokens == best.tokens && p.words > best.words) {
			best = p
		}
	}
	return best
}

func (c *calibrated) rate(p point) float64 {
	return (float64(p.tokens) - c.overhead) / float64(p.words)
}

func (c *calibrated) words(context, tokens int) int {
	p := c.nearest(context, tokens)
	return max(1, p.words+int(math.Round(float64(tokens-p.tokens)/c.rate(p))))
}

func (c *calibrated) head(_ context.Context, w *Writer, key Key, tokens int) (string, int, error) {
	words := c.words(key.Context, tokens)
	p := c.nearest(key.Context, tokens)
	expected := p.tokens + int(math.Round(float64(words-p.words)*c.rate(p)))
	return string(w.body(key, partBody, words)) + gap, expected, nil
}

func (c *calibrated) extra(_ context.Context, w *Writer, key Key, _ string, tokens int) (string, int, error) {
	rate := c.rate(c.nearest(key.Context, key.Context))
	words := int(math.Round(float64(tokens) / rate))
	if words < 1 {
		return "", 0, nil
	}
	return string(w.body(key, partExtra, words))[1:] + gap, int(math.Round(float64(words) * rate)), nil
}

func (c *calibrated) correct(context, reported int) {
	c.points[context] = point{c.words(context, context), reported}
}

func (c *calibrated) setOverhead(int) {}

func (c *calibrated) shortest() int { return int(math.Ceil(c.overhead + c.rate(c.base))) }
