package probe

import (
	"net/http"
	"time"
)

// Names of engines, as the flag --engine takes them.
const (
	Auto     = "auto"
	VLLM     = "vllm"
	SGLang   = "sglang"
	LlamaCpp = "llamacpp"
	Ollama   = "ollama"
	TGI      = "tgi"
	Generic  = "generic"
)

// SimulatedHeader is on every answer of the built-in simulated engine; its value is the name of the profile.
const SimulatedHeader = "X-Speedmatrix-Simulated"

const (
	askTimeout   = 5 * time.Second  // one question to the server
	countTimeout = 60 * time.Second // tokenizing a long prompt
	answerBound  = 4 << 20          // bytes of an answer
	countBound   = 64 << 20         // bytes of a tokenizer's answer: about 8 a token
)

// Target is the server to look at.
type Target struct {
	BaseURL string       // e.g. "http://localhost:8000/v1"
	Key     string       // sent as "Authorization: Bearer"; "" sends none; never in an error or a fact
	Header  http.Header  // further headers, secret as Key is
	Model   string       // "": the only one that is served
	Engine  string       // "" or Auto: find out; else one of the names above, which is then believed
	HTTP    *http.Client // nil: a client of our own, without proxy or redirects
}
