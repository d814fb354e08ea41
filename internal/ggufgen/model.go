package ggufgen

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// Config is the shape of the model. The zero value is a model of 2 layers and 8 MB that a CPU core runs at
// thousands of tokens a second.
type Config struct {
	Layers      int    // transformer blocks; 0 is 2
	Dim         int    // embedding length, a multiple of 2 x Heads; 0 is 256
	FeedForward int    // width of the feed-forward layer; 0 is 704
	Heads       int    // attention heads, a multiple of KVHeads; 0 is 4
	KVHeads     int    // key/value heads; 0 is 2
	Context     int    // tokens the model says it was trained for; 0 is 131,072
	Vocab       int    // tokens, at least 512; 0 is 2,048
	Seed        uint64 // seed of vocabulary and weights
}

// withDefaults fills the fields that are 0.
func (c Config) withDefaults() Config {
	or := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	or(&c.Layers, 2)
	or(&c.Dim, 256)
	or(&c.FeedForward, 704)
	or(&c.Heads, 4)
	or(&c.KVHeads, 2)
	or(&c.Context, 128*1024)
	or(&c.Vocab, 2048)
	return c
}

func (c Config) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if min(c.Layers, c.Dim, c.FeedForward, c.Heads, c.KVHeads, c.Context) < 1 {
		bad("layers %d, dim %d, feed-forward %d, heads %d, kv heads %d, context %d: each must be at least 1",
			c.Layers, c.Dim, c.FeedForward, c.Heads, c.KVHeads, c.Context)
		return errors.Join(problems...)
	}
	if c.Dim%(2*c.Heads) != 0 {
		bad("dim %d: use a multiple of twice the heads (%d)", c.Dim, 2*c.Heads)
	}
	if c.Heads%c.KVHeads != 0 {
		bad("heads %d: use a multiple of the kv heads (%d)", c.Heads, c.KVHeads)
	}
	if c.Vocab < minVocab {
		bad("vocab %d: use at least %d", c.Vocab, minVocab)
	}
	return errors.Join(problems...)
}

// Write writes the model to w. The error is Config's mistakes, all of them, or the writer's.
func Write(w io.Writer, c Config) error {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	words := vocabulary(c.Vocab, random)
	return encode(w, c.metadata(words), c.tensors(words, random))
}

// chatTemplate is plain text, so that a chat message costs its own tokens and a handful more.
const chatTemplate = `{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}`

func (c Config) metadata(words []token) []entry {
	texts, scores, kinds := make([]string, len(words)), make([]float32, len(words)), make([]int32, len(words))
	for i, w := range words {
		texts[i], scores[i], kinds[i] = w.text, w.score, w.kind
	}
	return []entry{
		{"general.architecture", "llama"},
		{"general.name", "tiny-random-llama"},
		{"general.file_type", uint32(1)}, // mostly float16
		{"llama.block_count", uint32(c.Layers)},
		{"llama.context_length", uint32(c.Context)},
		{"llama.embedding_length", uint32(c.Dim)},
		{"llama.feed_forward_length", uint32(c.FeedForward)},
		{"llama.attention.head_count", uint32(c.Heads)},
		{"llama.attention.head_count_kv", uint32(c.KVHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(c.Dim / c.Heads)},
		{"llama.vocab_size", uint32(len(words))},
		{"tokenizer.ggml.model", "llama"},
		{"tokenizer.ggml.tokens", texts},
		{"tokenizer.ggml.scores", scores},
		{"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.unknown_token_id", uint32(0)},
		{"tokenizer.ggml.bos_token_id", uint32(1)},
		{"tokenizer.ggml.eos_token_id", uint32(2)},
		{"tokenizer.ggml.add_bos_token", true},
		{"tokenizer.ggml.add_eos_token", false},
		{"tokenizer.chat_template", chatTemplate},
	}
}

const (
	anchor = 4    // value of channel 0 in every embedding
	never  = -100 // weight on channel 0 of a token that must not be drawn
)

// tensors lists the weights in the order of the file. Their functions share one random source and must be
// called in that order, each index once.
func (c Config) tensors(words []token, random *rand.Rand) []tensor {
	dim, ff, kv := uint64(c.Dim), uint64(c.FeedForward), uint64(c.KVHeads*(c.Dim/c.Heads))
	normal := func(deviation float64) float32 { return float32(random.NormFloat64() * deviation) }
	noise := func(deviation float64) func(uint64) float32 {
		return func(uint64) float32 { return normal(deviation) }
	}
	// The first row of a layer that adds to the residual stream is 0: channel 0 stays what the embedding put there.
	keepsAnchor := func(in uint64) func(uint64) float32 {
		return func(i uint64) float32 {
			v := normal(1 / math.Sqrt(float64(in)))
			if i < in {
				return 0
			}
			return v
		}
	}
	ones := func(uint64) float32 { return 1 }
	embedding := func(i uint64) float32 {
		v := normal(1)
		if i%dim == 0 {
			return anchor
		}
		return v
	}
	output := func(i uint64) float32 {
		v := normal(2 / math.Sqrt(float64(dim)))
		switch {
		case i%dim != 0:
			return v
		case words[i/dim].kind != kindNormal:
			return never
		}
		return 0
	}

	deviation := 1 / math.Sqrt(float64(dim))
	list := []tensor{
		{"token_embd.weight", []uint64{dim, uint64(len(words))}, float16, embedding},
		{"output_norm.weight", []uint64{dim}, float32bits, ones},
		{"output.weight", []uint64{dim, uint64(len(words))}, float16, output},
	}
	for l := range c.Layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", l, part) }
		list = append(list,
			tensor{name("attn_norm"), []uint64{dim}, float32bits, ones},
			tensor{name("attn_q"), []uint64{dim, dim}, float16, noise(deviation)},
			tensor{name("attn_k"), []uint64{dim, kv}, float16, noise(deviation)},
			tensor{name("attn_v"), []uint64{dim, kv}, float16, noise(deviation)},
			tensor{name("attn_output"), []uint64{dim, dim}, float16, keepsAnchor(dim)},
			tensor{name("ffn_norm"), []uint64{dim}, float32bits, ones},
			tensor{name("ffn_gate"), []uint64{dim, ff}, float16, noise(deviation)},
			tensor{name("ffn_up"), []uint64{dim, ff}, float16, noise(deviation)},
			tensor{name("ffn_down"), []uint64{ff, dim}, float16, keepsAnchor(ff)},
		)
	}
	return list
}
