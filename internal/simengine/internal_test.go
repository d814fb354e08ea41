package simengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTokensAreCountedByWords(t *testing.T) {
	check := func(text string, want int) {
		t.Helper()
		if got := CountTokens(text); got != want {
			t.Errorf("CountTokens(%q) = %d, want %d", text, got, want)
		}
	}
	check("", 0)
	check(" \n\t ", 0)
	check("a", 1)
	check("four", 1)
	check("fives", 2)
	check("one two\nthree", 4)
	check("  one  ", 1)
	check("naïve", 2) // six bytes
}

// TestTokensByDefinition holds the fast tokenizer against its definition, at every length and alignment.
func TestTokensByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabet := []byte("abc\x00 \n\x20\x21\x1f\x7f\x80\xa0\xff\xe9zz")
	for range 3000 {
		text := make([]byte, rng.IntN(60))
		for i := range text {
			text[i] = alphabet[rng.IntN(len(alphabet))]
		}
		want := 0
		words := bytes.FieldsFunc(text, func(r rune) bool { return r <= ' ' })
		for _, w := range words {
			want += (len(w) + 3) / 4
		}
		whole, parts := newTokenizer(true), newTokenizer(true)
		whole.add(text)
		for _, w := range words {
			parts.add(w)
		}
		if whole.count != want || parts.count != want || whole.hash != parts.hash {
			t.Fatalf("%q: %d tokens (%x), by words %d (%x), want %d", text, whole.count, whole.hash, parts.count, parts.hash, want)
		}
	}
}

func TestBlocksDependOnAllBefore(t *testing.T) {
	blocks := func(text string) []uint64 {
		k := newTokenizer(true)
		k.add([]byte(text))
		return k.blocks
	}
	long := strings.Repeat("word ", 40)
	a, b, c := blocks(long), blocks(long+"more"), blocks("x"+long)
	if len(a) != 2 || len(b) != 2 || a[0] != b[0] || a[1] != b[1] {
		t.Errorf("a longer text changes earlier blocks: %x %x", a, b)
	}
	if a[0] == c[0] || a[1] == c[1] || a[0] == a[1] {
		t.Errorf("another beginning or position keeps a block's hash: %x %x", a, c)
	}
}

func TestRenderedChatCountsTheSame(t *testing.T) {
	messages := []message{{"system", []byte("be brief")}, {"user", []byte("how are you?")}}
	k := newTokenizer(true)
	k.chat(messages)
	r := newTokenizer(true)
	r.add(render(messages))
	if k.count != r.count || k.hash != r.hash {
		t.Errorf("chat is %d tokens, rendered %d", k.count, r.count)
	}
}

func TestLiftKeepsLongTexts(t *testing.T) {
	long := strings.Repeat("Zeile \"eins\"\n\\ \t é € 😀 ", 400)
	body, err := json.Marshal(map[string]any{"a": long, "b": "short", "c": []string{long, "x"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lift(body)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.texts) != 2 || len(l.skeleton) > 200 {
		t.Fatalf("%d texts lifted, %d bytes left: want 2, and a small rest", len(l.texts), len(l.skeleton))
	}
	var v struct {
		A, B string
		C    []string
	}
	if err := json.Unmarshal(l.skeleton, &v); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{string(l.text(v.A)), string(l.text(v.C[0]))} {
		if got != long {
			t.Errorf("text came back changed")
		}
	}
	if string(l.text(v.B)) != "short" || string(l.text(liftMark+"9")) != liftMark+"9" {
		t.Error("a text that was not lifted changed")
	}
}

// FuzzUnescape holds unescape against encoding/json.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{`plain`, `\n\t\"\\\/\b\f\r`, `é😀`, `\ud83d`, `\ude00\ud83d`, `\ud83dx`, `\x`, `\u12`, "\xff", "a\x01", `\`, `\ud83dA`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if literalEnd(append(raw[:len(raw):len(raw)], '"'), 0) != len(raw) {
			return // not the inside of one literal
		}
		var want string
		wantErr := json.Unmarshal([]byte(`"`+string(raw)+`"`), &want)
		got, err := unescape(raw)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("unescape(%q) error %v, encoding/json %v", raw, err, wantErr)
		}
		if err == nil && !bytes.Equal(got, []byte(want)) {
			t.Fatalf("unescape(%q) = %q, encoding/json %q", raw, got, want)
		}
	})
}

// TestCacheInvariants runs random requests through a small cache and checks its books after each.
func TestCacheInvariants(t *testing.T) {
	c := newBlockCache(100*BlockTokens, true)
	rng := rand.New(rand.NewPCG(1, 2))
	var inside []*sequence
	admitted, refused, cachedTokens := 0, 0, 0
	for range 5000 {
		if len(inside) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(inside))
			c.release(inside[i])
			inside = append(inside[:i], inside[i+1:]...)
		} else {
			k := newTokenizer(true)
			k.add([]byte(strings.Repeat(fmt.Sprintf("p%d ", rng.IntN(6)), 1+rng.IntN(400))))
			s := &sequence{blocks: k.blocks, promptTokens: k.count, maxTokens: 1 + rng.IntN(100)}
			cached, ok := c.admit(s)
			if !ok {
				refused++
				continue
			}
			if cached >= s.promptTokens {
				t.Fatalf("%d of %d prompt tokens cached: the last must be computed", cached, s.promptTokens)
			}
			admitted++
			cachedTokens += cached
			c.computed(s, cached+rng.IntN(s.promptTokens-cached+1))
			c.computed(s, s.promptTokens)
			inside = append(inside, s)
		}
		used, inUse := 0, map[*block]bool{}
		for _, s := range inside {
			used += s.held.anonymous
			for _, b := range s.held.shared {
				inUse[b] = true
			}
			if got, want := len(s.held.shared)+s.held.anonymous, blocksFor(s.promptTokens+s.maxTokens); got != want {
				t.Fatalf("a sequence holds %d blocks, needs %d", got, want)
			}
		}
		if total := c.free + c.idle.Len() + used + len(inUse); total != c.total || len(c.blocks) != c.idle.Len()+len(inUse) {
			t.Fatalf("%d free + %d idle + %d anonymous + %d shared = %d, want %d", c.free, c.idle.Len(), used, len(inUse), total, c.total)
		}
	}
	if admitted == 0 || refused == 0 || cachedTokens == 0 {
		t.Errorf("admitted %d, refused %d, cached %d: the test does not reach all cases", admitted, refused, cachedTokens)
	}
}

func BenchmarkPrompt600KB(b *testing.B) {
	body, err := json.Marshal(map[string]any{
		"model": "tiny", "messages": []any{map[string]any{"role": "user", "content": strings.Repeat("some words of a long prompt\n", 21500)}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		l, err := lift(body)
		if err != nil {
			b.Fatal(err)
		}
		k := newTokenizer(true)
		k.add(l.texts[0])
		if k.count == 0 {
			b.Fatal("no tokens")
		}
	}
}
