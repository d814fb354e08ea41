package simengine

import (
	"encoding/json"
	"strconv"
	"time"
)

// answer is one answer on its way out: what its events say about it.
type answer struct {
	id      string
	model   string
	created int64

	usage      bool // the stream ends with a usage
	continuous bool // every event carries one
	noCached   bool // the usage does not tell cached tokens
	noUsage    bool // tokens are not told at all, not even where the API always tells them

	promptTokens, cachedTokens, made int
	started, first, last             time.Time // the engine took it; its first and latest token
}

// encoder writes an answer in one API's form. Each method appends events to b; stamp is the last field of every one.
type encoder interface {
	contentType() string
	open(b []byte, a *answer) []byte                       // once, before the first token
	token(b []byte, a *answer, text, finish string) []byte // finish comes with the last token, else ""
	close(b []byte, a *answer, finish string) []byte       // once, after the last token
	whole(b []byte, a *answer, text, finish string) []byte // the answer of a request that does not stream
	failure(b []byte, message string) []byte               // an error inside the stream
}

// appendStamp appends the send stamp, a field that no real server has.
func appendStamp(b []byte) []byte {
	b = append(b, `,"speedmatrix":{"sent_ns":`...)
	b = strconv.AppendInt(b, time.Now().UnixNano(), 10)
	return append(b, '}')
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

// wire holds how a dialect's OpenAI-compatible streams differ.
type wire struct {
	roleApart    bool   // the role comes in a chunk of its own, before the first token
	finishApart  bool   // the finish reason comes in a chunk without text
	usageNull    bool   // chunks without a usage say "usage":null
	usageInLast  bool   // completions: usage in the chunk with the finish reason instead of one of its own
	timings      bool   // llama.cpp's timings beside the usage
	choiceFields string // further fields of each choice
	chunkFields  string // further fields of each chunk
}

// openAI encodes chat.completion.chunk and text_completion events.
type openAI struct {
	wire
	chat bool
	head []byte // up to the choices
}

func newOpenAI(w wire, k kind, a *answer) *openAI {
	object := "chat.completion.chunk"
	if k == kindCompletion {
		object = "text_completion"
	}
	head := `data: {"id":` + quote(a.id) + `,"object":"` + object + `","created":` + strconv.FormatInt(a.created, 10) +
		`,"model":` + quote(a.model) + w.chunkFields + `,"choices":[`
	return &openAI{wire: w, chat: k == kindChat, head: []byte(head)}
}

func (o *openAI) contentType() string { return "text/event-stream; charset=utf-8" }

func (o *openAI) open(b []byte, a *answer) []byte {
	if !o.chat || !o.roleApart {
		return b
	}
	b = append(b, o.head...)
	b = append(b, `{"index":0,"delta":{"role":"assistant","content":""}`...)
	b = o.finishField(b, "")
	return o.end(b, a, a.continuous)
}

func (o *openAI) token(b []byte, a *answer, text, finish string) []byte {
	b = append(b, o.head...)
	switch {
	case !o.chat:
		b = append(b, `{"index":0,"text":"`...)
		b = append(b, text...)
		b = append(b, '"')
	case o.roleApart:
		b = append(b, `{"index":0,"delta":{"content":"`...)
		b = append(b, text...)
		b = append(b, `"}`...)
	default:
		b = append(b, `{"index":0,"delta":{"role":"assistant","content":"`...)
		b = append(b, text...)
		b = append(b, `"}`...)
	}
	if o.finishApart {
		finish = ""
	}
	b = o.finishField(b, finish)
	return o.end(b, a, a.continuous)
}

func (o *openAI) close(b []byte, a *answer, finish string) []byte {
	last := o.usageInLast && !o.chat && !a.noUsage
	if o.finishApart {
		b = append(b, o.head...)
		if o.chat {
			b = append(b, `{"index":0,"delta":{}`...)
		} else {
			b = append(b, `{"index":0,"text":""`...)
		}
		b = o.finishField(b, finish)
		b = o.end(b, a, a.continuous || last)
	}
	if a.usage && !last {
		b = append(b, o.head...)
		b = append(b, ']')
		b = o.appendUsage(b, a, true)
		b = appendStamp(b)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func (o *openAI) finishField(b []byte, finish string) []byte {
	b = append(b, o.choiceFields...)
	b = append(b, `,"finish_reason":`...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendQuote(b, finish)
	}
	return append(b, '}')
}

// end closes the choices and the event.
func (o *openAI) end(b []byte, a *answer, usage bool) []byte {
	b = append(b, ']')
	switch {
	case usage:
		b = o.appendUsage(b, a, false)
	case o.usageNull:
		b = append(b, `,"usage":null`...)
	}
	b = appendStamp(b)
	return append(b, "}\n\n"...)
}

// appendUsage appends the usage; only a final one tells cached tokens, as in vLLM.
func (o *openAI) appendUsage(b []byte, a *answer, final bool) []byte {
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(a.promptTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(a.promptTokens+a.made), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(a.made), 10)
	if (final || o.usageInLast) && !a.noCached {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(a.cachedTokens), 10)
		b = append(b, '}')
	}
	b = append(b, '}')
	if o.timings {
		b = appendTimings(b, a)
	}
	return b
}

// appendTimings appends what llama.cpp tells beside the usage.
func appendTimings(b []byte, a *answer) []byte {
	prompt, predicted := a.first.Sub(a.started), a.last.Sub(a.first)
	field := func(name string, v float64) {
		b = append(b, name...)
		b = strconv.AppendFloat(b, v, 'f', 3, 64)
	}
	n := a.promptTokens - a.cachedTokens
	b = append(b, `,"timings":{"cache_n":`...)
	b = strconv.AppendInt(b, int64(a.cachedTokens), 10)
	b = append(b, `,"prompt_n":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	field(`,"prompt_ms":`, prompt.Seconds()*1000)
	field(`,"prompt_per_second":`, rate(n, prompt))
	b = append(b, `,"predicted_n":`...)
	b = strconv.AppendInt(b, int64(a.made), 10)
	field(`,"predicted_ms":`, predicted.Seconds()*1000)
	field(`,"predicted_per_second":`, rate(a.made, predicted))
	return append(b, '}')
}

func rate(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

func (o *openAI) whole(b []byte, a *answer, text, finish string) []byte {
	object, choice := "chat.completion", `{"index":0,"message":{"role":"assistant","content":`+quote(text)+`}`
	if !o.chat {
		object, choice = "text_completion", `{"index":0,"text":`+quote(text)
	}
	b = append(b, `{"id":`+quote(a.id)+`,"object":"`+object+`","created":`+strconv.FormatInt(a.created, 10)+
		`,"model":`+quote(a.model)+o.chunkFields+`,"choices":[`+choice...)
	b = o.finishField(b, finish)
	b = append(b, ']')
	if !a.usage {
		return append(b, '}')
	}
	b = o.appendUsage(b, a, true)
	return append(b, '}')
}

func (o *openAI) failure(b []byte, message string) []byte {
	b = append(b, `data: {"error":{"message":`+quote(message)+`,"type":"InternalServerError","code":500}}`...)
	return append(b, "\n\n"...)
}
