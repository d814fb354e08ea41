package eventlog

import (
	"bytes"
	"fmt"
)

// checkNesting refuses TOML that nests deeper than maxNesting, or whose keys have more parts than that. The parser
// recurses once a level, and a stack that overflows ends the process: no recover can hold it. Strings and comments are
// skipped by the rules of TOML; where those are broken the parser stops at that place as well.
func checkNesting(b []byte) error {
	depth, dots, line := 0, 0, 1
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '.':
			dots++
		case '\n':
			line++
			dots = 0
		case '#':
			i += lineLeft(b[i:])
			continue
		case '"', '\'':
			n := stringLen(b[i:], c)
			line += bytes.Count(b[i:i+n], []byte("\n"))
			i += n
			continue
		}
		if depth > maxNesting || dots > maxNesting {
			return fmt.Errorf("run.toml: line %d: nested deeper than %d", line, maxNesting)
		}
		i++
	}
	return nil
}

// lineLeft is the length of b up to its first line end.
func lineLeft(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return n
	}
	return len(b)
}

// stringLen is the length of the TOML string at the start of b, with its quotes. A one-line string that is not closed
// ends with its line.
func stringLen(b []byte, quote byte) int {
	triple := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(b, triple)
	i := 1
	if long {
		i = 3
	}
	for i < len(b) {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case !long && (b[i] == quote || b[i] == '\n'):
			if b[i] == quote {
				i++
			}
			return i
		case long && bytes.HasPrefix(b[i:], triple):
			i += 3
			for range 2 { // up to two quotes may stand before the closing three
				if i < len(b) && b[i] == quote {
					i++
				}
			}
			return i
		}
		i++
	}
	return len(b)
}
