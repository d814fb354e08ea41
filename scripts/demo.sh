#!/bin/sh
# The whole way in a minute: build, start the simulated engine, measure a small matrix against it, make the
# site, print where its page is. The run stays in .cache/demo/results until the next demo.
set -eu
cd "$(dirname "$0")/.."
go build -trimpath -o bin/ ./cmd/...

scratch=$(mktemp -d)
rm -rf .cache/demo # the run of the demo before
engine=
trap 'test -z "$engine" || kill "$engine" 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

bin/measure simulate --profile tiny --listen 127.0.0.1:0 >"$scratch/engine.log" 2>&1 &
engine=$!
url=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	url=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$scratch/engine.log")
	test -z "$url" || break
	sleep 0.25
done
test -n "$url" || { echo "demo: the simulated engine did not start:" >&2; cat "$scratch/engine.log" >&2; exit 1; }

bin/measure run --url "$url" --contexts 1K,4K --concurrency 1,2,4,8 --max-tokens 256 --duration 2s \
	--yes --out .cache/demo/results
bin/sitegen build --results .cache/demo/results --templates templates --cache "" --out site
echo "The page: $(pwd)/site/index.html"
