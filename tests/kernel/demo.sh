#!/bin/bash
# `make demo` as a person sees it: the incident is staged, the culprit named with its chain, the zombies let go, and the proof is there; in
# at most 90 s on a machine with nothing else to do (not tested: a slow machine is no failure), and nothing is left behind.
set -u
source=$1 build=$(dirname "$(realpath "$2")")
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bash "$source/tools/demo.sh" "$build" "$tmp/report.html" >"$tmp/out" 2>&1 || { cat "$tmp/out"; echo "FAILED: the demo ends with an error"; exit 1; }
cat "$tmp/out"
need() { grep -qE "$1" "$tmp/out" || { echo "FAILED: '$1' is not in the demo"; exit 1; }; }
need '^VERDICT .*lab-agent'
need 'memcg-zombies'
need 'memcg-walk-cost +lab-reader'
need '^(.\[[0-9;]*m)?(healed|better)'
[ -s "$tmp/report.html" ] || { echo "FAILED: no report"; exit 1; }
left=$(ls -d /sys/fs/cgroup/*/zscope-lab-* /var/tmp/zscope-lab-* /var/tmp/zscope-demo-* 2>/dev/null)
[ -z "$left" ] || { echo "FAILED: left behind: $left"; exit 1; }
