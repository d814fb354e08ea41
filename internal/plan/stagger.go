package plan

import "math/rand/v2"

// StaggerOffsets returns u_i = (i + 1/2) / C for the C streams of a cell, dealt out in an order that the seed
// gives; the index is the stream. The first request of a stream carries u x output extra prompt tokens and asks
// for (1 - u) x output, so that the streams stand at evenly spread positions from the first moment
// (METRICS, "How a cell runs", 4). Below 1 stream the result is empty.
func StaggerOffsets(concurrency int, seed uint64) []float64 {
	if concurrency < 1 {
		return nil
	}
	offsets := make([]float64, concurrency)
	for stream, i := range rand.New(rand.NewPCG(seed, uint64(concurrency))).Perm(concurrency) {
		offsets[stream] = (float64(i) + 0.5) / float64(concurrency)
	}
	return offsets
}
