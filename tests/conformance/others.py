#!/usr/bin/env python3
"""Sends one request for every row of internal/client/rows_test.go with other clients, and writes what each reported to
others.tsv, which docs/conformance.md is made from.

    tests/conformance/others.py --venvs V --clients guidellm,aiperf > others.tsv
    tests/conformance/others.py --venvs V --clients llama-benchy --runs 1 --seconds 150 | tail -n +2 >> others.tsv

V holds a virtual environment for each client, named as the client. Then: go test ./internal/client -run TestConformance -update.

GuideLLM and AIPerf get all rows in one run at concurrency 1; the prompt ("w1 row7") tells the server which row to
send. llama-benchy builds its own prompts, so it gets one run a row, by its path. The tokenizer counts words, one for each
token of the rows, so that no client has to download any. The row that hangs is left out.
"""
import argparse, functools, http.server, json, os, subprocess, sys, tempfile, threading, time


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--venvs", required=True)
    p.add_argument("--clients", default="guidellm,aiperf,llama-benchy")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=int, default=60, help="of llama-benchy's runs: no new one is begun after that")
    a = p.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["go", "test", "-c", "-o", f"{work}/rows.test", "./internal/client"], cwd=root, check=True)
        server = subprocess.Popen([f"{work}/rows.test", "-test.run", "TestServeRows", "-test.timeout", "0", "-serve", "127.0.0.1:0"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            hello = json.loads(server.stdout.readline())
            rows = [i for i, r in enumerate(hello["rows"]) if "no bytes for" not in r[0]]
            prepare(work, a.venvs, rows)
            print("client\tversion\tdate\tstream\tcase\tresult\ttokens\tttft_ms\twords")
            for c in a.clients.split(","):
                python = f"{a.venvs}/{c}/bin/python"
                version = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version({c!r}))"],
                                         capture_output=True, text=True, check=True).stdout.strip()
                try:
                    for i, (result, tokens, ttft, words) in sorted(merged([CLIENTS[c](a, hello["url"], work, rows) for _ in range(a.runs)]).items()):
                        show = lambda x: "" if x is None else str(round(x, 1)).removesuffix(".0")
                        print(c, version, time.strftime("%Y-%m-%d", time.gmtime()), *hello["rows"][i], result, show(tokens), show(ttft),
                              " ".join(str(words or "").split())[:90], sep="\t", flush=True)
                except (OSError, KeyError, ValueError, subprocess.SubprocessError) as e:
                    with open(f"{work}/log") as log:
                        print(f"{c}: {e!r}: {log.read()[-1500:]}", file=sys.stderr)
        finally:
            server.terminate()
            server.wait()


def prepare(work, venvs, rows):
    with open(f"{work}/prompts.jsonl", "w") as f, open(f"{work}/texts.jsonl", "w") as g:
        for i in rows:
            f.write(json.dumps({"prompt": f"w1 row{i}", "output_tokens_count": 20}) + "\n")
            g.write(json.dumps({"text": f"w1 row{i}"}) + "\n")
    with open(f"{work}/book.txt", "w") as f:
        f.write(" ".join(f"w{i % 200}" for i in range(20000)))
    make = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
vocab = {w: i for i, w in enumerate(["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(200)])}
t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
t.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", bos_token="<s>", eos_token="</s>").save_pretrained(sys.argv[1])
"""
    subprocess.run([f"{venvs}/llama-benchy/bin/python", "-c", make, f"{work}/tokenizer"], check=True, stderr=subprocess.DEVNULL)


def run(args, work, seconds, offline=True):
    env = dict(os.environ, HF_HUB_OFFLINE="1") if offline else None
    with open(f"{work}/log", "a") as log:
        return subprocess.run(args, env=env, stdout=log, stderr=log, timeout=seconds).returncode


def merged(runs):
    """Row to what was said of it: the smallest TTFT of the runs, as a busy machine only ever adds to it."""
    said = dict(runs[0])
    for more in runs[1:]:
        for i, (result, tokens, ttft, words) in more.items():
            if i not in said or said[i][:2] != (result, tokens):
                raise ValueError(f"row {i}: runs differ: {said.get(i)}, then {(result, tokens, ttft, words)}")
            known = [t for t in (said[i][2], ttft) if t is not None]
            said[i] = (result, tokens, min(known, default=None), said[i][3])
    return said


def row_of(text):
    return int(text.split("row")[1].split('"')[0])


def guidellm(a, url, work, rows):
    run([f"{a.venvs}/guidellm/bin/guidellm", "run", "--backend", f"kind=openai_http,target={url},model=m", "--profile", "kind=concurrent,streams=1",
         "--constraint", f"kind=max_requests,count={len(rows)}", "--data", f"kind=json_file,path={work}/prompts.jsonl",
         "--output", f"kind=json,path={work}/g.json", "--disable-console"], work, 120)
    with open(f"{work}/g.json") as f:
        requests = json.load(f)["benchmarks"][0]["requests"]
    said = {}
    all = [(kind, r) for kind in ("successful", "errored", "incomplete") for r in requests[kind] or ()]
    all.sort(key=lambda x: x[1]["info"]["timings"]["request_start"])
    for place, (kind, r) in enumerate(all):
        t = r["info"]["timings"]
        first = t.get("first_token_iteration")
        i = rows[place]  # one at a time, in the order of the file; a failed request does not tell its prompt
        if r["request_args"] and row_of(r["request_args"].replace("\\", '"')) != i:
            raise ValueError(f"request {place} was not row {i}")
        said[i] = ("ok" if kind == "successful" else kind, (r.get("output_metrics") or {}).get("total_tokens"),
                   first and (first - t["request_start"]) * 1000, r["info"].get("error"))
    return said


def aiperf(a, url, work, rows):
    run([f"{a.venvs}/aiperf/bin/aiperf", "profile", "--model", "m", "--url", url, "--endpoint-type", "chat", "--streaming", "--concurrency", "1",
         "--request-count", str(len(rows)), "--input-file", f"{work}/texts.jsonl", "--custom-dataset-type", "single_turn",
         "--tokenizer", f"{work}/tokenizer", "--artifact-dir", f"{work}/a", "--ui", "none"], work, 120, offline=False)
    with open(f"{work}/a/inputs.json") as f:
        sessions = {s["session_id"]: row_of(json.dumps(s["payloads"][0]["messages"])) for s in json.load(f)["data"]}
    said = {}  # the file is written anew by each run
    with open(f"{work}/a/profile_export.jsonl") as f:
        for r in map(json.loads, f):
            value = lambda name: ((r.get("metrics") or {}).get(name) or {}).get("value")
            error = r.get("error")
            said[sessions[r["metadata"]["conversation_id"]]] = (
                "errored" if error else "ok", value("output_sequence_length"), value("time_to_first_token"), error and error.get("message"))
    return said


def llama_benchy(a, url, work, rows):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    book = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=work))
    threading.Thread(target=book.serve_forever, daemon=True).start()
    said, began = {}, time.monotonic()
    for i in rows:
        if time.monotonic() - began > a.seconds:
            break
        out = f"{work}/b{i}.json"
        code = run([f"{a.venvs}/llama-benchy/bin/llama-benchy", "--base-url", f"{url}/{i}/v1", "--model", "m", "--tokenizer", f"{work}/tokenizer",
                    "--pp", "16", "--tg", "20", "--runs", "1", "--book-url", f"http://127.0.0.1:{book.server_port}/book.txt", "--skip-coherence",
                    "--no-warmup", "--no-adapt-prompt", "--latency-mode", "none", "--save-result", out, "--format", "json"], work, 30)
        try:
            with open(out) as f:
                b = json.load(f)["benchmarks"][0]
            said[i] = ("ok", None, b["e2e_ttft"]["values"][0], None)
        except (OSError, LookupError, TypeError, ValueError):
            said[i] = ("errored", None, None, f"no result, exit {code}")
    book.shutdown()
    return said


CLIENTS = {"guidellm": guidellm, "aiperf": aiperf, "llama-benchy": llama_benchy}

if __name__ == "__main__":
    sys.exit(main())
