package client

import (
	"bytes"
	"fmt"

	"speedmatrix/internal/sse"
)

// lineParser cuts newline-delimited JSON into lines. Like sse.Parser it copies only what is split over reads.
type lineParser struct {
	in   []byte
	line []byte
	used bool // line was handed out
}

func (p *lineParser) feed(b []byte) { p.in = b }

// next returns the next whole line; it is valid until the next call.
func (p *lineParser) next() ([]byte, bool, error) {
	if p.used {
		p.line, p.used = p.line[:0], false
	}
	end := bytes.IndexByte(p.in, '\n')
	if end < 0 {
		end = len(p.in)
	}
	if len(p.line)+end > sse.DefaultMax {
		return nil, false, fmt.Errorf("a line is longer than %d bytes", sse.DefaultMax)
	}
	if end == len(p.in) {
		p.line, p.in = append(p.line, p.in...), nil
		return nil, false, nil
	}
	line := p.in[:end]
	if len(p.line) > 0 {
		p.line = append(p.line, line...)
		line, p.used = p.line, true
	}
	p.in = p.in[end+1:]
	return line, true, nil
}

// rest is the last line, which has no end.
func (p *lineParser) rest() []byte { return p.line }

func (p *lineParser) reset() {
	if cap(p.line) > 1<<20 {
		p.line = nil
	}
	*p = lineParser{line: p.line[:0]}
}
