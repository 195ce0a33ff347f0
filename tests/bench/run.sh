#!/bin/bash
# make bench: every tests/bench/bench_*.sh, each printing "name: ours X, peer Y, ratio R (goal G)". Ratios, never seconds.
set -u
cd "$(dirname "$0")" || exit 2
build=$(realpath "../../$1")
status=0
for bench in bench_*.sh; do
	[ -e "$bench" ] || continue
	"./$bench" "$build" || status=1
done
exit $status
