package site

import (
	"html/template"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"speedmatrix/internal/page"
)

func TestComponents(t *testing.T) {
	v := page.Value{Text: "1,234.5", Raw: "1234.5"}
	none := page.Value{Text: "—"}
	for _, c := range []struct {
		got  template.HTML
		want string
	}{
		{value(v), `<data value="1234.5">1,234.5</data>`},
		{value(none), "—"},
		{choices([]page.PickGroup{{Label: "One <cell>", Choices: []page.Pick{{Value: "a b", Label: "8K × 1", Selected: true}, {Value: "c", Label: "8K × 2"}}}}),
			`<optgroup label="One &lt;cell&gt;"><option value="a b" selected>8K × 1</option><option value="c">8K × 2</option></optgroup>`},
		{squares([]page.MatrixCell{{}, {}}), "\n<td class=\"none\">—</td>\n<td class=\"none\">—</td>"},
		{squares([]page.MatrixCell{{Planned: true, Href: "#decode-8k-64", State: page.State{Word: "Over capacity", Class: "over-capacity"}}}),
			"\n" + `<td class="state over-capacity"><a href="#decode-8k-64">Over capacity</a></td>`},
		{squares([]page.MatrixCell{{Planned: true, Shown: true, Href: "#decode-8k-1", State: page.State{Word: "Valid", Class: "valid"}, TokS: v, TTFT: none, Heat: "h3", Marks: 1}}),
			"\n" + `<td class="h3 valid"><a href="#decode-8k-1"><b><data value="1234.5">1,234.5</data></b><span class="vh"> tok/s, </span><small>TTFT —` +
				`<span class="vh">, </span></small><small class="word">1 warning</small></a></td>`},
		{squares([]page.MatrixCell{{Planned: true, Shown: true, Href: "#a", State: page.State{Word: "Queued", Note: "ran 9 of 16", Class: "queued"}, TokS: v, TTFT: v, Kind: "restart", Marks: 2}}),
			"\n" + `<td class="queued"><a href="#a"><b><data value="1234.5">1,234.5</data></b><span class="vh"> tok/s, </span><small>TTFT <data value="1234.5">1,234.5</data>, restart` +
				`<span class="vh">, </span></small><small class="word">Queued, ran 9 of 16<span class="vh">, </span></small><small class="word">2 warnings</small></a></td>`},
		{measurements([]page.Row{{ID: "prefill-8k", Phase: "Prefill", PhaseID: "prefill", Context: v, Concurrency: none, State: page.State{Word: "Not run", Class: "not-run"}, Completed: v, ZeroWhy: "x"}}),
			"<tbody id=\"prefill-8k\" data-row data-phase=\"prefill\" data-status=\"not-run\"><tr>\n<th scope=\"row\">Prefill</th>\n" +
				"<th scope=\"row\" class=\"n\"><a href=\"#prefill-8k\"><data value=\"1234.5\">1,234.5</data></a></th>\n<th scope=\"row\" class=\"n\">—</th>\n<td class=\"state not-run\">Not run</td>\n" +
				strings.Repeat("<td class=\"n\"></td>\n", 5) + "<td class=\"n\"><data value=\"1234.5\">1,234.5</data><a class=\"mark\" href=\"#why-zero\" aria-label=\"Why 0\">*</a></td>\n" +
				strings.Repeat("<td class=\"n\"></td>\n", 2) + "</tr></tbody>\n"},
		{facts([]page.Fact{{Term: "Model", Text: "a&b", Href: "https://example.org/?a=1&b=2", Source: "user"}, {Term: "Commit", Text: "abc", Code: true, Note: "not pinned"}}),
			"\n" + `<div><dt>Model</dt><dd><a href="https://example.org/?a=1&amp;b=2" rel="nofollow noopener"><bdi>a&amp;b</bdi></a> <small class="src">user</small></dd></div>` +
				"\n" + `<div><dt>Commit</dt><dd><code><bdi>abc</bdi></code> <small>not pinned</small></dd></div>`},
		{columns([]page.Column{{Name: "Phase", Href: "../m/#phase", Key: "phase"}, {Name: "TTFT", Href: "../m/#ttft", Key: "ttft", Numeric: true}}),
			"\n" + `<th scope="col" data-key="phase"><span class="h"><a href="../m/#phase">Phase</a><button type="button" class="sort scripted" aria-label="Sort by Phase"></button></span></th>` +
				"\n" + `<th scope="col" data-key="ttft" class="n"><span class="h"><a href="../m/#ttft">TTFT</a><button type="button" class="sort scripted" aria-label="Sort by TTFT"></button></span></th>`},
		{heads([]string{"Cell", "<n>"}), `<th scope="col">Cell</th><th scope="col">&lt;n&gt;</th>`},
		{compared([]page.CompareRow{{Phase: "Decode", Context: v, Concurrency: none, A: v, B: none, Ratio: none, Verdict: "no verdict", Class: "none", Why: "not run", TTFT: none, Between: none}}),
			"\n" + `<tr><th scope="row">Decode</th><th scope="row"><data value="1234.5">1,234.5</data></th><th scope="row">—</th><td><data value="1234.5">1,234.5</data></td><td>—</td><td>—</td><td>—</td>` +
				`<td class="verdict none">no verdict<span class="vh">: </span><small class="word">not run</small></td><td>—</td><td>—</td></tr>`},
		{tableRows([][]page.Value{{none, v}, {v}}),
			`<tr><th scope="row">—</th><td><data value="1234.5">1,234.5</data></td></tr><tr><th scope="row"><data value="1234.5">1,234.5</data></th></tr>`},
	} {
		if string(c.got) != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// FuzzComponents: whatever a text holds, a browser reads that text and no markup of it.
func FuzzComponents(f *testing.F) {
	f.Add(`</data><script>alert(1)</script>`, `1" onclick="x`)
	f.Add("a\x00b'&amp;\"<", "<!--")
	f.Add("\xff\xfe", "\u202e")
	f.Fuzz(func(t *testing.T, txt, raw string) {
		v := page.Value{Text: txt, Raw: raw}
		row := page.Row{ID: raw, Phase: txt, State: page.State{Word: txt, Note: raw, Class: raw}, Warnings: []string{txt}, TokS: v, Details: []page.Detail{{Term: txt, Value: v, Note: raw}}}
		cell := page.MatrixCell{Planned: true, Shown: true, Href: "#a", State: page.State{Word: txt, Note: raw}, TokS: v, Kind: txt}
		facts := facts([]page.Fact{{Term: txt, Text: txt, Href: "https://" + raw, Note: txt, Source: txt}, {Term: txt, Text: txt, Code: true}})
		columns := columns([]page.Column{{Name: txt, Href: raw, Key: raw}})
		compared := compared([]page.CompareRow{{Phase: txt, Context: v, Interval: txt, Verdict: txt, Class: raw, Why: txt}})
		all := string(facts) + string(columns) + string(heads([]string{txt})) + string(compared)
		all += string(measurements([]page.Row{row})) + string(squares([]page.MatrixCell{cell})) + string(tableRows([][]page.Value{{v, v}})) + string(choices([]page.PickGroup{{Label: txt, Choices: []page.Pick{{Value: raw, Label: txt}}}}))
		a, b := asRead(txt), asRead(raw)
		ours := []string{"\n", "\n\n", "—", " ", "; ", ", ", ": ", " tok/s, ", "TTFT ", a, b, a + ", " + b, "TTFT , " + a}
		z := html.NewTokenizer(strings.NewReader(all))
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				return
			}
			tok := z.Token()
			switch {
			case kind == html.CommentToken, kind == html.DoctypeToken:
				t.Fatalf("%q became %v", txt, tok)
			case kind == html.TextToken && !slices.Contains(ours, tok.Data):
				t.Fatalf("text %q is neither %q nor %q", tok.Data, asRead(txt), asRead(raw))
			case kind == html.StartTagToken && !strings.Contains(" div dl dt dd data code bdi button small table tbody tr th td a b span details summary optgroup option ", " "+tok.Data+" "):
				t.Fatalf("element %q of %q", tok.Data, txt)
			case kind == html.StartTagToken && tok.Data == "data" && (len(tok.Attr) != 1 || tok.Attr[0].Val != asRead(raw)):
				t.Fatalf("attributes %v, want the value %q", tok.Attr, asRead(raw))
			}
		}
	})
}

// asRead is what a browser makes of text: no NUL, line ends in one form.
func asRead(s string) string {
	return strings.NewReplacer("\x00", "\ufffd", "\r\n", "\n", "\r", "\n").Replace(s)
}
