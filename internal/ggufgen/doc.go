// Package ggufgen writes a small language model with random weights in GGUF version 3 (the file format of
// llama.cpp), so that tests can run a real llama-server without downloading a model.
//
//  1. vocabulary makes a SentencePiece-style list of tokens: control, the 256 bytes, ASCII, made-up words.
//  2. Config.metadata describes a llama architecture and its tokenizer.
//  3. Config.tensors lists the weights, each a function of its index that draws from one seeded source.
//  4. Write encodes header, metadata, tensor table and data, in that order, to a stream.
//
// The text that such a model makes has no meaning, but its length is exact: channel 0 of the residual stream
// is held constant, and the output layer uses it to make byte and control tokens (among them the end of the
// sequence) improbable. The file is a function of Config alone, to the byte.
//
// It trains nothing, reads no model and is linked into neither program.
package ggufgen
