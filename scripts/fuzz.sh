#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME (20s) each, one after the other.
set -eu
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal | xargs -n 1 dirname | sort -u); do
	for name in $(grep -h -o '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -c6- | sort -u); do
		echo "== $dir $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-20s}" "./$dir"
	done
done
