package prompt

import (
	"context"
	"fmt"
	"math"
)

// tokenized sizes prompts with the server's tokenizer. A prompt costs one count of its whole text and a few of its last
// kilobyte; a length's first prompt costs up to four counts more.
type tokenized struct {
	count    Counter
	rate     float64 // tokens a word
	fixed    float64 // tokens of tag, marks and closing instruction
	scatter  float64 // standard deviation of the tokens of 512 words from key to key
	fill     *fillers
	overhead int         // tokens that the server adds
	offsets  map[int]int // by context: the context less the tokens reported for it

	sizes map[int]layout // by tokens wanted
	made  map[madeKey]made
}

// layout is how a length is made up: words of the body, and the tokens left for filler words.
type layout struct {
	words int
	fill  int
}

type madeKey struct {
	key  Key
	want int
}

// made is what it takes to write a head again without counting.
type made struct {
	words  int
	fill   string
	tokens int // as counted
}

const (
	maxMade   = 4096 // heads remembered; fresh prompts would grow without end
	maxRounds = 32   // tries to hit a length to the token
	sameWords = 4    // tries that take the same words but for the last ones, before others are taken
	maxSizing = 4
)

// NewTokenized learns the tokenizer's costs with some ten counts, up to about a hundred for one that has few
// whole words. It fails when the counter fails or gives nothing that depends on the text's length.
func NewTokenized(ctx context.Context, seed uint64, count Counter) (*Writer, error) {
	t := &tokenized{
		count:   checked(count),
		offsets: map[int]int{}, sizes: map[int]layout{}, made: map[madeKey]made{},
	}
	w := newWriter(seed, t)
	if err := t.learn(ctx, w); err != nil {
		return nil, fmt.Errorf("learn the server's tokenizer: %w", err)
	}
	return w, nil
}

// checked refuses counts that no tokenizer gives, so that a wrong answer cannot make a text of any length.
func checked(count Counter) Counter {
	return func(ctx context.Context, text string) (int, error) {
		n, err := count(ctx, text)
		if err == nil && (n < 1 || n > 4*len(text)+64) {
			err = fmt.Errorf("tokenizer counted %d tokens in %d bytes", n, len(text))
		}
		return n, err
	}
}

func (t *tokenized) learn(ctx context.Context, w *Writer) error {
	const short, long, block, blocks = 64, 2048, 512, 5
	measure := func(ordinal, words int) (int, error) {
		text := w.body(Key{Purpose: canonical, Ordinal: ordinal}, partBody, words)
		return t.count(ctx, string(text)+fillLead+"."+gap+closing)
	}
	small, err := measure(0, short)
	if err != nil {
		return err
	}
	large, err := measure(0, long)
	if err != nil {
		return err
	}
	t.rate = float64(large-small) / (long - short)
	t.fixed = float64(small) - short*t.rate
	if small < 1 || t.rate < 0.2 || t.rate > 100 {
		return fmt.Errorf("counted %d tokens in %d words and %d in %d: not a tokenizer", small, short, large, long)
	}
	var sum, squares float64
	for i := range blocks {
		n, err := measure(i, block)
		if err != nil {
			return err
		}
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	mean := sum / blocks
	t.scatter = math.Sqrt(max(0, squares/blocks-mean*mean))
	t.fill, err = measureFillers(ctx, t.count)
	return err
}

// allowance is the filler that a text of so many words needs, so that its scatter can be made up both ways. Two
// words' worth on top makes every sum reachable where words cost many tokens.
func (t *tokenized) allowance(words int) int {
	return 8 + int(math.Ceil(2*t.rate+4*t.scatter*math.Sqrt(float64(words)/512)))
}

func (t *tokenized) shortest() int {
	return t.overhead + int(math.Ceil(t.fixed+t.rate)) + t.allowance(1)
}

func (t *tokenized) setOverhead(tokens int) { t.overhead = tokens }

func (t *tokenized) correct(context, reported int) { t.offsets[context] += context - reported }

func (t *tokenized) head(ctx context.Context, w *Writer, key Key, tokens int) (string, int, error) {
	addition := t.overhead - t.offsets[key.Context]
	at := madeKey{key, tokens - addition}
	m, ok := t.made[at]
	if !ok {
		var err error
		if m, err = t.make(ctx, w, key, at.want); err != nil {
			return "", 0, err
		}
		if len(t.made) >= maxMade {
			clear(t.made)
		}
		t.made[at] = m
	}
	return string(w.body(key, partBody, m.words)) + m.fill + gap, m.tokens + addition, nil
}

// layout finds, with a text of its own, how many words make up a length when an allowance of filler is added. It does
// not depend on the key, so that all prompts of a length have the same words.
func (t *tokenized) layout(ctx context.Context, w *Writer, want int) (layout, error) {
	if l, ok := t.sizes[want]; ok {
		return l, nil
	}
	words := max(1, int((float64(want)-t.fixed)/t.rate))
	l := layout{fill: t.allowance(words)}
	words = max(1, words-int(float64(l.fill)/t.rate))
	best := math.MaxInt
	for range maxSizing {
		n, err := t.try(ctx, w, Key{Purpose: canonical}, layout{words, l.fill})
		if err != nil {
			return layout{}, err
		}
		off := want - n
		if abs(off) < best {
			best, l.words = abs(off), words
		}
		step := int(math.Round(float64(off) / t.rate))
		if step == 0 || words+step < 1 {
			break
		}
		words += step
	}
	t.sizes[want] = l
	return l, nil
}

// try counts the whole text of a key.
func (t *tokenized) try(ctx context.Context, w *Writer, key Key, l layout) (int, error) {
	return t.count(ctx, string(w.body(key, partBody, l.words))+t.filler(w, key, partFill, l.fill, 0)+gap+closing)
}

func (t *tokenized) filler(w *Writer, key Key, part string, cost, round int) string {
	return t.fill.text(cost, key.rand(w.seed, fmt.Sprintf("%s %d", part, round/sameWords)))
}

// make writes a head: one count of the whole, then the filler is changed until the length is right, by counts of
// the last kilobyte.
func (t *tokenized) make(ctx context.Context, w *Writer, key Key, want int) (made, error) {
	l, err := t.layout(ctx, w, want)
	if err != nil {
		return made{}, err
	}
	whole, err := t.try(ctx, w, key, l)
	if err != nil {
		return made{}, err
	}
	// Scatter beyond the allowance: fewer words, so that there is something to fill again.
	for i := 0; whole-want > l.fill && l.words > 1 && i < maxSizing; i++ {
		l.words = max(1, l.words-int(math.Ceil(float64(whole-want)/t.rate)))
		if whole, err = t.try(ctx, w, key, l); err != nil {
			return made{}, err
		}
	}
	end := tail(string(w.body(key, partBody, l.words)))
	first := t.filler(w, key, partFill, l.fill, 0)
	base, err := t.count(ctx, end+first+gap+closing)
	if err != nil {
		return made{}, err
	}
	text, n, err := hit(want, l.fill, trial{first, whole}, func(cost, round int) (trial, error) {
		s := t.filler(w, key, partFill, cost, round)
		n, err := t.count(ctx, end+s+gap+closing)
		return trial{s, whole + n - base}, err
	})
	return made{l.words, text, n}, err
}

// extra writes tokens of further text: sentences where there is room for them, then filler to the token.
func (t *tokenized) extra(ctx context.Context, w *Writer, key Key, head string, tokens int) (string, int, error) {
	end := tail(head)
	base, err := t.count(ctx, end+closing)
	if err != nil {
		return "", 0, err
	}
	// Named by its length too: the same stream's extra text in another cell begins differently.
	part := fmt.Sprintf("%s %d", partExtra, tokens)
	write := func(words, cost, round int) (trial, error) {
		var s string
		if words > 0 {
			s = string(w.body(key, part, words))
		}
		// The text stands at the start of a paragraph: without the leading space.
		s = (s + t.filler(w, key, part, cost, round))[1:] + gap
		n, err := t.count(ctx, end+s+closing)
		return trial{s, n - base}, err
	}
	// Short texts do not keep to the average: words are taken off until there is something to fill.
	words, fill, first := t.extraWords(tokens), t.allowance(1), trial{}
	for i := 0; words > 0 && i < maxSizing; i++ {
		if first, err = write(words, fill, 0); err != nil {
			return "", 0, err
		}
		if first.tokens-tokens <= fill {
			break
		}
		words, first = t.extraWords(tokens-(first.tokens-tokens)), trial{}
	}
	if first.text == "" {
		words, fill = 0, tokens
	}
	return hit(tokens, fill, first, func(cost, round int) (trial, error) { return write(words, cost, round) })
}

// extraWords is how many words of sentences go into so many tokens beside the filler; none into few.
func (t *tokenized) extraWords(tokens int) int {
	words := int(float64(tokens-2*t.allowance(1)) / t.rate)
	if words < 8 {
		return 0
	}
	return words
}

// trial is a text and the tokens counted for it.
type trial struct {
	text   string
	tokens int
}

// hit changes the cost of the filler, starting with cost for the given trial, until write returns exactly the tokens
// wanted; with a tokenizer for which no filler does, it returns the nearest.
func hit(want, cost int, best trial, write func(cost, round int) (trial, error)) (string, int, error) {
	if best.text != "" {
		cost += want - best.tokens
	}
	for round := 1; round <= maxRounds && best.tokens != want; round++ {
		got, err := write(max(0, cost), round)
		if err != nil {
			return "", 0, err
		}
		if abs(want-got.tokens) < abs(want-best.tokens) {
			best = got
		}
		cost = max(0, cost) + want - got.tokens
	}
	return best.text, best.tokens, nil
}

func abs(n int) int { return max(n, -n) }
