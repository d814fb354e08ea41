#!/usr/bin/env python3
"""Runs load clients one after the other against the same paced engine and prints what each says that the engine did next
to what the engine did, by its own log (docs/performance.md, "Other clients").

Each run gets an engine of its own: measure simulate --profile pace, the same seed, 140 tokens a second in every stream, all
streams at the same instant. The clients other than ours are expected in virtual environments, one each, below --venvs:

    for c in guidellm llama-benchy aiperf; do python3 -m venv V/$c && V/$c/bin/pip install $c; done
    tests/instrument/clients.py --measure bin/measure --venvs V --concurrency 16,128 --runs 2

--priority and --engine-priority are put before the commands (e.g. "chrt -r 10", "chrt -r 20", on a machine that others
use). What a client says is its own median time to first token, its own median time between tokens (what it calls
inter-token latency; llama-benchy gives a rate per request) and its own output tokens a second. What the engine did is the
median, over the same requests, of first sending minus arrival of the request and of (last - first sending) / (tokens - 1),
and the tokens sent from the first arrival to the last sending; for ours, within the window that it states.
"""
import argparse, functools, glob, http.server, json, os, random, resource, shlex, statistics, subprocess, sys, tempfile
import threading, tomllib

WORDS = "time year people way day man thing woman life child world school state family student group country problem".split()
OUTPUT = 256  # tokens of an answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--measure", required=True)
    p.add_argument("--venvs", required=True)
    p.add_argument("--clients", default="measure,guidellm,llama-benchy,aiperf")
    p.add_argument("--concurrency", default="16,128")
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--priority", default="")
    p.add_argument("--engine-priority", default="")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        prepare(work, os.path.join(a.venvs, "llama-benchy", "bin", "python"))
        for n in map(int, a.concurrency.split(",")):
            for run in range(a.runs):
                for client in a.clients.split(","):
                    line = {"client": client, "streams": n, "run": run}
                    line.update(compare(a, client, n, os.path.join(work, f"{client}-{n}-{run}")))
                    print(json.dumps(line), flush=True)


def prepare(work, python):
    """Prompts, a book, and a word-level tokenizer, so that no client has to download anything."""
    rng = random.Random(1)
    with open(f"{work}/prompts.jsonl", "w") as f, open(f"{work}/texts.jsonl", "w") as g:
        for i in range(4000):
            text = " ".join(rng.choice(WORDS) for _ in range(300)) + f" {i}"
            f.write(json.dumps({"prompt": text, "output_tokens_count": OUTPUT}) + "\n")
            g.write(json.dumps({"text": text}) + "\n")
    with open(f"{work}/book.txt", "w") as f:
        f.write(" ".join(rng.choice(WORDS) for _ in range(200000)))
    make = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
vocab = {w: i for i, w in enumerate(["<unk>", "<s>", "</s>"] + sys.argv[2].split())}
t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
t.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", bos_token="<s>", eos_token="</s>").save_pretrained(sys.argv[1])
"""
    subprocess.run([python, "-c", make, f"{work}/tokenizer", " ".join(WORDS)], check=True, stderr=subprocess.DEVNULL)


def compare(a, client, n, base):
    log = base + ".truth"
    engine = subprocess.Popen(
        shlex.split(a.engine_priority) + [a.measure, "simulate", "--listen", "127.0.0.1:0", "--profile", "pace", "--speed", "1.4", "--log", log],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = engine.stdout.readline().split()[-1]
        before = cpu()
        try:
            said = CLIENTS[client](a, n, url, base)
        except (subprocess.CalledProcessError, OSError, KeyError, ValueError) as e:
            return {"error": str(e)[:300]}
        used = cpu() - before
    finally:
        engine.send_signal(2)
        engine.wait()
    with open(log) as f:
        requests = [json.loads(line) for line in f]
    tokens = sum(len(r["sent_ns"] or ()) for r in requests)
    did = truth(requests, said.pop("window", None))
    return {"said": said, "did": did, "cpu_us_per_token": round(used / tokens * 1e6, 1)}


def cpu():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def truth(requests, window):
    """Times in milliseconds, tokens a second."""
    full = [r for r in requests if r["max_tokens"] >= OUTPUT and r["sent_ns"]]
    sent = sorted(t for r in requests for t in r["sent_ns"] or ())
    begin, end = window or (min(r["arrived_ns"] for r in full), sent[-1])
    ttft = [r["sent_ns"][0] - r["arrived_ns"] for r in full if not window or r["arrived_ns"] > begin]
    gaps = []
    for r in full:
        s = [t for t in r["sent_ns"] if begin < t <= end]
        if len(s) > 1 and (window or len(s) == OUTPUT):
            gaps.append((s[-1] - s[0]) / (len(s) - 1))
    count = sum(begin < t <= end for t in sent)
    return {"requests": len(full), "ttft_ms": statistics.median(ttft) / 1e6, "between_ms": statistics.median(gaps) / 1e6,
            "tok_s": count / (end - begin) * 1e9}


def run(a, args, base, offline=True):
    env = dict(os.environ)
    if offline:
        env["HF_HUB_OFFLINE"] = "1"
    with open(base + ".out", "w") as out, open(base + ".err", "w") as err:
        subprocess.run(shlex.split(a.priority) + args, check=True, env=env, stdout=out, stderr=err)


def measure(a, n, url, base):
    run(a, [a.measure, "run", "--url", url, "--contexts", "512", "--concurrency", str(n), "--prefill", "none", "--max-tokens", str(OUTPUT),
            "--duration", f"{a.seconds}s", "--calibrate=false", "--json", "--yes", "--out", base], base)
    with open(base + ".out") as f:
        row = json.loads(f.readline())
    with open(glob.glob(base + "/*/run.toml")[0], "rb") as f:
        stored = tomllib.load(f)
    p, t = stored["cell"][0]["pass"][0], stored["started"]
    epoch = int(t.replace(microsecond=0).timestamp()) * 10**9 + t.microsecond * 1000
    return {"ttft_ms": row["ttft_ms"], "between_ms": row["time_between_tokens_ms"], "tok_s": row["tok_s"], "status": row["status"],
            "window": (epoch + p["window_start_us"] * 1000, epoch + p["window_end_us"] * 1000)}


def guidellm(a, n, url, base):
    work = os.path.dirname(base)
    run(a, [f"{a.venvs}/guidellm/bin/guidellm", "run", "--backend", f"kind=openai_http,target={url.removesuffix('/v1')},model=pace",
            "--profile", f"kind=concurrent,streams={n}", "--constraint", f"kind=max_duration,seconds={a.seconds}",
            "--data", f"kind=json_file,path={work}/prompts.jsonl", "--output", f"kind=json,path={base}.json", "--disable-console"], base)
    with open(base + ".json") as f:
        m = json.load(f)["benchmarks"][0]["metrics"]
    return {"ttft_ms": m["time_to_first_token_ms"]["successful"]["median"], "between_ms": m["inter_token_latency_ms"]["successful"]["median"],
            "tok_s": m["output_tokens_per_second"]["total"]["mean"]}


def llama_benchy(a, n, url, base):
    work = os.path.dirname(base)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    book = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=work))
    threading.Thread(target=book.serve_forever, daemon=True).start()
    try:
        run(a, [f"{a.venvs}/llama-benchy/bin/llama-benchy", "--base-url", url, "--model", "pace", "--tokenizer", f"{work}/tokenizer",
                "--pp", "300", "--tg", str(OUTPUT), "--exact-tg", "--concurrency", str(n), "--runs", str(max(2, a.seconds // 2)),
                "--book-url", f"http://127.0.0.1:{book.server_port}/book.txt", "--skip-coherence", "--no-warmup", "--no-adapt-prompt",
                "--latency-mode", "none", "--save-result", base + ".json", "--format", "json"], base)
    finally:
        book.shutdown()
    with open(base + ".json") as f:
        b = json.load(f)["benchmarks"][0]
    return {"ttft_ms": statistics.median(b["e2e_ttft"]["values"]), "between_ms": 1000 / statistics.median(b["tg_req_throughput"]["values"]),
            "tok_s": b["tg_throughput"]["mean"]}


def aiperf(a, n, url, base):
    work = os.path.dirname(base)
    run(a, [f"{a.venvs}/aiperf/bin/aiperf", "profile", "--model", "pace", "--url", url.removesuffix("/v1"), "--endpoint-type", "chat", "--streaming",
            "--concurrency", str(n), "--benchmark-duration", str(a.seconds), "--input-file", f"{work}/texts.jsonl",
            "--custom-dataset-type", "single_turn", "--tokenizer", f"{work}/tokenizer", "--use-server-token-count",
            "--extra-inputs", "ignore_eos:true", f"max_tokens:{OUTPUT}", "--artifact-dir", base, "--ui", "none"], base, offline=False)
    with open(base + "/profile_export_aiperf.json") as f:
        m = json.load(f)
    return {"ttft_ms": m["time_to_first_token"]["p50"], "between_ms": m["inter_token_latency"]["p50"], "tok_s": m["output_token_throughput"]["avg"]}


CLIENTS = {"measure": measure, "guidellm": guidellm, "llama-benchy": llama_benchy, "aiperf": aiperf}

if __name__ == "__main__":
    sys.exit(main())
