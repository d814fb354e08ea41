package client_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"speedmatrix/internal/client"
)

// row is one stream of STREAMS.md, or one variant of it, with its right answer.
type row struct {
	stream  string // the row's name, to the letter
	variant string
	script  script
	want    string // as answer prints it, in virtual time
	request client.Request
	config  client.Config
}

const ms = time.Millisecond

// done ends every well-behaved stream.
const done = "data: [DONE]\n\n"

// chunkOf is a usual event of a chat stream. usage is JSON, "" for none.
func chunkOf(delta, finish, usage string) string {
	if finish != "null" {
		finish = strconv.Quote(finish)
	}
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}`+"\n\n", delta, finish, usage)
}

func content(text string) string { return chunkOf(`{"content":`+strconv.Quote(text)+`}`, "null", "") }

func finish(reason string) string { return chunkOf(`{}`, reason, "") }

func usageOf(tokens int) string {
	return fmt.Sprintf(`{"prompt_tokens":7,"completion_tokens":%d,"total_tokens":%d}`, tokens, 7+tokens)
}

func usageChunk(tokens int) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","choices":[],"usage":` + usageOf(tokens) + "}\n\n"
}

// reference are the writes of 20 events, the first 50 ms after the request, then one every 10 ms.
func reference(event func(i int) string) []write { return every(20, event) }

func every(n int, event func(i int) string) []write {
	var out []write
	for i := range n {
		out = append(out, write{50*ms + time.Duration(i)*10*ms, event(i)})
	}
	return out
}

// word is the text of token i: two to four characters.
func word(i int) string { return " w" + strconv.Itoa(i) }

func words(from, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(word(from + i))
	}
	return b.String()
}

func plain(i int) string { return content(word(i)) }

// then appends what comes with the last write.
func then(w []write, more string) []write {
	out := append([]write(nil), w...)
	out[len(out)-1].body += more
	return out
}

func at(when time.Duration, body string) []write { return []write{{when, body}} }

func cat(parts ...[]write) []write {
	var out []write
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// mapped changes every write.
func mapped(w []write, change func(string) string) []write {
	out := append([]write(nil), w...)
	for i := range out {
		out[i].body = change(out[i].body)
	}
	return out
}

func replacing(old, new string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

const (
	exact     = "; TTFT 50; between tokens 10; end to end 240"
	twenty    = "ok; 20 tokens in 20 chunks (chunks); finish length" + exact
	fourAtime = "; TTFT 50; between tokens 2.5; end to end 90"
)

// rows are all of them that can be replayed on a plain connection.
func rows() []row {
	plainEnd := finish("length") + done
	good := then(reference(plain), plainEnd)
	four := every(5, func(i int) string { return content(words(10+4*i, 4)) }) // all of one length
	half := reference(func(i int) string {
		if i < 10 {
			return chunkOf(`{"reasoning_content":"`+word(i)+`"}`, "null", "")
		}
		return plain(i)
	})
	big := strings.Repeat("0123456789abcdef", 3<<16)

	return []row{
		{stream: "role-only first chunk at 2 ms, empty content",
			script: script{writes: cat(at(2*ms, chunkOf(`{"role":"assistant","content":""}`, "null", "")), good)}, want: twenty},
		{stream: "an empty first delta, then a long wait",
			script: script{writes: cat(at(2*ms, chunkOf(`{}`, "null", "")), at(3*ms, content("")), good)}, want: twenty},

		{stream: "four tokens in a chunk (speculative decoding), usage per chunk",
			script: script{writes: then(every(5, func(i int) string {
				return chunkOf(`{"content":"`+words(4*i, 4)+`"}`, "null", usageOf(4*i+4))
			}), chunkOf(`{}`, "length", usageOf(20))+usageChunk(20)+done)},
			want: "ok; 20 tokens in 5 chunks (usage-per-chunk); finish length" + fourAtime},
		{stream: "the same with a final usage only",
			script: script{writes: then(four, finish("length")+usageChunk(20)+done)},
			want:   "ok; 20 tokens in 5 chunks (usage-final); finish length" + fourAtime},
		{stream: "the same with no usage at all",
			script: script{writes: then(four, plainEnd)},
			want:   "ok; 5 tokens in 5 chunks (chunks); finish length; TTFT 50; between tokens 10; end to end 90"},
		{stream: "first chunk bundles several tokens",
			script: script{writes: then(every(16, func(i int) string {
				if i == 0 {
					return chunkOf(`{"content":"`+words(0, 5)+`"}`, "null", usageOf(5))
				}
				return chunkOf(`{"content":"`+word(i)+`"}`, "null", usageOf(5+i))
			}), plainEnd)},
			want: "ok; 20 tokens in 16 chunks (usage-per-chunk); finish length; TTFT 50; between tokens 10; end to end 200"},

		{stream: "reasoning only (`reasoning_content`, or `reasoning`)", variant: "reasoning_content",
			script: script{writes: then(mapped(reference(plain), replacing(`"content"`, `"reasoning_content"`)), plainEnd)},
			want:   "ok; 20 tokens in 20 chunks (chunks); finish length; TTFT 50; TTFO unknown; between tokens 10; end to end 240"},
		{stream: "reasoning only (`reasoning_content`, or `reasoning`)", variant: "reasoning",
			script: script{writes: then(mapped(reference(plain), replacing(`"content"`, `"content":null,"reasoning"`)), plainEnd)},
			want:   "ok; 20 tokens in 20 chunks (chunks); finish length; TTFT 50; TTFO unknown; between tokens 10; end to end 240"},
		{stream: "reasoning only (`reasoning_content`, or `reasoning`)", variant: "the same text under both names",
			script: script{writes: then(reference(func(i int) string {
				return chunkOf(`{"reasoning":"`+word(i)+`","reasoning_content":"`+word(i)+`"}`, "null", "")
			}), plainEnd)},
			want: "ok; 20 tokens in 20 chunks (chunks); finish length; TTFT 50; TTFO unknown; between tokens 10; end to end 240"},
		{stream: "half reasoning, half content",
			script: script{writes: then(half, plainEnd)},
			want:   "ok; 20 tokens in 20 chunks (chunks); finish length; TTFT 50; TTFO 150; between tokens 10; end to end 240"},
		{stream: "tool-call deltas (`delta.tool_calls`)",
			script: script{writes: then(reference(func(i int) string {
				call := `"function":{"arguments":"` + word(i) + `"}`
				if i == 0 {
					call = `"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}`
				}
				return chunkOf(`{"tool_calls":[{"index":0,`+call+`}]}`, "null", "")
			}), finish("tool_calls")+done)},
			want: "ok; 20 tokens in 20 chunks (chunks); finish tool_calls" + exact},

		{stream: "a `: keep-alive` comment between events, also before the first",
			script: script{writes: cat(at(5*ms, ": keep-alive\n\n"), mapped(good, func(s string) string { return s + ": keep-alive\n\n" }))}, want: twenty},
		{stream: "`data:{…}` without the space",
			script: script{writes: mapped(good, replacing("data: ", "data:"))}, want: twenty},
		{stream: "CRLF line ends; lone CR; LF and CRLF mixed in one read", variant: "CRLF",
			script: script{writes: mapped(good, replacing("\n", "\r\n"))}, want: twenty},
		{stream: "CRLF line ends; lone CR; LF and CRLF mixed in one read", variant: "lone CR",
			script: script{writes: mapped(good, replacing("\n", "\r"))}, want: twenty},
		{stream: "CRLF line ends; lone CR; LF and CRLF mixed in one read", variant: "mixed",
			script: script{writes: mapped(good, replacing("\n\n", "\r\n\n"))}, want: twenty},

		{stream: "an event, or a rune, split across reads; a split next to a space", variant: "event, half 5 ms late",
			script: script{writes: cat(
				reference(plain)[:19],
				at(225*ms, strings.TrimSuffix(plain(19), ` w19"},"finish_reason":null}]}`+"\n\n")),
				at(240*ms, ` w19"},"finish_reason":null}]}`+"\n\n"+plainEnd))}, want: twenty},
		{stream: "an event, or a rune, split across reads; a split next to a space", variant: "rune",
			script: script{writes: cat(
				reference(plain)[:19], at(225*ms, content("é")[:len(content(""))-len(`"},"finish_reason":null}]}`+"\n\n")+1]),
				at(240*ms, content("é")[len(content(""))-len(`"},"finish_reason":null}]}`+"\n\n")+1:]+plainEnd))}, want: twenty},
		{stream: "an event, or a rune, split across reads; a split next to a space", variant: "before the space of data:",
			script: script{writes: cat(reference(plain)[:19], at(225*ms, "data:"), at(240*ms, plain(19)[5:]+plainEnd))}, want: twenty},
		{stream: "several events in one read",
			script: script{writes: cat(at(50*ms, plain(0)), at(240*ms, strings.Join([]string{plain(1), plain(2), plain(3)}, "")+plainEnd))},
			want:   "ok; 4 tokens in 4 chunks (chunks); finish length; TTFT 50; between tokens 63.33; end to end 240; 1 reads merged arrivals"},
		{stream: "U+2028, U+0085, form feed inside the JSON text",
			script: script{writes: then(reference(func(i int) string {
				return chunkOf(`{"content":"a`+"\u2028b\u0085c"+`\f"}`, "null", "")
			}), plainEnd)}, want: twenty},
		{stream: "an event of several `data:` lines; `event:`, `id:`, `retry:` fields",
			script: script{writes: mapped(good, func(s string) string {
				return "event: message\nid: 7\nretry: 1000\n" + strings.Replace(s, `"choices"`, "\ndata: \"choices\"", 1)
			})}, want: twenty},

		{stream: "a last event without its blank line; a bare `{\"error\":…}` line", variant: "last event",
			script: script{writes: then(reference(plain), strings.TrimSuffix(finish("length"), "\n"))}, want: twenty},
		{stream: "a last event without its blank line; a bare `{\"error\":…}` line", variant: "last event with a token, without any line end",
			script: script{writes: cat(reference(plain)[:19], at(240*ms, strings.TrimSuffix(plain(19), "\n\n")))},
			want:   "truncated: stream ended without a finish reason; 20 tokens in 20 chunks (chunks)" + exact},
		{stream: "a last event without its blank line; a bare `{\"error\":…}` line", variant: "last event cut inside",
			script: script{writes: cat(reference(plain), at(245*ms, plain(20)[:40])), end: endClose},
			want:   "truncated: stream ended without a finish reason; 20 tokens in 20 chunks (chunks)" + exact},
		{stream: "a last event without its blank line; a bare `{\"error\":…}` line", variant: "bare error",
			script: script{writes: then(reference(plain), `{"error":{"message":"out of memory","code":500}}`+"\n")},
			want:   "error-in-stream: out of memory; 20 tokens in 20 chunks (chunks)" + exact},

		{stream: "a chunk of 3 MB",
			script: script{writes: cat(at(50*ms, plain(0)), at(240*ms, content(big)+plainEnd))},
			want:   "ok; 2 tokens in 2 chunks (chunks); finish length; TTFT 50; between tokens 190; end to end 240"},
		{stream: "usage chunk with `choices: []`; `usage: null` in every chunk; `choices` with `null` delta",
			script: script{writes: then(reference(func(i int) string {
				return chunkOf("null", "null", "null") + chunkOf(`{"content":"`+word(i)+`"}`, "null", "null")
			}), finish("length")+usageChunk(20)+done)},
			want: "ok; 20 tokens in 20 chunks (usage-final); finish length" + exact},
		{stream: "usage 500 ms after the last token; server lingers 500 ms after `[DONE]`",
			script: script{writes: cat(then(reference(plain), finish("length")), at(740*ms, usageChunk(20)+done), at(1240*ms, ": bye\n\n"))},
			want:   "ok; 20 tokens in 20 chunks (usage-final); finish length" + exact},
		{stream: "no `[DONE]`, stream closed cleanly after a finish reason", variant: "chunked",
			script: script{writes: then(reference(plain), finish("length"))}, want: twenty},
		{stream: "no `[DONE]`, stream closed cleanly after a finish reason", variant: "connection closed",
			script: script{writes: then(reference(plain), finish("length")), plain: true}, want: twenty},
		{stream: "closed without a finish reason",
			script: script{writes: reference(plain)[:10], end: endClose},
			want:   "truncated: stream ended without a finish reason; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"},
		{stream: "connection reset halfway; TLS closed without notify", variant: "reset",
			script: script{writes: reference(plain)[:10], end: endReset},
			want:   "reset: connection reset; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"},
		{stream: "`{\"error\":{…}}` as an event in a 200 stream, or as the last line without `data:`", variant: "event",
			script: script{writes: cat(reference(plain)[:10], at(145*ms, `data: {"error":{"message":"CUDA out of memory","type":"server_error"}}`+"\n\n"+done))},
			want:   "error-in-stream: CUDA out of memory; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"},
		{stream: "`{\"error\":{…}}` as an event in a 200 stream, or as the last line without `data:`", variant: "last line",
			script: script{writes: cat(reference(plain)[:10], at(145*ms, `{"error":{"message":"CUDA out of memory"}}`)), end: endClose},
			want:   "error-in-stream: CUDA out of memory; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"},
		{stream: "`{\"error\":{…}}` as an event in a 200 stream, or as the last line without `data:`", variant: "event: error",
			script: script{writes: at(50*ms, "event: error\ndata: {\"message\":\"no slot\"}\n\n")},
			want:   "error-in-stream: no slot; 0 tokens in 0 chunks (unknown)"},
		{stream: "`{\"error\":{…}}` as an event in a 200 stream, or as the last line without `data:`", variant: "the error: field of llama.cpp",
			script: script{writes: at(50*ms, "error: {\"code\":500,\"message\":\"failed to decode\"}\n\n")},
			want:   "error-in-stream: failed to decode; 0 tokens in 0 chunks (unknown)"},
		{stream: "HTTP 200 with `text/html`",
			script: script{header: "Content-Type: text/html; charset=utf-8\r\n", writes: at(0, "<!doctype html><title>Welcome</title>")},
			want:   `not-a-stream: answer is text/html: "<!doctype html><title>Welcome</title>"; 0 tokens in 0 chunks (unknown)`},

		refusal("400 Bad Request", "", `{"error":{"message":"maximum context length is 2048 tokens","type":"BadRequestError","code":400}}`,
			"bad-request: http 400: maximum context length is 2048 tokens"),
		refusal("401 Unauthorized", "", `{"error":"Unauthorized"}`, "unauthorized: http 401: Unauthorized"),
		refusal("403 Forbidden", "", `{"detail":"no access"}`, "unauthorized: http 403: no access"),
		refusal("404 Not Found", "", `{"object":"error","message":"The model `+"`x`"+` does not exist.","code":404}`, "not-found: http 404: The model `x` does not exist."),
		refusal("429 Too Many Requests", "Retry-After: 7\r\n", `{"error":{"message":"slow down"}}`, "rate-limited: http 429: slow down"),
		refusal("500 Internal Server Error", "", "Internal Server Error", "server-error: http 500: Internal Server Error"),
		refusal("502 Bad Gateway", "Content-Type: text/html\r\n", "<html>\r\n<h1>502 Bad Gateway</h1>\r\n</html>", "server-error: http 502: <html> <h1>502 Bad Gateway</h1> </html>"),
		refusal("503 Service Unavailable", "Retry-After: 7\r\n", `{"error":{"message":"loading model"}}`, "server-error: http 503: loading model"),

		{stream: "no bytes for `--timeout`",
			script: script{writes: reference(plain)[:10], end: endHang}, config: client.Config{Timeout: 300 * ms},
			want: "stalled: no bytes for 300ms; 10 tokens in 10 chunks (chunks); TTFT 50; between tokens 10; end to end 140"},
		{stream: "stops at 10 of 20 tokens, `finish_reason: stop`",
			script: script{writes: then(reference(plain)[:10], finish("stop")+usageChunk(10)+done)}, request: client.Request{MaxTokens: 20},
			want: "ok; 10 tokens in 10 chunks (usage-final); finish stop; TTFT 50; between tokens 10; end to end 140"},
		{stream: "gzip or brotli response, HTTP/2, chunked with trailers", variant: "trailers",
			script: script{writes: good, trail: "Server-Timing: a;dur=1\r\nX-Checksum: 1234\r\n"}, want: twenty},
		{stream: "gzip or brotli response, HTTP/2, chunked with trailers", variant: "gzip",
			script: script{header: "Content-Encoding: gzip\r\n", writes: compressed(good, gzipper)}, want: twenty},
		{stream: "gzip or brotli response, HTTP/2, chunked with trailers", variant: "brotli",
			script: script{header: "Content-Encoding: br\r\n", writes: compressed(good, brotlier)}, want: twenty},
		{stream: "proxy that buffers 1 s of chunks",
			script: script{writes: cat(at(1000*ms, joined(0, 50)), at(2000*ms, joined(50, 50)+plainEnd))},
			want:   "ok; 100 tokens in 100 chunks (chunks); finish length; TTFT 1000; between tokens 10.1; end to end 2000; 2 reads merged arrivals"},
		{stream: "`completion_tokens` that goes down or repeats", variant: "goes down",
			script: script{writes: then(reference(func(i int) string {
				n := i + 1
				if i%5 == 4 {
					n = 2
				}
				return chunkOf(`{"content":"`+word(i)+`"}`, "null", usageOf(n))
			}), chunkOf(`{}`, "length", usageOf(20))+done)},
			want: "ok; 20 tokens in 21 chunks (usage-per-chunk); finish length" + exact + "; 1 reads merged arrivals"},
		{stream: "`completion_tokens` that goes down or repeats", variant: "repeats",
			script: script{writes: then(reference(func(i int) string {
				return chunkOf(`{"content":"`+word(i)+`"}`, "null", usageOf(2*(i/2)+2))
			}), plainEnd)},
			want: "ok; 20 tokens in 20 chunks (usage-per-chunk); finish length; TTFT 50; between tokens 10.56; end to end 240"},
		{stream: "model name wrong, several models served and none named", variant: "what the stream's server says; package probe lists the models",
			script: script{status: "404 Not Found", header: "Content-Type: application/json\r\n", writes: at(0, `{"error":{"message":"model 'm' not found, try pulling it first"}}`)},
			want:   "not-found: http 404: model 'm' not found, try pulling it first; 0 tokens in 0 chunks (unknown)"},
	}
}

func joined(from, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(plain(from + i))
	}
	return b.String()
}

func refusal(status, header, body, want string) row {
	if !strings.Contains(header, "Content-Type") {
		header += "Content-Type: application/json\r\n"
	}
	return row{
		stream:  "HTTP 400 (context too long), 401, 403, 404 (model), 429 with Retry-After, 500, 502, 503",
		variant: status[:3],
		script:  script{status: status, header: header, writes: at(0, body)},
		want:    want + "; 0 tokens in 0 chunks (unknown)",
	}
}
