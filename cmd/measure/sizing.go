package main

import (
	"context"
	"errors"
	"fmt"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
	"speedmatrix/internal/load"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/prompt"
)

// How prompts got their length, as run.toml has it.
const (
	sizedByTokenizer = "tokenize"
	sizedByUsage     = "calibrated"
)

// trialTokens is the length of the request by which the chat template's constant is learnt.
const trialTokens = 256

// A sizer writes prompts of the asked length for one server. Its first requests also warm the server up: they come
// before any cold sample.
type sizer struct {
	client *client.Client
	server *probe.Server
	seed   uint64
	cfg    plan.Config
	limit  *int64 // longest prompt + output; nil: not known

	writer    *prompt.Writer
	corrected map[int]bool // by context: its length was corrected once already
}

// prepare learns how this server counts: by its tokenizer, else by the usage it reports for two lengths.
func (s *sizer) prepare(ctx context.Context) (method string, err error) {
	s.corrected = map[int]bool{}
	if s.server.HasTokenizer() {
		return sizedByTokenizer, s.byTokenizer(ctx)
	}
	return sizedByUsage, s.byUsage(ctx)
}

func (s *sizer) byTokenizer(ctx context.Context) (err error) {
	if s.writer, err = prompt.NewTokenized(ctx, s.seed, s.count); err != nil {
		return fmt.Errorf("the server's tokenizer: %w", err)
	}
	trial, err := s.writer.Text(ctx, prompt.Key{Context: trialTokens, Purpose: prompt.Trial}, trialTokens, 0)
	if err != nil {
		return err
	}
	counted, err := s.server.Count(ctx, trial.Text)
	if err != nil {
		return err
	}
	reported, err := s.reportedTokens(ctx, trial.Text)
	if errors.Is(err, errNoUsage) {
		return nil // the tokenizer's count stands, without the template's few tokens
	}
	if err != nil {
		return err
	}
	s.writer.SetOverhead(reported - counted)
	return nil
}

// count asks the server's tokenizer. A server that cannot be reached may come back: the loader is told so.
func (s *sizer) count(ctx context.Context, text string) (int, error) {
	n, err := s.server.Count(ctx, text)
	if away := new(probe.UnreachableError); errors.As(err, &away) {
		err = fmt.Errorf("%w: %w", load.ErrAway, err)
	}
	return n, err
}

func (s *sizer) byUsage(ctx context.Context) error {
	var samples [2]prompt.Measured
	for i, text := range s.calibrationTexts() {
		n, err := s.reportedTokens(ctx, text)
		if err != nil {
			return err
		}
		samples[i] = prompt.Measured{Text: text, Tokens: n}
	}
	var err error
	s.writer, err = prompt.NewCalibrated(s.seed, samples)
	return err
}

// calibrationTexts are two texts of known words that the server's limit takes.
func (s *sizer) calibrationTexts() [2]string {
	if limit := s.limit; limit != nil {
		return prompt.CalibrationTextsWithin(s.seed, int(*limit))
	}
	return prompt.CalibrationTexts(s.seed)
}

// errNoUsage says that the server does not tell how many tokens a prompt has.
var errNoUsage = errors.New("the server reports no usage and has no tokenizer, so prompts cannot be made of a known length; serve it with usage in streams")

// reportedTokens sends a prompt for one token and returns the server's count of its tokens.
func (s *sizer) reportedTokens(ctx context.Context, text string) (int, error) {
	conn, err := s.client.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	r := conn.Do(ctx, s.client.Prepare(client.Request{Prompt: text, MaxTokens: 1, Temperature: s.cfg.Temperature, IgnoreEOS: true, ContinuousUsage: true}), &client.Live{}).Record
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case r.Outcome != event.OK:
		return 0, fmt.Errorf("a first request failed (%s): %s", r.Outcome, orNone(r.Error))
	case r.PromptTokens == nil:
		return 0, errNoUsage
	}
	return int(*r.PromptTokens), nil
}

func orNone(s *string) string {
	if s == nil {
		return "no message"
	}
	return *s
}

// text writes a prompt; it is the loader's Prompt.
func (s *sizer) text(ctx context.Context, key prompt.Key, tokens, extra int) (prompt.Prompt, error) {
	return s.writer.Text(ctx, key, tokens, extra)
}

// reported corrects the length of a context's prompts once, when the server counted it otherwise than aimed at. A
// count too far off to be a correction leaves the prompts as they are; the page then warns of their length.
func (s *sizer) reported(context, tokens int) bool {
	if s.corrected[context] || tokens == context {
		return false
	}
	s.corrected[context] = true
	return s.writer.Correct(context, tokens) == nil
}
