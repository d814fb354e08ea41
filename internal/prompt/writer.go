package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// closing is the last line of every prompt. Its length matters for small contexts only.
const closing = "Now go on from all of the above: write a very long, detailed text about it, ten thousand words at least, and do not stop early."

const gap = "\n\n" // between the parts: no tokenizer merges it with the capital letter that follows

// Counter counts a text's tokens with the server's own tokenizer. It need not be additive, but local: what it
// finds in one place must not depend on text a kilobyte away.
type Counter func(ctx context.Context, text string) (int, error)

// Prompt is one text to be sent.
type Prompt struct {
	Text   string
	SHA    string // first 16 hex digits of the text's SHA-256
	Tokens int    // the prompt_tokens that the server is expected to report
}

// Writer makes prompts. Its sizes are prompt_tokens as the server reports them, chat template and all. It is not
// safe for concurrent use.
type Writer struct {
	seed     uint64
	lex      *lexicon
	sizer    sizer
	outlines map[int]*outline // by length, a few: a row's prompts all have the same
}

// sizer is how lengths are kept: with a tokenizer or without.
type sizer interface {
	// head returns what comes before the extra text, for a prompt of so many tokens, and the tokens expected of
	// the prompt without extra text.
	head(ctx context.Context, w *Writer, key Key, tokens int) (string, int, error)
	// extra returns text of so many tokens that is put behind head, and the tokens expected of it.
	extra(ctx context.Context, w *Writer, key Key, head string, tokens int) (string, int, error)
	correct(context, reported int)
	setOverhead(tokens int)
	shortest() int
}

// Text returns the prompt of a key with so many tokens, and extra tokens more that stand between its context and
// the closing instruction; up to the extra text it is the same as without (a cache hit). It fails when the counter
// fails, and for sizes below Shortest.
func (w *Writer) Text(ctx context.Context, key Key, tokens, extra int) (Prompt, error) {
	if least := w.Shortest(); tokens < least {
		return Prompt{}, fmt.Errorf("prompt of %d tokens: this server's shortest is %d, template and instruction included; ask for a larger context", tokens, least)
	}
	head, expected, err := w.sizer.head(ctx, w, key, tokens)
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt of %d tokens: %w", tokens, err)
	}
	text := head
	if extra > 0 {
		more, n, err := w.sizer.extra(ctx, w, key, head, extra)
		if err != nil {
			return Prompt{}, fmt.Errorf("prompt of %d and %d tokens: %w", tokens, extra, err)
		}
		text, expected = text+more, expected+n
	}
	text += closing
	return Prompt{Text: text, SHA: digest(text), Tokens: expected}, nil
}

// SetOverhead says how many tokens the server adds to what the counter sees: the chat template. It is what the
// server reported for a first prompt less that prompt's Tokens, the overhead being 0 until then. It has no effect on a
// calibrated writer, whose two samples hold it. Prompts made before are of other lengths: set it first.
func (w *Writer) SetOverhead(tokens int) { w.sizer.setOverhead(tokens) }

// Correct takes account of what the server reported for a prompt of a context's own length: Text with that context
// as Key.Context and as tokens, and without extra. Later prompts of the context are corrected by the difference, so it
// belongs before the context's first prompt that is to be sent twice. It refuses a report that is off by more than a
// quarter: the server cut the prompt or counts something else.
func (w *Writer) Correct(context, reported int) error {
	if off := context - reported; reported < 1 || 4*max(off, -off) > context {
		return fmt.Errorf("server reported %d prompt tokens for a prompt of %d: not corrected; does it cut prompts?", reported, context)
	}
	w.sizer.correct(context, reported)
	return nil
}

// Shortest is the least size that Text can make.
func (w *Writer) Shortest() int { return w.sizer.shortest() }

func newWriter(seed uint64, s sizer) *Writer {
	return &Writer{seed: seed, lex: newLexicon(), sizer: s, outlines: map[int]*outline{}}
}

const maxOutlines = 16 // 2 bytes a word each

// body returns n words of the key's part, with the tag in front when that is the body.
func (w *Writer) body(key Key, part string, n int) []byte {
	o, ok := w.outlines[n]
	if !ok {
		if len(w.outlines) >= maxOutlines {
			clear(w.outlines)
		}
		o = newOutline(w.seed, n)
		w.outlines[n] = o
	}
	dst := make([]byte, 0, 8*n+64)
	if part == partBody {
		dst = append(dst, key.tag(w.seed)...)
	}
	return o.write(dst, w.lex, w.seed, key.rand(w.seed, part))
}

// Parts of a prompt that draw their words independently.
const (
	partBody  = "body"
	partFill  = "fill"
	partExtra = "extra"
)

// digest is the form in which a prompt is recorded.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// tail returns the end of a text, about a kilobyte, cut before a space: enough for the count of what follows to
// be the same as behind the whole.
func tail(text string) string {
	const keep = 1024
	if len(text) <= keep {
		return text
	}
	text = text[len(text)-keep:]
	return text[max(0, strings.IndexByte(text, ' ')):]
}
