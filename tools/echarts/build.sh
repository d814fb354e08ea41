#!/bin/sh
# Rebuilds templates/assets/echarts.min.js from the pinned packages of package-lock.json: same input, same bytes.
# Needs node and npm; run it only to change the version or the parts listed in entry.js.
set -eu
cd "$(dirname "$0")"
out=../../templates/assets
npm ci --ignore-scripts --no-audit --no-fund
mkdir -p "$out"
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=echarts \
  --target=es2020 --legal-comments=none --charset=utf8 --define:process.env.NODE_ENV='"production"' \
  --banner:js='/* Apache ECharts 6.1.0, Apache-2.0, see LICENSE-echarts.txt; zrender 6.1.0, BSD-3-Clause */' \
  --outfile="$out/echarts.min.js"
{
  echo "echarts.min.js is a bundle of Apache ECharts and its dependencies zrender and tslib, unchanged but for"
  echo "tree-shaking and minification. Their notices and licences follow."
  for part in echarts/NOTICE echarts/LICENSE zrender/LICENSE tslib/LICENSE.txt; do
    printf '\n==== %s ====\n\n' "$part"
    cat "node_modules/$part"
  done
} > "$out/LICENSE-echarts.txt"
printf 'gzip: '
gzip -9 -c "$out/echarts.min.js" | wc -c
