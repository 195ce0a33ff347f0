#!/bin/bash
# CPU of importing a perf.data file against what perf itself needs to read it (perf script), and against the pipeline
# that people use for a flame graph (perf script | stackcollapse-perf.pl) where FlameGraph's script is given
# (STACKCOLLAPSE=/path/to/stackcollapse-perf.pl).
set -u
build=$1
zscope=$build/zscope
command -v perf >/dev/null || { echo "import: skipped, perf is not installed"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

load() { # busy on both cores, with system calls and short processes
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ]; do
		find /usr/lib -name '*.so' >/dev/null
		ls -laR /etc >/dev/null
	done
}
load 14 &
load 14 &
# perf 6.1 crashes, while recording and while reading, when another recorder asks the kernel for build ids meanwhile
for _ in 1 2 3; do
	perf record -q -F 9999 -g -a -e cpu-clock -o "$dir/perf.data" -- sleep 12 2>/dev/null || continue
	perf script -i "$dir/perf.data" >/dev/null 2>&1 && usable=yes && break
done
wait
[ -n "${usable:-}" ] || { echo "import: skipped, perf itself cannot read what it recorded here"; exit 0; }

cpu() { # user + system seconds of a command, the lower of two runs
	local best=999 t
	for _ in 1 2; do
		t=$( { TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }')
		best=$(echo "$t $best" | awk '{ print $1 < $2 ? $1 : $2 }')
	done
	echo "$best"
}
import() {
	rm -rf "$dir/store"
	"$zscope" import --store "$dir/store" "$dir/perf.data"
}
ratio() { # ratio NAME OURS PEER GOAL: ours may be at most GOAL of the peer
	awk -v n="$1" -v o="$2" -v p="$3" -v g="$4" 'BEGIN {
		r = p > 0 ? o / p : 0
		printf "%s: ours %.3f s, peer %.3f s, ratio %.3f (goal <= %.3f) %s\n", n, o, p, r, g, r <= g ? "ok" : "MISSED"
		exit r <= g ? 0 : 1
	}'
}

samples=$("$zscope" import --json --store "$dir/first" "$dir/perf.data" | sed 's/.*"samples":\([0-9]*\)}.*/\1/')
script=$(cpu perf script -i "$dir/perf.data")
ours=$(cpu import)
status=0
echo "import: $samples samples, $(stat -c %s "$dir/perf.data") bytes of perf.data, $(du -sb "$dir/first" | cut -f1) bytes of recording"
ratio "import vs perf script (CPU)" "$ours" "$script" 0.2 || status=1
folded=$(cpu "$zscope" flame --folded --store "$dir/first")
ratio "whole recording as folded vs perf script (CPU)" "$folded" "$script" 0.2 || status=1
if [ -n "${STACKCOLLAPSE:-}" ]; then
	perf script -i "$dir/perf.data" >"$dir/script.txt" 2>/dev/null
	perl=$(cpu "$STACKCOLLAPSE" "$dir/script.txt")
	text=$(cpu "$zscope" flame --folded "$dir/script.txt")
	ratio "perf script text as folded vs stackcollapse-perf.pl (CPU)" "$text" "$perl" 0.2 || status=1
fi
exit $status
