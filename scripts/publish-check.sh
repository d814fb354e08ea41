#!/bin/sh
# What CI does with a pull request, here: check all runs, refuse changes to runs that $BASE has, build the site.
set -eu
base=${BASE:-main}
bin/sitegen check results
if git rev-parse --quiet --verify "$base" >/dev/null; then
    git diff --name-status --no-renames -z "$base...HEAD" | bin/sitegen check --changes - --results results
else
    echo "publish-check: there is no branch $base: changes to existing runs are not looked for (name one with BASE=)" >&2
fi
bin/sitegen build --results results --templates templates --out site
