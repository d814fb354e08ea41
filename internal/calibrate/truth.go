package calibrate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"speedmatrix/internal/simengine"
)

// maxLine bounds a line of the engine's log, in bytes: some 200,000 tokens.
const maxLine = 8 << 20

// readTruth reads the engine's log.
func readTruth(path string) (map[string]simengine.Served, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the engine's log: %w", err)
	}
	defer func() { _ = f.Close() }()
	return parseTruth(f)
}

// parseTruth reads one request a line, by its id. An id that comes twice is an error: it could not be matched.
func parseTruth(r io.Reader) (map[string]simengine.Served, error) {
	out := map[string]simengine.Served{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var s simengine.Served
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("the engine's log, line %d: %w", n, err)
		}
		if _, twice := out[s.ID]; twice {
			return nil, fmt.Errorf("the engine's log, line %d: request %q stands there twice", n, s.ID)
		}
		out[s.ID] = s
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the engine's log: %w", err)
	}
	return out, nil
}
