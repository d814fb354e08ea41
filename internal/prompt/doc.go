// Package prompt writes prompts of an exact token count: seeded, varied, never periodic.
//
// A prompt is, in this order:
//
//  1. a tag of 15 digits that no other prompt of the run has, so that nothing of it is in a prefix cache;
//  2. a body of ordinary sentences;
//  3. with a tokenizer, a few filler words that bring the length to the token;
//  4. for a staggered start, extra text: what stands before it is the same as without, hence a cache hit;
//  5. an instruction that asks for a long answer.
//
// The body's words are dealt from shuffled decks: two prompts of one length hold the same words in a different
// order. So their token counts hardly differ, and what was learnt about one length (a correction, a number of
// words) holds for every prompt of it.
//
// Lengths come from the server's own tokenizer ([NewTokenized]), else from the prompt tokens that it reported for
// two texts ([NewCalibrated]). A text is a function of seed, key and what was counted or reported; the package
// reads no clock, no file and no network, and starts no goroutine.
package prompt
