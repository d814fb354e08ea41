package prompt_test

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"speedmatrix/internal/event"
	"speedmatrix/internal/prompt"
)

func newTokenized(t testing.TB, seed uint64, of func(string) int) (*prompt.Writer, *counter) {
	t.Helper()
	c := &counter{of: of}
	w, err := prompt.NewTokenized(context.Background(), seed, c.count)
	if err != nil {
		t.Fatal(err)
	}
	return w, c
}

func text(t testing.TB, w *prompt.Writer, key prompt.Key, tokens, extra int) prompt.Prompt {
	t.Helper()
	p, err := w.Text(context.Background(), key, tokens, extra)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rowKey(context, stream int) prompt.Key {
	return prompt.DecodeKey(event.PerStream, context, 0, 0, stream, 0)
}

// The server reports what its tokenizer counts and a template of 17 tokens.
const template = 17

func TestTokenizedIsExact(t *testing.T) {
	for _, tk := range tokenizers() {
		t.Run(tk.name, func(t *testing.T) {
			w, _ := newTokenized(t, 1, tk.count)
			w.SetOverhead(template)
			for _, size := range []int{512, 1000, 1024, 8192} {
				for stream := range 4 {
					for _, extra := range []int{0, 64, 2048} {
						p := text(t, w, rowKey(size, stream), size, extra)
						reported := tk.count(p.Text) + template
						// Head and extra text are each as near as the tokenizer allows.
						if off := reported - size - extra; off < -2*tk.slack || off > 2*tk.slack {
							t.Errorf("%d+%d, stream %d: %d tokens, off by %d", size, extra, stream, reported, off)
						}
						if p.Tokens != reported {
							t.Errorf("%d+%d, stream %d: says %d tokens, has %d", size, extra, stream, p.Tokens, reported)
						}
					}
				}
			}
		})
	}
}

func TestTokenizedLongContext(t *testing.T) {
	w, c := newTokenized(t, 1, byByte)
	const size = 131007
	for stream := range 3 {
		*c = counter{of: byByte}
		p := text(t, w, rowKey(size, stream), size, 0)
		if got := byByte(p.Text); got != size {
			t.Errorf("stream %d: %d tokens, want %d", stream, got, size)
		}
		if stream > 0 && c.bytes > len(p.Text)*11/10 {
			t.Errorf("stream %d: counted %d bytes for a text of %d; the whole of it once is enough", stream, c.bytes, len(p.Text))
		}
	}
}

func TestLearningIsCheap(t *testing.T) {
	for _, tk := range tokenizers() {
		_, c := newTokenized(t, 1, tk.count)
		if c.calls > 130 || c.bytes > 100_000 {
			t.Errorf("%s: %d counts of %d bytes in all, want at most 130 and 100,000", tk.name, c.calls, c.bytes)
		}
	}
	if _, c := newTokenized(t, 1, byWord); c.calls > 12 {
		t.Errorf("a vocabulary with all the words takes %d counts, want at most 12", c.calls)
	}
}

func TestTextsDependOnSeedAndKeyAlone(t *testing.T) {
	type ask struct{ stream, size, extra int }
	asks := []ask{{0, 1024, 0}, {1, 1024, 300}, {0, 2048, 0}, {1, 1024, 0}, {2, 700, 90}}
	make := func(seed uint64, order []int) map[ask]string {
		w, _ := newTokenized(t, seed, bySubword)
		out := map[ask]string{}
		for _, i := range order {
			a := asks[i]
			out[a] = text(t, w, rowKey(a.size, a.stream), a.size, a.extra).SHA
		}
		return out
	}
	first, backwards, other := make(7, []int{0, 1, 2, 3, 4}), make(7, []int{4, 3, 2, 1, 0}), make(8, []int{0, 1, 2, 3, 4})
	for _, a := range asks {
		if first[a] != backwards[a] {
			t.Errorf("%+v: another text when the prompts are made in another order", a)
		}
		if first[a] == other[a] {
			t.Errorf("%+v: the same text from another seed", a)
		}
	}
}

func TestDigest(t *testing.T) {
	w, _ := newTokenized(t, 1, byWord)
	p := text(t, w, rowKey(512, 0), 512, 0)
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(p.SHA) {
		t.Errorf("SHA %q: want 16 hex digits", p.SHA)
	}
	if again := text(t, w, rowKey(512, 1), 512, 0); again.SHA == p.SHA {
		t.Error("two prompts with one digest")
	}
}

func TestNotPeriodic(t *testing.T) {
	w, _ := newTokenized(t, 3, byWord)
	p := text(t, w, rowKey(65536, 0), 65536, 0)
	tokens := cut(p.Text)
	const n = 64
	seen := map[string]int{}
	for i := 0; i+n <= len(tokens); i++ {
		gram := strings.Join(tokens[i:i+n], "")
		if at, ok := seen[gram]; ok {
			t.Fatalf("the %d tokens at %d stand at %d too", n, i, at)
		}
		seen[gram] = i
	}
	// Of runs of eight tokens, what an n-gram speculator goes by, hardly any comes back.
	repeats, grams := 0, map[string]bool{}
	for i := 0; i+8 <= len(tokens); i++ {
		gram := strings.Join(tokens[i:i+8], "")
		if grams[gram] {
			repeats++
		}
		grams[gram] = true
	}
	if repeats*1000 > len(tokens) {
		t.Errorf("%d of %d runs of 8 tokens come back, want at most 0.1 %%", repeats, len(tokens))
	}
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	z.Write([]byte(p.Text))
	z.Close()
	if ratio := float64(b.Len()) / float64(len(p.Text)); ratio < 0.25 {
		t.Errorf("the text compresses to %.2f of its size, want 0.25 or more as prose does", ratio)
	}
}

func TestHeadsDiffer(t *testing.T) {
	texts := prompt.CalibrationTexts(1)
	w, err := prompt.NewCalibrated(1, [2]prompt.Measured{{Text: texts[0], Tokens: byWord(texts[0])}, {Text: texts[1], Tokens: byWord(texts[1])}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []prompt.Key
	for stream := range 128 {
		keys = append(keys, prompt.DecodeKey(event.PerStream, 8192, 3, 0, stream, 5), prompt.DecodeKey(event.PerStream, 8192, 3, 1, stream, 5),
			prompt.DecodeKey(event.PerStream, 16384, 3, 0, stream, 5), prompt.DecodeKey(event.Fresh, 8192, 3, 0, stream, 5),
			prompt.DecodeKey(event.Fresh, 8192, 4, 0, stream, 5), prompt.DecodeKey(event.Fresh, 8192, 3, 0, stream, 6))
	}
	for sample := range 9 {
		keys = append(keys, prompt.ColdKey(8192, 0, sample), prompt.ColdKey(8192, 1, sample))
	}
	heads := map[string]prompt.Key{}
	for _, key := range keys {
		p := text(t, w, key, 600, 0)
		for _, head := range []string{strings.Join(cut(p.Text)[:16], ""), p.Text[:16]} { // words; bytes
			if other, ok := heads[head]; ok && other != key {
				t.Errorf("%+v and %+v both begin %q", key, other, head)
			}
			heads[head] = key
		}
	}
}

func TestDecodeKey(t *testing.T) {
	key := func(mode event.PromptMode, cell, stream, ordinal int) prompt.Key {
		return prompt.DecodeKey(mode, 8192, cell, 0, stream, ordinal)
	}
	check := func(what string, a, b prompt.Key, same bool) {
		t.Helper()
		if (a == b) != same {
			t.Errorf("%s: %+v and %+v, want the same prompt: %v", what, a, b, same)
		}
	}
	check("a stream keeps its prompt through the row", key(event.PerStream, 1, 2, 0), key(event.PerStream, 4, 2, 7), true)
	check("streams have prompts of their own", key(event.PerStream, 1, 2, 0), key(event.PerStream, 1, 3, 0), false)
	check("shared is one prompt", key(event.Shared, 1, 2, 0), key(event.Shared, 4, 3, 7), true)
	check("fresh is new in each request", key(event.Fresh, 1, 2, 0), key(event.Fresh, 1, 2, 1), false)
	check("fresh is new in each cell", key(event.Fresh, 1, 2, 0), key(event.Fresh, 2, 2, 0), false)
}

func TestStaggeredSharesTheContext(t *testing.T) {
	for _, tk := range tokenizers() {
		w, _ := newTokenized(t, 1, tk.count)
		plain := text(t, w, rowKey(2048, 5), 2048, 0)
		closing := plain.Text[strings.LastIndex(plain.Text, "\n\n")+2:]
		context := strings.TrimSuffix(plain.Text, closing)
		if !strings.Contains(closing, "do not stop early") {
			t.Errorf("%s: the last line %q does not ask for a long answer", tk.name, closing)
		}
		for _, extra := range []int{1, 5, 16, 17, 100, 4080} {
			p := text(t, w, rowKey(2048, 5), 2048, extra)
			if !strings.HasPrefix(p.Text, context) || !strings.HasSuffix(p.Text, "\n\n"+closing) {
				t.Errorf("%s: with %d extra tokens the context or the instruction is another", tk.name, extra)
			}
			// Some three tokens are the least that a sentence has; a tokenizer of bytes needs some ten.
			if off := tk.count(p.Text) - tk.count(plain.Text) - extra; extra >= 32 && abs(off) > 2*tk.slack || abs(off) > 16 {
				t.Errorf("%s: %d extra tokens asked, off by %d", tk.name, extra, off)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// Nothing that a server could take for a control token: letters, digits, and the marks of prose.
func TestPlainText(t *testing.T) {
	odd := regexp.MustCompile(`[^A-Za-z0-9 .,:\n]`)
	w, _ := newTokenized(t, 9, bySubword)
	texts := []string{text(t, w, rowKey(30000, 0), 30000, 4000).Text}
	for _, s := range prompt.CalibrationTexts(9) {
		texts = append(texts, s)
	}
	for _, s := range texts {
		if at := odd.FindStringIndex(s); at != nil {
			t.Errorf("character %q at %d", s[at[0]:at[1]], at[0])
		}
		if strings.Contains(s, "  ") || strings.Contains(s, "\n ") || strings.Contains(s, " \n") || strings.Contains(s, "\n\n\n") {
			t.Error("stray white space")
		}
	}
}

func TestSetOverheadAndCorrect(t *testing.T) {
	w, _ := newTokenized(t, 1, bySubword)
	trial := prompt.Key{Purpose: prompt.Trial}
	first := text(t, w, trial, w.Shortest()+50, 0)
	reported := bySubword(first.Text) + template
	w.SetOverhead(reported - first.Tokens)
	if p := text(t, w, rowKey(1024, 0), 1024, 0); bySubword(p.Text)+template != 1024 {
		t.Errorf("with the overhead: %d tokens, want 1024", bySubword(p.Text)+template)
	}

	// A server that adds one token a hundred beyond that.
	server := func(p prompt.Prompt) int { n := bySubword(p.Text); return n + n/100 + template }
	p := text(t, w, prompt.ColdKey(8192, 0, 0), 8192, 0)
	if err := w.Correct(8192, server(p)); err != nil {
		t.Fatal(err)
	}
	for stream := range 3 {
		p := text(t, w, rowKey(8192, stream), 8192, 0)
		if off := server(p) - 8192; abs(off) > 2 {
			t.Errorf("corrected: off by %d", off)
		}
		if off := p.Tokens - server(p); abs(off) > 2 {
			t.Errorf("corrected: expects %d more than the server reports", off)
		}
	}
	if p := text(t, w, rowKey(1024, 0), 1024, 0); p.Tokens != 1024 || bySubword(p.Text)+template != 1024 {
		t.Error("a correction changed another context")
	}
	for _, wrong := range []int{0, -5, 6000, 1 << 40} {
		if err := w.Correct(8192, wrong); err == nil {
			t.Errorf("report of %d tokens for 8192: want an error", wrong)
		}
	}
}

func TestTooShort(t *testing.T) {
	w, _ := newTokenized(t, 1, byByte)
	w.SetOverhead(template)
	least := w.Shortest()
	if p := text(t, w, rowKey(least, 0), least, 0); byByte(p.Text)+template != least {
		t.Errorf("shortest prompt: %d tokens, want %d", byByte(p.Text)+template, least)
	}
	_, err := w.Text(context.Background(), rowKey(64, 0), least-1, 0)
	if want := fmt.Sprintf("prompt of %d tokens: this server's shortest is %d", least-1, least); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q…", err, want)
	}
}

func TestCounterFails(t *testing.T) {
	down := errors.New("connection refused")
	good := 0
	count := func(_ context.Context, s string) (int, error) {
		if good--; good < 0 {
			return 0, down
		}
		return bySubword(s), nil
	}
	if _, err := prompt.NewTokenized(context.Background(), 1, count); !errors.Is(err, down) {
		t.Errorf("error %v, want the counter's", err)
	}
	good = 1000
	w, err := prompt.NewTokenized(context.Background(), 1, count)
	if err != nil {
		t.Fatal(err)
	}
	for good = range 8 { // wherever it fails
		failing := good
		if _, err := w.Text(context.Background(), rowKey(2048, failing), 2048+failing, 100); !errors.Is(err, down) && good < 0 {
			t.Errorf("failing after %d counts: error %v, want the counter's", failing, err)
		}
	}
}

// A server may answer anything: the writer must end, with an error or with a text of a sane length.
func TestHostileCounters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	counters := map[string]func(string) int{
		"nothing":  func(string) int { return 0 },
		"negative": func(s string) int { return -len(s) },
		"constant": func(string) int { return 12 },
		"huge":     func(s string) int { return 1 << 40 },
		"random":   func(s string) int { return 1 + r.IntN(len(s)) },
		"shrinking": func(s string) int {
			return max(1, len(s)/5-max(0, len(s)-20000)/5)
		},
		"threshold": func(s string) int { return len(s)/5 + len(s)/5000*700 },
	}
	for name, of := range counters {
		c := &counter{of: of}
		w, err := prompt.NewTokenized(context.Background(), 1, c.count)
		if err != nil {
			continue
		}
		p, err := w.Text(context.Background(), rowKey(8192, 0), max(8192, w.Shortest()), 500)
		if err == nil && len(p.Text) > 4<<20 {
			t.Errorf("%s: a text of %d bytes for 8,692 tokens", name, len(p.Text))
		}
		if c.calls > 500 {
			t.Errorf("%s: %d counts", name, c.calls)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(uint64(1), 512, 0, 0)
	f.Add(uint64(2), 4096, 2048, 127)
	f.Add(uint64(3), 61, 1, 3)
	f.Fuzz(func(t *testing.T, seed uint64, tokens, extra, stream int) {
		if tokens < 0 || tokens > 20000 || extra > 5000 {
			t.Skip()
		}
		w, _ := newTokenized(t, seed, bySubword)
		p, err := w.Text(context.Background(), rowKey(tokens, stream), tokens, extra)
		if tokens < w.Shortest() {
			if err == nil {
				t.Errorf("%d tokens, below the shortest of %d: want an error", tokens, w.Shortest())
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := bySubword(p.Text)
		if got != p.Tokens {
			t.Errorf("says %d tokens, has %d", p.Tokens, got)
		}
		if off := got - tokens - max(0, extra); abs(off) > 0 && (extra < 1 || extra > 32) || abs(off) > 4 {
			t.Errorf("%d+%d tokens: off by %d", tokens, extra, off)
		}
	})
}
