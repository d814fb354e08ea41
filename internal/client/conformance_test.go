package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

const conformanceFile = "../../docs/conformance.md"

const conformanceHead = `# Streams as servers send them, and what this client says of each

Written by ` + "`go test ./internal/client -run TestConformance -update`" + `; a test fails when it is stale. Each row is replayed
by a scripted server: in virtual time (the numbers below, exact), over a real socket, and cut in two at every
offset of its bytes (same answer each time). The reference stream has 20 tokens, the first 50 ms after
the request, then one every 10 ms, so the last at 240 ms. Times are in milliseconds from the request;
"between tokens" is (last - first) / (tokens after the first chunk); TTFO (first token that is not
reasoning) is given where it differs from TTFT. In brackets: how tokens were counted.

| stream | case | answer of this client |
|---|---|---|
`

const othersHead = `
## What other clients report of the same bytes

The same server over a real socket, driven by tests/conformance/others.py on the dates given: three requests a row with
GuideLLM and AIPerf, one with llama-benchy, none at the same time. A cell is what that client reported: result, output
tokens, the smallest TTFT of its requests in milliseconds (the machine was busy with other work), its error, cut at 90
characters. "right" and "wrong" compare it with the table above: success or failure, the tokens, and TTFT within 20 ms.
Nothing else is compared, so "right" says nothing of times between tokens, of end to end, of what became of tokens before
a failure, or of the kind of error.

* GuideLLM was asked for 20 tokens a request. It reported 20 also of two streams without usage that had 4 and 100 tokens, so
  its 20 of the other streams without usage (most rows) need not be a count.
* AIPerf counts the text with a tokenizer (its default), here one that counts words.
* llama-benchy's TTFT is its ` + "`" + `e2e_ttft` + "`" + `; a count of tokens was not read from it. "errored" means that it wrote no
  result.
* Tokens are not compared where the words are not the tokens, or where the right answer is an estimate (U+2028, 3 MB, tool
  calls, no usage, a split rune).
* "not run": the row was not run with that client. The stream that hangs was run with none: no time limit was set that would end it.

`

// otherClients writes the table of what others reported.
func otherClients(t *testing.T, b *bytes.Buffer, cell func(string) string) {
	clients, all := others(t)
	b.WriteString(othersHead + "| stream | case | " + strings.Join(clients, " | ") + " |\n|---|---|" + strings.Repeat("---|", len(clients)) + "\n")
	for _, r := range rows() {
		fmt.Fprintf(b, "| %s | %s |", r.stream, cell(r.variant))
		for _, c := range clients {
			fmt.Fprintf(b, " %s |", cell(cellOf(c, all, r)))
		}
		b.WriteString("\n")
	}
}

// elsewhere are the variants of rows that cannot be replayed on a plain connection, with the tests that hold them.
func elsewhere() [][2]string {
	return [][2]string{
		{"connection reset halfway; TLS closed without notify", "TLS closed without notify: `reset`, tokens so far kept (TestTLSEnds)"},
		{"gzip or brotli response, HTTP/2, chunked with trailers", "HTTP/2: the same 20 tokens (TestTLS)"},
		{"HTTP 400 (context too long), 401, 403, 404 (model), 429 with Retry-After, 500, 502, 503", "Retry-After in seconds and as a date (TestRetryAfter)"},
	}
}

func TestConformance(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(conformanceHead)
	cell := func(s string) string {
		s = strings.ReplaceAll(s, "|", `\|`)
		return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s)
	}
	for _, r := range rows() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.stream, cell(r.variant), cell(answer(r.virtual(t), true)))
	}
	otherClients(t, &b, cell)
	b.WriteString("\nHeld by tests of their own:\n\n")
	for _, e := range elsewhere() {
		fmt.Fprintf(&b, "* %s: %s\n", e[0], e[1])
	}
	if *update {
		if err := os.WriteFile(conformanceFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(conformanceFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is stale; run this test with -update and read the difference", conformanceFile)
	}
}

// streamNames are the rows of the table of streams that this package answers for. All must be replayed.
func streamNames() []string {
	return []string{
		"role-only first chunk at 2 ms, empty content",
		"an empty first delta, then a long wait",
		"four tokens in a chunk (speculative decoding), usage per chunk",
		"the same with a final usage only",
		"the same with no usage at all",
		"first chunk bundles several tokens",
		"reasoning only (`reasoning_content`, or `reasoning`)",
		"half reasoning, half content",
		"tool-call deltas (`delta.tool_calls`)",
		"a `: keep-alive` comment between events, also before the first",
		"`data:{…}` without the space",
		"CRLF line ends; lone CR; LF and CRLF mixed in one read",
		"an event, or a rune, split across reads; a split next to a space",
		"several events in one read",
		"U+2028, U+0085, form feed inside the JSON text",
		"an event of several `data:` lines; `event:`, `id:`, `retry:` fields",
		"a last event without its blank line; a bare `{\"error\":…}` line",
		"a chunk of 3 MB",
		"usage chunk with `choices: []`; `usage: null` in every chunk; `choices` with `null` delta",
		"usage 500 ms after the last token; server lingers 500 ms after `[DONE]`",
		"no `[DONE]`, stream closed cleanly after a finish reason",
		"closed without a finish reason",
		"connection reset halfway; TLS closed without notify",
		"`{\"error\":{…}}` as an event in a 200 stream, or as the last line without `data:`",
		"HTTP 200 with `text/html`",
		"HTTP 400 (context too long), 401, 403, 404 (model), 429 with Retry-After, 500, 502, 503",
		"no bytes for `--timeout`",
		"stops at 10 of 20 tokens, `finish_reason: stop`",
		"gzip or brotli response, HTTP/2, chunked with trailers",
		"proxy that buffers 1 s of chunks",
		"`completion_tokens` that goes down or repeats",
		"model name wrong, several models served and none named",
	}
}

func TestEveryStreamIsReplayed(t *testing.T) {
	var have []string
	for _, r := range rows() {
		if !slices.Contains(have, r.stream) {
			have = append(have, r.stream)
		}
	}
	if want := streamNames(); !slices.Equal(have, want) {
		t.Errorf("replayed:\n%s\nwant:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
