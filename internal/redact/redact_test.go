package redact_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"speedmatrix/internal/redact"
)

const key = "sk-Zq9/x+7&K=="

// The seed's launch command, with what the tool that made it must have been given.
func TestSeedLaunchCommand(t *testing.T) {
	const want = `"$HOME/env_rtxpro6k-google-sglang-1093c501dfef/bin/sglang" serve --model-path google/gemma-4-E2B-it --served-model-name gemma --trust-remote-code --tp 1 --reasoning-parser gemma4 --tool-call-parser gemma4 --context-length 131072 --mem-fraction-static 0.78 --enable-metrics --host 0.0.0.0 --port 8000 --api-key <redacted> --attention-backend triton --bf16-gemm-backend torch`

	asText := strings.NewReplacer("$HOME", "/home/anna", "<redacted>", "s3cr3t").Replace(want)
	if got := (redact.Redactor{}).Text(asText); got != want {
		t.Errorf("Text\n got %s\nwant %s", got, want)
	}
	args := strings.Fields(strings.ReplaceAll(asText, `"`, ""))
	if got := (redact.Redactor{}).Command(args); got != want {
		t.Errorf("Command\n got %s\nwant %s", got, want)
	}
	if got := redact.New(redact.Options{}, "s3cr3t").Text(want); got != want {
		t.Errorf("a redacted command changed to %s", got)
	}
}

func TestText(t *testing.T) {
	r := redact.New(redact.Options{Hosts: []string{"gpu-box7", "ubuntu"}}, key)
	check := func(in, want string) {
		t.Helper()
		got := r.Text(in)
		if got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", in, got, want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("not idempotent: %q then %q", got, again)
		}
		if found := r.Find(in); (len(found) > 0) != (in != want) {
			t.Errorf("Find(%q) = %v, but Text changes it: %t", in, found, in != want)
		}
		if found := r.Find(got); len(found) > 0 {
			t.Errorf("Find still sees %v in %q", found, got)
		}
	}

	// Flags.
	check(`serve --api-key abc --port 1`, `serve --api-key <redacted> --port 1`)
	check(`serve --api-key=abc --port 1`, `serve --api-key=<redacted> --port 1`)
	check(`serve --api_key abc`, `serve --api_key <redacted>`)
	check(`serve --API-KEY abc`, `serve --API-KEY <redacted>`)
	check(`serve --api-key "a b" --x`, `serve --api-key "<redacted>" --x`)
	check(`serve --api-key 'a b' --x`, `serve --api-key '<redacted>' --x`)
	check(`serve --api-key='a b' --x`, `serve --api-key='<redacted>' --x`)
	check(`serve '--api-key=a b' --x`, `serve '--api-key=<redacted>' --x`)
	check(`serve "--api-key=a \" b" --x`, `serve "--api-key=<redacted>" --x`)
	check(`serve --api-key 'it'\''s mine' --x`, `serve --api-key '<redacted>' --x`)
	check(`serve --api-key abc"def"ghi --x`, `serve --api-key <redacted> --x`)
	check(`serve --api-key a\ b --x`, `serve --api-key <redacted> --x`)
	check(`serve --api-key "never closed`, `serve --api-key "<redacted>`)
	check("serve --api-key \\\n   abc \\\n  --port 1", "serve --api-key \\\n   <redacted> \\\n  --port 1")
	check("args:\n  - --api-key\n  - abc\n  - --port", "args:\n  - --api-key\n  - <redacted>\n  - --port")
	check(`["serve", "--api-key", "abc", "--port"]`, `["serve", "--api-key", "<redacted>", "--port"]`)
	check(`['--token', '--api-key', 'abc']`, `['--token', '--api-key', '<redacted>']`)
	check(`--token --api-key abc`, `--token --api-key <redacted>`)
	check(`--token a --hf-token b --admin-api-key c`, `--token <redacted> --hf-token <redacted> --admin-api-key <redacted>`)
	check(`--ssl-keyfile-password abc`, `--ssl-keyfile-password <redacted>`)
	check(`bash -c "serve --api-key abc" && echo "done"`, `bash -c "serve --api-key <redacted>" && echo "done"`)
	check(`llama-server -hft abc -m x`, `llama-server -hft <redacted> -m x`)
	check(`curl -u anna:pw http://localhost:1/`, `curl -u <redacted> http://localhost:1/`)

	// Flags that only look like it.
	check(`--max-tokens 4096 --kv-tokens 9 --tokenizer x --tokenizer-path y`, `--max-tokens 4096 --kv-tokens 9 --tokenizer x --tokenizer-path y`)
	check(`--api-key-env NAME --api-key-file F`, `--api-key-env NAME --api-key-file F`)
	check(`--max-num-batched-tokens 8192 --ssl-keyfile a.pem`, `--max-num-batched-tokens 8192 --ssl-keyfile a.pem`)
	check(`a per-token cost of 3 µs`, `a per-token cost of 3 µs`)
	check(`Token: what the server counted`, `Token: what the server counted`)
	check(`token_source = "usage-final"`, `token_source = "usage-final"`)
	check(`curl -u 1000 x`, `curl -u 1000 x`)

	check("Words in `…_KEY=`, `*_TOKEN=` and `Authorization:`.", "Words in `…_KEY=`, `*_TOKEN=` and `Authorization:`.")

	// Headers.
	check(`Authorization: Bearer abc`, `Authorization: <redacted>`)
	check(`curl -H "Authorization: Bearer abc def" -d x`, `curl -H "Authorization: <redacted> def" -d x`)
	check(`curl -H 'authorization: Basic YTpi' -d x`, `curl -H 'authorization: <redacted>' -d x`)
	check(`{"Authorization": "Bearer abc", "n": 1}`, `{"Authorization": "<redacted>", "n": 1}`)
	check("X-API-Key: abc\r\nAccept: */*", "X-API-Key: <redacted>\r\nAccept: */*")
	check(`Authorization: Digest username="a", response="b"`, `Authorization: <redacted>`)
	check(`said Bearer abcdefghijklmnop1234`, `said Bearer <redacted>`)

	// URLs.
	check(`http://anna:pw@localhost:8000/v1`, `http://<redacted>@localhost:8000/v1`)
	check(`http://anna:p@ss@localhost/v1`, `http://<redacted>@localhost/v1`)
	check(`http://anna:p/w@localhost/v1`, `http://<redacted>@localhost/v1`)
	check(`redis://:pw@127.0.0.1:6379`, `redis://<redacted>@127.0.0.1:6379`)
	check(`http://localhost:8000/models/a@main`, `http://localhost:8000/models/a@main`)
	check(`http://localhost/?api_key=abc&n=1`, `http://localhost/?api_key=<redacted>&n=1`)
	check(`http://localhost/?n=1&access_token=abc#x`, `http://localhost/?n=1&access_token=<redacted>#x`)

	// Environment and settings.
	check(`OPENAI_API_KEY=abc HF_TOKEN="d e" serve`, `OPENAI_API_KEY=<redacted> HF_TOKEN="<redacted>" serve`)
	check(`export AWS_SECRET_ACCESS_KEY='x y'`, `export AWS_SECRET_ACCESS_KEY='<redacted>'`)
	check(`env 'FOO_KEY=a b' serve`, `env 'FOO_KEY=<redacted>' serve`)
	check(`PASSWORD=abc PGPASSWORD=x MY_SECRET=y`, `PASSWORD=<redacted> PGPASSWORD=x MY_SECRET=<redacted>`)
	check(`docker run -e HF_TOKEN=abc -e VLLM_API_KEY=d img`, `docker run -e HF_TOKEN=<redacted> -e VLLM_API_KEY=<redacted> img`)
	check(`ServerArgs(api_key='abc', admin_api_key=None, port=1)`, `ServerArgs(api_key='<redacted>', admin_api_key=None, port=1)`)
	check(`{"api_key":"abc","admin_api_key":null,"tp":1}`, `{"api_key":"<redacted>","admin_api_key":null,"tp":1}`)
	check("password: hunter2\nport: 1", "password: <redacted>\nport: 1")

	// Tokens by their look.
	check(`uses hf_abcdefghijklmnopqrstuv ok`, `uses <redacted> ok`)
	check(`sk-proj-abcdefghijklmnopqrstuvwx`, `<redacted>`)
	check("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n<redacted>\nb")

	// Home folders.
	check(`"/home/anna/env/bin/serve" -m /Users/anna/m.gguf`, `"$HOME/env/bin/serve" -m $HOME/m.gguf`)
	check(`/root/models/x --log=/root`, `$HOME/models/x --log=$HOME`)
	check(`/mnt/nfs/home/anna/x`, `$HOME/x`)
	check(`file:///home/anna/x`, `file://$HOME/x`)
	check(`PATH=/home/anna/bin:/home/bert/bin:/usr/bin`, `PATH=$HOME/bin:$HOME/bin:/usr/bin`)
	check(`C:\Users\Anna\m.gguf`, `$HOME\m.gguf`)
	check(`~anna/m.gguf and ~/m.gguf`, `$HOME/m.gguf and ~/m.gguf`)
	check(`/rootfs /home /usr/homes/x`, `/rootfs /home /usr/homes/x`)

	// Addresses.
	check(`10.1.2.3:8000 172.16.0.1 172.32.0.1 192.168.0.9`, `<address>:8000 <address> 172.32.0.1 <address>`)
	check(`169.254.169.254, 100.64.0.1`, `<address>, <address>`)
	check(`fe80::1%eth0 fd12:3456::1 [fd00::2]:80`, `<address> <address> [<address>]:80`)
	check(`::ffff:10.0.0.1`, `::ffff:<address>`)
	check(`127.0.0.1 0.0.0.0 ::1 [::]:80 localhost`, `127.0.0.1 0.0.0.0 ::1 [::]:80 localhost`)
	check(`driver 580.65.06, v10.1.2.3, 8.8.8.8, 12:30:45`, `driver 580.65.06, v10.1.2.3, 8.8.8.8, 12:30:45`)

	// Host names.
	check(`http://gpubox:8000/v1 http://gpubox`, `http://<host>:8000/v1 http://<host>`)
	check(`--host gpubox --port 1`, `--host <host> --port 1`)
	check(`--host 0.0.0.0 --host=127.0.0.1`, `--host 0.0.0.0 --host=127.0.0.1`)
	check(`a.b.svc.internal and nas.local`, `<host> and <host>`)
	check(`ran on GPU-BOX7 today`, `ran on <host> today`)
	check(`Ubuntu 24.04 on ubuntu:22, anna@ubuntu`, `Ubuntu 24.04 on <host>:22, anna@<host>`)
	check(`https://github.com/sgl-project/sglang`, `https://github.com/sgl-project/sglang`)
	check(`ip-10-0-3-7`, `<host>`)

	// By value, in any form.
	check(`x `+key+` y`, `x <redacted> y`)
	check(`x `+url.QueryEscape(key)+` y`, `x <redacted> y`)
	check(`x `+url.PathEscape(key)+` y`, `x <redacted> y`)
	check(`{"k":"sk-Zq9/x+7\u0026K=="}`, `{"k":"<redacted>"}`)
	check(``, ``)
	check(`<redacted> $HOME <host> <address>`, `<redacted> $HOME <host> <address>`)
}

// A key inside a longer base64 text is found at each of the three alignments.
func TestBase64Forms(t *testing.T) {
	const secret = "correct horse battery staple"
	r := redact.New(redact.Options{}, secret)
	for _, user := range []string{"", "a", "ab", "abc"} {
		for _, after := range []string{"", "x", "xy", "xyz"} {
			text := base64.StdEncoding.EncodeToString([]byte(user + secret + after))
			got := r.Text("login " + text + " end")
			if !strings.Contains(got, redact.Marker) {
				t.Errorf("%q + secret + %q: %q is left as it is", user, after, got)
			}
		}
	}
}

func TestCommand(t *testing.T) {
	r := redact.New(redact.Options{}, "topsecret")
	check := func(want string, args ...string) {
		t.Helper()
		if got := r.Command(args); got != want {
			t.Errorf("Command(%q)\n got %s\nwant %s", args, got, want)
		}
	}
	check(`vllm serve m --api-key <redacted> --port 1`, "vllm", "serve", "m", "--api-key", `a b" 'c' $x`, "--port", "1")
	check(`vllm --api-key=<redacted> x`, "vllm", "--api-key=it's a\nkey", "x")
	check(`env HF_TOKEN=<redacted> vllm`, "env", "HF_TOKEN=a b", "vllm")
	check(`vllm --token --port 1`, "vllm", "--token", "--port", "1")
	check(`vllm --json '{"a": 1}'`, "vllm", "--json", `{"a": 1}`)
	check(`x '<redacted> y'`, "x", "topsecret y")
	check(`"$HOME/bin/x" ''`, "/root/bin/x", "")
}

// Find tells where, and never shows what.
func TestFind(t *testing.T) {
	text := "first line\nserve --api-key hunter2hunter2 --port 1\nmodel at /home/anna/m"
	found := (redact.Redactor{}).Find(text)
	if len(found) != 2 {
		t.Fatalf("Find = %v, want 2 matches", found)
	}
	if found[0].Kind != "flag" || found[0].Offset != strings.Index(text, "hunter2") {
		t.Errorf("first match %+v", found[0])
	}
	if found[0].Excerpt != "serve --api-key <redacted> …" {
		t.Errorf("excerpt %q", found[0].Excerpt)
	}
	if found[1].Kind != "home folder" || found[1].Excerpt != "model at $HOME …" {
		t.Errorf("second match %+v", found[1])
	}
}

// Whatever the text, a key in use does not survive, and redacting again changes nothing.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		`serve --api-key "abc`, `--token=` + key, `http://a:b@c/`, "--api-key \\\n x", `~a/ /root /home/x`,
		`["--api-key", "x"]`, `Authorization: Basic a, b`, `fe80::1`, `A_KEY='x'\''y'`, `<redacted`, `<<redacted>>`,
	} {
		f.Add(s)
	}
	r := redact.New(redact.Options{Hosts: []string{"gpu-box7"}}, key, "other secret", "redac")
	f.Fuzz(func(t *testing.T, s string) {
		once := r.Text(s)
		if strings.Contains(once, key) || strings.Contains(once, "other secret") {
			t.Errorf("a key survived in %q", once)
		}
		if twice := r.Text(once); twice != once {
			t.Errorf("not idempotent:\n in %q\n 1: %q\n 2: %q", s, once, twice)
		}
		for _, m := range r.Find(s) {
			if strings.Contains(m.Excerpt, key) {
				t.Errorf("excerpt shows the key: %q", m.Excerpt)
			}
		}
	})
}
