#!/bin/bash
# The profiler against `perf record -F 97 -g -a` on the same load, and a window of a large recording against
# `perf script | stackcollapse-perf.pl` (STACKCOLLAPSE=path of FlameGraph's script; without it perf script alone is the peer).
# bench_profile.sh BUILD
set -u
build=$1
dir=$(mktemp -d /var/tmp/zscope-bench-profile-XXXXXX) || exit 2
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
command -v perf >/dev/null || { echo "profile: skipped, perf is not installed"; exit 0; }

cat >"$dir/run.py" <<'PY'
"""run.py KEY COMMAND...: run it, append "KEY cpu_s maxrss_kb" to the file in $RESULTS"""
import os, sys
null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
# of that one process: a python behind a wrapper has other children
_, status, u = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=null), 0)
open(os.environ["RESULTS"], "a").write(f"{sys.argv[1]} {u.ru_utime + u.ru_stime} {u.ru_maxrss}\n")
sys.exit(os.waitstatus_to_exitcode(status))
PY
export RESULTS="$dir/results"
run() { python3 "$dir/run.py" "$@"; }
best() { awk -v k="$1" -v c="$2" '$1 == k && (m == "" || $c < m) { m = $c } END { print m }' "$RESULTS"; }
status=0
line() { # line NAME OURS PEER GOAL: ratio ours/peer must be at most the goal
	python3 - "$@" <<'PY' || status=1
import sys
name, ours, peer, goal = sys.argv[1], *map(float, sys.argv[2:5])
ratio = ours / peer if peer else float("inf")
ok = ratio <= goal
print(f"profile {name}: ours {ours:.6g}, peer {peer:.6g}, ratio {ratio:.4g} (goal {goal:.4g}) {'ok' if ok else 'MISSED'}")
sys.exit(not ok)
PY
}

# 1. cost and size, all recorders side by side on one mixed load: both cores full, processes that come and go
mixed() {
	"$build/tests/kernel/profile-load" mix 66 &
	while :; do find /usr/share/doc -name 'c*' | sort | tail -1; sed -n 1p /etc/hostname; python3 -c 'print(sum(range(200000)))'; done >/dev/null 2>&1 &
	loop=$!
	wait %1
	kill $loop
}
mixed &
run ours "$build/zscope" record --store "$dir/with" --for 60s &
run ticks "$build/zscope" record --no-profile --store "$dir/without" --for 60s &
run perf perf record -q -F 97 -g -a -o "$dir/perf.data" sleep 60
sleep 5
kill $(jobs -p) 2>/dev/null
wait 2>/dev/null
"$build/zscope" flame --store "$dir/with" --json >"$dir/flame.json"
read -r samples lost < <(python3 -c "import json; d = json.load(open('$dir/flame.json')); print(d['samples'], d['lost'])")
peer_samples=$(perf script -i "$dir/perf.data" -F pid 2>/dev/null | grep -c .)
bytes() { find "$1" -name '*.seg' -printf '%s\n' | awk '{ s += $1 } END { print s + 0 }'; }
profile_bytes=$(($(bytes "$dir/with") - $(bytes "$dir/without")))
line "cpu of the recorder's profile part, s in 60 s" "$(python3 -c "print(max($(best ours 2) - $(best ticks 2), 0.0001))")" "$(best perf 2)" 0.3333
line "bytes a sample" "$(python3 -c "print($profile_bytes / $samples)")" "$(python3 -c "print($(stat -c %s "$dir/perf.data") / $peer_samples)")" "$(python3 -c "print(8 / ($(stat -c %s "$dir/perf.data") / $peer_samples))")"
line "lost samples with all cores busy" "$lost" 1 0

# 2. a window and a heat map of a day with 96 cores; the window must not cost more in the longer recording
"$build/tests/bench/gen-profile" "$dir/hour" --seconds 3600 --busy 50 >/dev/null
"$build/tests/bench/gen-profile" "$dir/day" --seconds 86400 --busy 50 >"$dir/gen"
at=$(($(date +%s) - 1800))
for _ in 1 2 3 4 5; do
	run window "$build/zscope" flame --store "$dir/day" --folded --at "@$at" --for 5s
	run window-hour "$build/zscope" flame --store "$dir/hour" --folded --at "@$at" --for 5s
	run heat "$build/zscope" heat --store "$dir/day" --json
done
line "window of 5 s in a day of 96 cores, cpu s" "$(best window 2)" 0.05 1
line "the same, memory MB" "$(python3 -c "print($(best window 3) / 1024)")" 64 1
line "the same against an hour's recording" "$(best window 2)" "$(best window-hour 2)" 1.3
line "heat map of a day, cpu s" "$(best heat 2)" 0.5 1

# 3. the peer's way to the same window: its one right file of two minutes (96 cores at 50 %), scaled from a recording of this machine
perf record -q -F 2999 -g -a -o "$dir/dense.data" -- "$build/tests/kernel/profile-load" mix 6 >/dev/null 2>&1
run script perf script -i "$dir/dense.data"
dense=$(perf script -i "$dir/dense.data" -F comm,time 2>/dev/null | tee "$dir/times" | grep -c ':')
peer=$(best script 2)
if [ -r "${STACKCOLLAPSE:-}" ]; then
	perf script -i "$dir/dense.data" >"$dir/script.txt" 2>/dev/null
	run collapse perl "$STACKCOLLAPSE" "$dir/script.txt"
	peer=$(python3 -c "print($peer + $(best collapse 2))")
else
	echo "profile window against perf script | stackcollapse-perf.pl: not measured (STACKCOLLAPSE=its path); perf script alone is:"
	unset STACKCOLLAPSE
fi
line "window against perf script${STACKCOLLAPSE:+ and stackcollapse} on its right file (scaled to $((96 * 97 * 60)) samples)" \
	"$(best window 2)" "$(python3 -c "print($peer / $dense * 96 * 97 * 60)")" 0.0025
exit $status
