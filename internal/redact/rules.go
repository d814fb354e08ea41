package redact

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// rule finds one kind of secret. Every capture group of re that took part in a match is a sensitive part, replaced by
// with unless keep says that it is harmless.
type rule struct {
	kind string
	need []string // one of these, in lower case, stands in every text that matches: most rules never run on most texts
	re   *regexp.Regexp
	with string
	keep func(s string, start, end int) bool // nil keeps nothing
}

// spans finds the rule's matches in s; lower is s in lower case.
func (r rule) spans(s, lower string) []span {
	if !slices.ContainsFunc(r.need, func(part string) bool { return strings.Contains(lower, part) }) {
		return nil
	}
	var spans []span
	for _, m := range r.re.FindAllStringSubmatchIndex(s, -1) {
		for g := 2; g < len(m); g += 2 {
			start, end := m[g], m[g+1]
			if start < 0 || start == end || s[start:end] == r.with || settled(s[start:end]) {
				continue
			}
			if r.keep != nil && r.keep(s, start, end) {
				continue
			}
			spans = append(spans, span{start, end, r.with})
		}
	}
	return spans
}

// settled reports whether a value is a marker already, or a word that says that there is no value.
func settled(value string) bool {
	switch strings.Trim(value, "\"'`,;:.…)}]") {
	case Marker, Host, Address, "null", "None", "none", "nil", "true", "True", "false", "False", "":
		return true
	}
	return false
}

// Pieces of the expressions. A value is quoted (its inside is taken, over lines if need be, to the end of the text
// when the quote is never closed) or a bare word, which may have quoted pieces glued to it as a shell allows.
const (
	tail = `(?:\\[^\r\n]|[^\s"'\\]|"[^"\s,;:)\]}][^"\s]*"|'[^'\s,;:)\]}][^'\s]*')*`

	quoted = `"((?:\\.|[^"\\])*)|'([^']*(?:'\\''[^']*)*)`
	bare   = `((?:\\[^\r\n]|[^\s"'\\])` + tail + `)`
	value  = `(?:` + quoted + `|` + bare + `)`

	// After a space a value does not begin with "--": that is the next flag, whose own value matters more.
	quotedArg = `"((?:\\.|-?[^"\\-])(?:\\.|[^"\\])*)|'(-?[^'-][^']*(?:'\\''[^']*)*)`
	bareArg   = `((?:\\[^\r\n]|-?[^\s"'\\-])` + tail + `)`
	arg       = `(?:` + quotedArg + `|` + bareArg + `)`

	// A flag or a name that ends in one of these holds a secret. "--max-tokens", "--tokenizer", "--api-key-file"
	// and "--api-key-env" do not: the word must be the last and in the singular.
	secretKey  = `(?:api|access|secret|auth|private|admin|license|encryption|signing|session|account|service)[-_]?keys?`
	secretWord = `(?:` + secretKey + `|apikeys?|token|secret|password|passwd|passphrase|credentials?)`
	secretFlag = `-{1,2}(?:(?:[a-z0-9]+[-_])*` + secretWord + `|hft)`

	// From a flag to its value on a command line, over continued lines, in a YAML list, in a JSON array.
	argGap = `(?:(?:\s|\\\r?\n)+(?:-[ \t]+)?|["'][ \t\r\n]*,\s*)`

	lead = `(?:^|[\s"'=\[,({;|&` + "`" + `])`
)

// Parts that texts with a match have.
var (
	needWord   = []string{"key", "token", "secret", "passw", "passphrase", "pwd", "pass=", "credential", "-hft"}
	needURL    = []string{"://"}
	needHome   = []string{"/home/", "/users/"}
	needHeader = []string{"authorization", "api-key", "auth-token", "cookie"}
)

// table is every rule, in the order in which they run.
var table = []rule{
	{kind: "private key", need: []string{"private key"}, with: Marker, re: regexp.MustCompile(
		`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$))`)},

	// A whole argument in quotes: '--api-key=a b', "FOO_KEY=a b". The quote ends the value, not the space.
	{kind: "flag", need: needWord, with: Marker, re: regexp.MustCompile(
		`(?is)"` + secretFlag + `=((?:\\.|[^"\\])+)"|'` + secretFlag + `=([^']+(?:'\\''[^']*)*)'`)},
	{kind: "environment", need: needWord, with: Marker, re: regexp.MustCompile(
		`(?s)"` + envName + `=((?:\\.|[^"\\])+)"|'` + envName + `=([^']+(?:'\\''[^']*)*)'`)},

	{kind: "flag", need: needWord, with: Marker, re: regexp.MustCompile(`(?is)` + lead + secretFlag + `\s*=\s*` + value)},
	{kind: "flag", need: needWord, with: Marker, re: regexp.MustCompile(`(?is)` + lead + secretFlag + argGap + arg)},
	{kind: "flag", need: []string{"-u", "--user", "--proxy-user"}, with: Marker, keep: notUserPass, re: regexp.MustCompile(
		`(?is)` + lead + `(?:-u|--user|--proxy-user)(?:=|\s+)` + arg)},

	{kind: "header", need: needHeader, with: Marker, re: regexp.MustCompile(
		`(?is)(?:authorization|x-api-key|api-key|x-auth-token|x-goog-api-key|cookie)(?:["']\s*:\s*|\s*:\s*)` + headerValue)},
	{kind: "header", need: needHeader, with: Marker, re: regexp.MustCompile(`(?i)authorization\s*=\s*` + headerValue)},
	{kind: "header", need: []string{"bearer"}, with: Marker, re: regexp.MustCompile(`(?i)\bbearer\s+([a-z0-9._~+/=-]{16,})`)},

	{kind: "credentials in a URL", need: needURL, with: Marker, re: regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://([^\s/?#"'<>]+)@`)},
	{kind: "credentials in a URL", need: needURL, with: Marker, keep: isPort, re: regexp.MustCompile(
		`(?i)[a-z][a-z0-9+.-]*://([^\s/?#"'<>@:]+:[^\s"'<>@]+)@`)},
	{kind: "query parameter", need: []string{"?", "&"}, with: Marker, re: regexp.MustCompile(
		`(?i)[?&](?:[a-z0-9]+[-_])*(?:` + secretWord + `|key|sig|signature)=([^&#\s"']+)`)},

	{kind: "environment", need: needWord, with: Marker, re: regexp.MustCompile(`(?s)(?:^|[^A-Za-z0-9_?&-])` + envName + `=` + value)},
	{kind: "setting", need: needWord, with: Marker, re: regexp.MustCompile(
		`(?is)(?:^|[^a-z0-9_?&-])["']?(?:[a-z0-9]+[-_])*` + secretWord + `["']?\s*=\s*` + value)},
	{kind: "setting", need: needWord, with: Marker, re: regexp.MustCompile(
		`(?is)["'](?:[a-z0-9]+[-_])*` + secretWord + `["']\s*:\s*(?:` + quoted + `|([^\s"',}\]]+))`)},
	// With a colon only names that are no ordinary word before a colon ("Token: what the server counted").
	{kind: "setting", need: needWord, with: Marker, re: regexp.MustCompile(
		`(?is)(?:^|[^a-z0-9_?&"'-])(?:[a-z0-9]+[-_])*(?:` + secretKey +
			`|apikey|[a-z0-9]+[-_](?:token|secret|password)|password|passwd):\s*` + value)},

	{kind: "token", need: []string{"sk-", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "nvapi-", "gsk_", "xox", "akia", "aiza", "eyj"}, with: Marker, re: regexp.MustCompile(`\b(` + strings.Join(tokenShapes, `|`) + `)`)},

	{kind: "home folder", need: needHome, with: Home, re: regexp.MustCompile(
		`(?m)(?:^|file://|[\s"'=:,;(\[{<>|&@` + "`" + `])((?:/[\w.-]+){0,3}/(?:home|Users)/[^/\s"':;,)\]}<>|&` + "`" + `]+)`)},
	{kind: "home folder", need: []string{"/root"}, with: Home, re: regexp.MustCompile(
		`(?m)(?:^|file://|[\s"'=:,;(\[{<>|&@` + "`" + `])(/root)(?:$|[^A-Za-z0-9_.-])`)},
	{kind: "home folder", need: []string{"users"}, with: Home, re: regexp.MustCompile(`(?i)\b([a-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[^\\/\s"':;,]+)`)},
	{kind: "home folder", need: []string{"~"}, with: Home, re: regexp.MustCompile(`(?m)(?:^|[\s"'=:,])(~[a-z_][a-z0-9_-]*)/`)},

	{kind: "private address", need: []string{"10.", "172.", "192.168.", "169.254.", "100."}, with: Address, keep: notPrivate4, re: regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3})`)},
	{kind: "private address", need: []string{":"}, with: Address, keep: notPrivate6, re: regexp.MustCompile(
		`(?i)((?:fe[89ab][0-9a-f]|f[cd][0-9a-f]{2}):[0-9a-f:.]*[0-9a-f:](?:%[a-z0-9._-]+)?)`)},
	{kind: "private address", need: []string{"::ffff:"}, with: Address, keep: notPrivate6, re: regexp.MustCompile(`(?i)(::ffff:\d+\.\d+\.\d+\.\d+)`)},

	{kind: "host name", need: needURL, with: Host, keep: isOpenHost, re: regexp.MustCompile(
		`(?i)\b[a-z][a-z0-9+.-]*://(?:[^\s/?#"'@]*@)?([a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)(?:[:/?#\s"',)]|$)`)},
	{kind: "host name", need: []string{"--"}, with: Host, keep: isOpenHost, re: regexp.MustCompile(
		`(?is)` + lead + `--(?:host|hostname|master-addr|dist-init-addr|node-addr|data-parallel-address)(?:\s*=\s*["']?|` +
			argGap + `["']?)([a-z0-9][a-z0-9._-]*)`)},
	{kind: "host name", need: []string{".local", ".internal", ".lan", ".corp", ".intranet", ".home.arpa", ".ts.net"}, with: Host, re: regexp.MustCompile(
		`(?i)\b((?:[a-z0-9_-]+\.)+(?:local|internal|lan|corp|intranet|localdomain|home\.arpa|ts\.net))\b`)},
	{kind: "host name", need: []string{"ip-"}, with: Host, re: regexp.MustCompile(`(?i)\b(ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b`)},
}

// envName is a variable whose name says that it holds a secret.
const envName = `(?:[A-Za-z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|PASS|CREDENTIALS?)|API_?KEY|TOKEN|SECRET|PASSWORD)`

// headerValue is a scheme and one word, to the closing quote where the header stands in quotes.
const headerValue = `(?:"((?:\\.|[^"\\])*)|'([^']*)|((?:(?:digest|aws4-hmac-sha256)\s[^\r\n]*|(?:(?:bearer|basic|token|apikey|negotiate)[ \t]+)?` +
	`[^\s"',;]+)))`

// tokenShapes are secrets that are known by their look alone.
var tokenShapes = []string{
	`sk-[A-Za-z0-9_-]{20,}`, `hf_[A-Za-z0-9]{20,}`, `gh[pousr]_[A-Za-z0-9]{20,}`, `github_pat_[A-Za-z0-9_]{20,}`,
	`glpat-[A-Za-z0-9_-]{16,}`, `nvapi-[A-Za-z0-9_-]{20,}`, `gsk_[A-Za-z0-9]{20,}`, `xox[abprs]-[A-Za-z0-9-]{10,}`,
	`AKIA[0-9A-Z]{16}`, `AIza[A-Za-z0-9_-]{30,}`, `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+`,
}

func notUserPass(s string, start, end int) bool { return !strings.Contains(s[start:end], ":") }

// isPort keeps "host:8000/path@x": what follows the colon is a port, not a password.
func isPort(s string, start, end int) bool {
	_, after, _ := strings.Cut(s[start:end], ":")
	port, _, _ := strings.Cut(after, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

// private lists the networks whose addresses say where a machine stands; loopback and unspecified are not among them.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared address space, used by overlay networks
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
}

func isPrivate(text string) bool {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(private, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func notPrivate4(s string, start, end int) bool {
	// Part of a longer number, or a version ("v10.1.2.3").
	if start > 0 && strings.ContainsRune("0123456789.vV", rune(s[start-1])) {
		return true
	}
	if end < len(s) && s[end] >= '0' && s[end] <= '9' {
		return true
	}
	if end+1 < len(s) && s[end] == '.' && s[end+1] >= '0' && s[end+1] <= '9' {
		return true
	}
	return !isPrivate(s[start:end])
}

func notPrivate6(s string, start, end int) bool {
	if start > 0 && isWord(s[start-1]) {
		return true
	}
	return !isPrivate(strings.TrimRight(s[start:end], "."))
}

func isWord(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// isOpenHost keeps what every machine is called.
func isOpenHost(s string, start, end int) bool {
	host := strings.ToLower(s[start:end])
	if host == "localhost" || host == "host.docker.internal" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

// hostRule hides one machine's name. False when the name is too short or says nothing.
func hostRule(name string) (rule, bool) {
	name = strings.Trim(strings.ToLower(strings.TrimSpace(name)), ".")
	if len(name) < 2 || isOpenHost(name, 0, len(name)) || strings.Contains(Marker+Host+Address+Home, name) {
		return rule{}, false
	}
	quoted := regexp.QuoteMeta(name)
	expr := `(?i)\b(` + quoted + `)\b`
	if !strings.ContainsAny(name, "0123456789-.") {
		expr = `(?i)(?://|@)(` + quoted + `)\b|\b(` + quoted + `):\d`
	}
	return rule{kind: "host name", need: []string{name}, with: Host, re: regexp.MustCompile(expr)}, true
}
