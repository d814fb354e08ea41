package prompt

import (
	"context"
	"math/rand/v2"
)

// fillers are words whose token cost in a running text was measured one by one.
type fillers struct {
	words []filler
	reach [reachable]bool // reach[n]: some of the words cost n tokens together
}

type filler struct {
	text string // with its leading space
	cost int
}

// reachable bounds the table of sums; beyond it every sum is taken to be reachable, which holds when the costs
// have no common divisor and are below 8 or so.
const reachable = 64

// enough words to fill with; a tokenizer that has none of them whole is asked for each.
const enough = 48

// measureFillers finds the costs with as few counts as the tokenizer allows: a group that costs one token a word
// consists of such words (one count is enough then), any other group is halved.
func measureFillers(ctx context.Context, count Counter) (*fillers, error) {
	const frame = "00:" + fillLead
	base, err := count(ctx, frame+".")
	if err != nil {
		return nil, err
	}
	f := &fillers{}
	var measure func(group []string) error
	measure = func(group []string) error {
		if len(f.words) >= enough {
			return nil
		}
		text := frame
		for _, w := range group {
			text += " " + w
		}
		n, err := count(ctx, text+".")
		if err != nil {
			return err
		}
		cost := n - base
		if cost != len(group) && len(group) > 1 {
			if err := measure(group[:len(group)/2]); err != nil {
				return err
			}
			return measure(group[len(group)/2:])
		}
		for _, w := range group {
			if each := cost / len(group); each > 0 && each < reachable/2 {
				f.words = append(f.words, filler{" " + w, each})
			}
		}
		return nil
	}
	if err := measure(words(fillerWords)); err != nil {
		return nil, err
	}
	f.reach[0] = true
	for n := range f.reach {
		for _, w := range f.words {
			if n >= w.cost && f.reach[n-w.cost] {
				f.reach[n] = true
				break
			}
		}
	}
	return f, nil
}

const fillLead = " Then"

// text returns a sentence whose words (not its lead and full stop) cost as near to cost tokens as the measured
// words allow, never more. Without words to spend it is the empty sentence " Then.".
func (f *fillers) text(cost int, r *rand.Rand) string {
	out := []byte(fillLead)
	for cost > 0 {
		w, ok := f.pick(cost, r)
		if !ok {
			cost-- // no sum of words is this: the next smaller one
			continue
		}
		out = append(out, w.text...)
		cost -= w.cost
	}
	return string(append(out, '.'))
}

// pick returns a word, found from a random place on, after which the rest can still be paid; false when there is none.
func (f *fillers) pick(cost int, r *rand.Rand) (filler, bool) {
	if len(f.words) == 0 {
		return filler{}, false
	}
	start := r.IntN(len(f.words))
	for i := range f.words {
		if w := f.words[(start+i)%len(f.words)]; f.payable(cost - w.cost) {
			return w, true
		}
	}
	return filler{}, false
}

func (f *fillers) payable(cost int) bool {
	return cost >= reachable || cost >= 0 && f.reach[cost]
}
