package prompt

import "math/rand/v2"

// slot is one place of a text: a word of a class, and what follows it.
type slot struct {
	class class
	after mark
}

type mark uint8

const (
	none mark = iota
	comma
	stop
	paragraph // a full stop and an empty line
)

// outline is the skeleton of a text of so many words: which class stands where. It depends on the seed and the
// length alone, so that all texts of one length have the same words and marks.
type outline struct {
	slots []slot
	need  [classes]int // words of each class
}

// patterns is how many sentence patterns a text is made of, some 2,000 words. They come in shuffled rounds, so
// that the shares of the classes, and with them the tokens a word, hardly depend on the length.
const patterns = 128

// newOutline lays out exactly n words (n >= 1) in sentences of 5 to about 40, the last one cut where n is reached.
func newOutline(seed uint64, n int) *outline {
	r := rand.New(rand.NewPCG(seed, 0x6f75746c696e65)) // "outline": a stream of its own
	pool := make([][]slot, patterns)
	for i := range pool {
		var o outline
		o.sentence(r)
		pool[i] = o.slots
	}
	o := &outline{slots: make([]slot, 0, n+64)}
	for i := 0; len(o.slots) < n; i++ {
		if i%patterns == 0 {
			r.Shuffle(patterns, func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		}
		o.slots = append(o.slots, pool[i%patterns]...)
	}
	o.slots = o.slots[:n]
	o.slots[n-1].after = stop
	for _, s := range o.slots {
		o.need[s.class]++
	}
	return o
}

func (o *outline) put(cs ...class) {
	for _, c := range cs {
		o.slots = append(o.slots, slot{class: c})
	}
}

func (o *outline) mark(m mark) { o.slots[len(o.slots)-1].after = m }

// sentence appends one to four clauses.
func (o *outline) sentence(r *rand.Rand) {
	many := r.IntN(3) == 0
	if many {
		o.put(openPlural)
	} else {
		o.put(openSingular)
	}
	o.clause(r, many)
	for r.IntN(5) < 2 {
		if r.IntN(2) == 0 {
			o.mark(comma)
		}
		o.put(conjunction)
		many = o.determiner(r)
		o.clause(r, many)
	}
	o.mark(stop)
	if r.IntN(7) == 0 {
		o.mark(paragraph)
	}
}

// clause appends what follows a determiner: subject, verb, object, and often a place.
func (o *outline) clause(r *rand.Rand, many bool) {
	o.subject(r, many)
	switch r.IntN(4) {
	case 0:
		o.put(modal, verbBase)
	case 1:
		o.put(adverb, verbPast)
	default:
		o.put(verbPast)
	}
	o.phrase(r)
	if r.IntN(2) == 0 {
		o.put(preposition)
		o.phrase(r)
	}
	if r.IntN(5) == 0 {
		o.put(preposition, verbGerund)
		o.phrase(r)
	}
}

// phrase appends a determiner and its noun.
func (o *outline) phrase(r *rand.Rand) { o.subject(r, o.determiner(r)) }

func (o *outline) determiner(r *rand.Rand) (many bool) {
	many = r.IntN(3) == 0
	if many {
		o.put(plural)
	} else {
		o.put(singular)
	}
	return many
}

func (o *outline) subject(r *rand.Rand, many bool) {
	for r.IntN(5) < 2 {
		o.put(adjective)
	}
	if many {
		o.put(nounPlural)
	} else {
		o.put(noun)
	}
}

// write fills the outline with words and appends the text, which starts with a space, to dst.
// Each class deals its words in rounds, every word once a round; the last round, which is not whole, takes the
// words that the seed puts first. The order within each round is r's.
func (o *outline) write(dst []byte, lx *lexicon, seed uint64, r *rand.Rand) []byte {
	var decks [classes][]uint16
	for c := range decks {
		decks[c] = deal(o.need[c], len(lx[c]), rand.New(rand.NewPCG(seed, uint64(c))), r)
	}
	start := false // of a paragraph
	for _, s := range o.slots {
		word := lx[s.class][decks[s.class][0]]
		decks[s.class] = decks[s.class][1:]
		if start {
			word = word[1:]
		}
		dst = append(dst, word...)
		start = s.after == paragraph
		switch s.after {
		case comma:
			dst = append(dst, ',')
		case stop:
			dst = append(dst, '.')
		case paragraph:
			dst = append(dst, ".\n\n"...)
		}
	}
	return dst
}

// deal returns n indices below size: whole rounds and the start of one, whose choice is fixed's; each is shuffled
// by r.
func deal(n, size int, fixed, r *rand.Rand) []uint16 {
	out := make([]uint16, 0, n+size)
	for len(out) < n {
		round := out[len(out) : len(out)+size]
		for i := range round {
			round[i] = uint16(i)
		}
		if rest := n - len(out); rest < size {
			fixed.Shuffle(size, func(i, j int) { round[i], round[j] = round[j], round[i] })
			round = round[:rest]
		}
		r.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		out = out[:len(out)+len(round)]
	}
	return out
}
