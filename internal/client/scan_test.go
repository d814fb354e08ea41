package client

import (
	"bytes"
	"strings"
	"testing"
)

// seeds are events of the kinds that servers send, and of kinds that they should not.
func seeds() []string {
	return []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":" the"},"finish_reason":null}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":4}}}`,
		`{"choices":[{"delta":{"reasoning_content":"hm\n\"é\"","content":null}}]}`,
		`{"choices":[{"delta":{"reasoning":"a","reasoning_content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"\ud83d\ude00\u00e9\/"}}]}`,
		`{"choices":[{"delta":{"content":"\ud83d lone \ude00"}}]}`,
		"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`,
		`{"choices":[{"delta":{"function_call":{"name":"f","arguments":"1"}}}]}`,
		`{"choices":[{"text":" a","index":0,"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"choices":null,"usage":null,"error":null}`,
		`{"choices":[{"delta":null,"finish_reason":"stop"}]}`,
		`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":"b"}}]}`,
		`{"error":{"message":"no"}}`, `{"error":"no"}`, `{"object":"error","message":"no"}`,
		`{"choices":[{"finish_reason":"stop","delta":{}}],"timings":{"cache_n":7,"prompt_n":1}}`,
		`{"usage":{"completion_tokens":1e3,"prompt_tokens":2.0}}`, `{"usage":{"completion_tokens":-1}}`,
		`{"usage":{"completion_tokens":12345678901}}`, `{"usage":{"prompt_cache_hit_tokens":3}}`,
		`{"a":[1,-0.5e+3,true,false,null,"x",{"b":[]}],"choices":[]}`,
		`{"a":01}`, `{"a":1,}`, `[]`, `null`, `{}`, ` { } `, `{"a":1}{"b":2}`, `{"a":tru}`, `{"a":"\x"}`, `{"a`, ``,
		`{"message":{"role":"assistant","content":"hi","thinking":""},"done":false}`,
		`{"message":{"thinking":"hm"},"done":false}`,
		`{"message":{"content":""},"done":true,"done_reason":"length","eval_count":4,"prompt_eval_count":9}`,
		`{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}`,
		`{"done":true}`, `{"error":"model not found"}`, `{"message":{"content":"a"},"done":falsey}`,
		`{"choices":[{"delta":{"content":"a"}}],"timings":{"cache_n":7,"predicted_n":3,"predicted_ms":1.5}}`,
		`{"timings":{"predicted_n":3},"usage":{"completion_tokens":4}}`, `{"timings":null}`,
	}
}

// FuzzScan demands of each scanner that whatever it accepts it understands as encoding/json does.
func FuzzScan(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range []dialect{chat(), ollama()} {
			var fast, slow chunk
			fast.reset()
			slow.reset()
			if !d.scan(data, &fast) {
				d.decode(data, &slow) // must not panic
				continue
			}
			if err := d.decode(data, &slow); err != nil {
				t.Fatalf("scanned %q, which is refused: %v", data, err)
			}
			if !bytes.Equal(fast.text, slow.text) {
				t.Fatalf("%q: text %q, want %q", data, fast.text, slow.text)
			}
			fast.text, slow.text = nil, nil
			if got, want := summary(fast), summary(slow); got != want {
				t.Fatalf("%q:\n got %+v\nwant %+v", data, got, want)
			}
		}
	})
}

// FuzzTemplate demands of an event that has the form of the one before that it is understood as encoding/json does.
func FuzzTemplate(f *testing.F) {
	all := seeds()
	for i, s := range all {
		f.Add([]byte(s), []byte(all[(i+1)%len(all)]))
		f.Add([]byte(s), []byte(s))
	}
	f.Add([]byte(`{"choices":[{"delta":{"content":"a"}}]}`), []byte(`{"choices":[{"delta":{"content":"a\"}}]}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":"a"}}]}`), []byte(`{"choices":[{"delta":{"content":"b","content":"a"}}]}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":"aaa"}}]}`), []byte(`{"choices":[{"delta":{"content":""}}]}`))
	counted := `{"choices":[{"delta":{"content":"a"},"finish_reason":null}],"usage":{"prompt_tokens":11,"completion_tokens":7}}`
	f.Add([]byte(counted), []byte(strings.Replace(counted, ":7}", `:8,"prompt_tokens_details":{"cached_tokens":3}},"x":1`, 1)))
	f.Add([]byte(counted), []byte(strings.Replace(counted, ":7}", `:8},"error":{"message":"m"}`, 1)))
	f.Add([]byte(counted), []byte(strings.Replace(counted, ":7}", `:8},"usage":{"completion_tokens":9}`, 1)))
	f.Add([]byte(counted), []byte(strings.Replace(counted, `{"prompt_tokens":11,"completion_tokens":7}`, "null", 1)))
	f.Fuzz(func(t *testing.T, before, data []byte) {
		for _, d := range []dialect{chat(), ollama()} {
			var form template
			var learned, fast, slow chunk
			learned.reset()
			fast.reset()
			slow.reset()
			if d.scan(before, &learned) {
				form.learn(before, &learned)
			}
			if !form.match(data, &fast) {
				continue
			}
			if err := d.decode(data, &slow); err != nil {
				t.Fatalf("%q matched the form of %q, but is refused: %v", data, before, err)
			}
			if !bytes.Equal(fast.text, slow.text) || summary(fast) != summary(slow) {
				t.Fatalf("%q by the form of %q:\n got %q %+v\nwant %q %+v", data, before, fast.text, summary(fast), slow.text, summary(slow))
			}
		}
	})
}

func TestTemplate(t *testing.T) {
	var form template
	var c chunk
	check := func(data, text string, want bool) {
		t.Helper()
		c.reset()
		if got := form.match([]byte(data), &c); got != want || want && string(c.text) != text {
			t.Errorf("%s: matches %v with text %q, want %v with %q", data, got, c.text, want, text)
		}
		c.reset()
		if !scanOpenAI([]byte(data), &c) {
			t.Errorf("%s is not scanned", data)
		}
		form.learn([]byte(data), &c)
	}
	event := func(text string) string {
		return `{"id":"c","choices":[{"delta":{"content":"` + text + `"},"finish_reason":null}]}`
	}
	counted := func(text, usage string) string {
		return strings.TrimSuffix(event(text), "}") + `,"usage":` + usage + `}`
	}
	check(event("a"), "", false)
	check(event("bcd"), "bcd", true)
	check(event("é"), "é", true)
	check(event(""), "", true)
	check(event(`\n`), "", false)
	check(event("e"), "e", true) // the form outlives an event of another
	check(`{"choices":[],"usage":{"completion_tokens":2}}`, "", false)
	check(strings.Replace(event("e"), `"c"`, `"d"`, 1), "", false)
	check(strings.Replace(event("f"), `"c"`, `"d"`, 1), "f", true)
	check(counted("a", `{"prompt_tokens":11,"completion_tokens":7}`), "", false)
	check(counted("b", `{"prompt_tokens":11,"completion_tokens":10}`), "b", true) // counts may change, also in length
	check(counted("b", `{"completion_tokens":11},"n":[1]`), "b", true)
	c.reset()
	if !form.match([]byte(counted("xyz", `{"prompt_tokens":11,"completion_tokens":12}`)), &c) || c.output != 12 || c.prompt != 11 {
		t.Errorf("usage of an event of the form: %d output, %d prompt, want 12 and 11", c.output, c.prompt)
	}
	c.reset()
	twice := counted("b", `{"completion_tokens":12},"usage":{"completion_tokens":13}`)
	if form.match([]byte(twice), &c) || c.output != -1 || len(c.text) != 0 {
		t.Errorf("%s: matches, or leaves something behind: %d output", twice, c.output)
	}
}

// facts is a chunk without its text, to be compared.
type facts struct {
	visible, choice, last, failed bool
	finish, message               string
	prompt, cached, output        int32
}

func summary(c chunk) facts {
	return facts{c.visible, c.choice, c.last, c.failed, c.finish, c.message, c.prompt, c.cached, c.output}
}

// The usual events must take the fast path.
func TestScanTakesUsualEvents(t *testing.T) {
	for i, s := range seeds() {
		var c chunk
		c.reset()
		usual := i < 3 || i == 4 || i == 7 || i == 8 || 10 <= i && i <= 13
		if got := scanOpenAI([]byte(s), &c); usual && !got {
			t.Errorf("seed %d is not scanned: %s", i, s)
		}
	}
}

func TestDecode(t *testing.T) {
	check := func(d dialect, data, text string, want facts) {
		t.Helper()
		for _, fast := range []bool{true, false} {
			var c chunk
			c.reset()
			if fast && !d.scan([]byte(data), &c) {
				continue
			}
			if !fast {
				c.reset()
				if err := d.decode([]byte(data), &c); err != nil {
					t.Errorf("%s: %v", data, err)
				}
			}
			if string(c.text) != text || summary(c) != want {
				t.Errorf("%s, fast %v:\n got %q %+v\nwant %q %+v", data, fast, c.text, summary(c), text, want)
			}
		}
	}
	none := facts{prompt: -1, cached: -1, output: -1}
	with := func(change func(*facts)) facts {
		f := none
		change(&f)
		return f
	}
	s := seeds()
	check(chat(), s[1], " the", facts{visible: true, choice: true, prompt: 5, cached: 4, output: 3})
	check(chat(), s[2], "hm\n\"é\"", with(func(f *facts) { f.choice = true }))
	check(chat(), s[3], "a", with(func(f *facts) { f.choice = true }))
	check(chat(), s[4], "😀é/", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(chat(), s[5], "\uFFFD lone \uFFFD", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(chat(), s[6], "\uFFFD", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(chat(), s[7], "f", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(chat(), s[9], "f1", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(completions(), s[10], " a", facts{visible: true, choice: true, finish: "length", prompt: 1, cached: -1, output: 2})
	check(chat(), s[16], "", with(func(f *facts) { f.failed, f.message = true, "no" }))
	check(chat(), s[17], "", with(func(f *facts) { f.failed, f.message = true, "no" }))
	check(chat(), s[18], "", with(func(f *facts) { f.failed, f.message = true, "no" }))
	check(chat(), s[19], "", with(func(f *facts) { f.choice, f.finish, f.cached = true, "stop", 7 }))
	check(chat(), s[20], "", with(func(f *facts) { f.output, f.prompt = 1000, 2 }))
	check(chat(), s[21], "", none)
	check(chat(), s[22], "", none)
	check(chat(), s[23], "", with(func(f *facts) { f.cached = 3 }))
	check(chat(), `{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}`, "hm", with(func(f *facts) { f.choice = true }))
	check(chat(), `{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}`, "hi", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(ollama(), `{"message":{"content":"hi","thinking":""},"done":false}`, "hi", with(func(f *facts) { f.choice, f.visible = true, true }))
	check(ollama(), `{"message":{"content":""},"done":true,"done_reason":"length","eval_count":4,"prompt_eval_count":9}`, "",
		facts{choice: true, last: true, finish: "length", prompt: 9, cached: -1, output: 4})
	check(ollama(), `{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}`, `f{"a":1}`,
		with(func(f *facts) { f.choice, f.visible = true, true }))
	check(ollama(), `{"done":true}`, "", with(func(f *facts) { f.last, f.finish = true, "stop" }))
}
