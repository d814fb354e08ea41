package prompt

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLexicon(t *testing.T) {
	lx := newLexicon()
	plain := regexp.MustCompile(`^ [A-Za-z][a-z]*$`)
	all := map[string]bool{}
	for c := range lx {
		for _, w := range lx[c] {
			if !plain.MatchString(w) || len(w) > 16 {
				t.Errorf("class %d: word %q", c, w)
			}
			all[w] = true
		}
	}
	if len(all) < 2000 {
		t.Errorf("%d different words, want 2,000 or more", len(all))
	}
	t.Logf("%d different words", len(all))
}

func TestInflection(t *testing.T) {
	for _, c := range []struct {
		form      func(string) string
		word, got string
	}{
		{pluralOf, "city", "cities"}, {pluralOf, "boy", "boys"}, {pluralOf, "bus", "buses"}, {pluralOf, "box", "boxes"},
		{pluralOf, "potato", "potatoes"}, {pluralOf, "horse", "horses"}, {pastOf, "carry", "carried"}, {pastOf, "bake", "baked"},
		{pastOf, "enjoy", "enjoyed"}, {pastOf, "melt", "melted"}, {gerundOf, "bake", "baking"}, {gerundOf, "carry", "carrying"},
	} {
		if got := c.form(c.word); got != c.got {
			t.Errorf("%s: got %s, want %s", c.word, got, c.got)
		}
	}
}

// Two texts of one length hold the same words and marks.
func TestSameWordsInEveryText(t *testing.T) {
	lx := newLexicon()
	for _, n := range []int{1, 7, 100, 5000} {
		o := newOutline(4, n)
		write := func(seed uint64) []string {
			s := string(o.write(nil, lx, 4, rand.New(rand.NewPCG(seed, 0))))
			words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .,\n", r) })
			slices.Sort(words)
			return words
		}
		a, b := write(1), write(2)
		if len(a) != n || !slices.Equal(a, b) {
			t.Errorf("%d words: got %d and %d, the same ones: %v", n, len(a), len(b), slices.Equal(a, b))
		}
	}
}

func TestDealIsFair(t *testing.T) {
	fixed := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	for _, n := range []int{0, 3, 10, 25} {
		count := make([]int, 10)
		for _, i := range deal(n, 10, fixed(), rand.New(rand.NewPCG(9, 9))) {
			count[i]++
		}
		if lo, hi := slices.Min(count), slices.Max(count); hi-lo > 1 || lo != n/10 {
			t.Errorf("%d of 10: each comes %d to %d times", n, lo, hi)
		}
	}
}

func TestFillerTextPaysExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	even := &fillers{words: []filler{{" aa", 2}, {" bbbb", 4}}}
	for n := 0; n < reachable; n += 2 {
		even.reach[n] = true
	}
	for cost, words := range map[int]int{0: 0, 1: 0, 2: 1, 3: 1} {
		if got := len(strings.Fields(even.text(cost, r))) - 1; got != words {
			t.Errorf("%d tokens of words that cost 2 or 4: %d words, want %d", cost, got, words)
		}
	}
	even.text(1001, r) // must end, though no sum is odd
	if got := (&fillers{}).text(5, r); got != " Then." {
		t.Errorf("without words: %q", got)
	}
}
