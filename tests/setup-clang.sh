#!/bin/sh
# The clang build: warnings of a second compiler, nothing is run from it.
set -eu
[ -f "$1/build.ninja" ] || meson setup "$1" >/dev/null
ninja -C "$1" >"$1/ninja.log" 2>&1 || { tail -n 60 "$1/ninja.log"; exit 1; }
