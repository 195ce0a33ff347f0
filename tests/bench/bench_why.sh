#!/bin/bash
# The diagnosis against its goals: a live answer (35 s wall, 1 s CPU, 64 MB), one from a 12 h recording (2 s), fix's purge of 20,000 (10 s).
#   bench_why.sh BUILD
set -u
build=$1
zscope=$build/zscope
tmp=$(mktemp -d)
lab=
trap '[ -n "$lab" ] && "$zscope" lab clean "$lab" >/dev/null 2>&1; rm -rf "$tmp"' EXIT
status=0
measure() { # OUT COMMAND...: "wall cpu megabytes" into OUT; the command's own output goes nowhere
	python3 - "$@" <<'P'
import os, resource, subprocess, sys, time
begun = time.monotonic()
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{time.monotonic() - begun:.2f} {u.ru_utime + u.ru_stime:.2f} {u.ru_maxrss / 1024:.1f}\n")
P
}
line() { # NAME OURS GOAL UNIT
	awk -v name="$1" -v ours="$2" -v goal="$3" -v unit="$4" 'BEGIN {
		printf "%s: ours %s %s, ratio %.2f of the goal (goal <= %s %s)%s\n", name, ours, unit, ours / goal, goal, unit, (ours > goal ? " MISSED" : "")
		exit (ours > goal)
	}' || status=1
}

"$build/tests/bench/gen-store" "$tmp/store" --cores 96 --seconds 43200 --busy-core 39 >/dev/null || exit 1
measure "$tmp/m" "$zscope" why --store "$tmp/store" --json
read -r wall cpu mb <"$tmp/m"
line "why, 12 h of 96 cores, wall" "$wall" 2 s
line "why, 12 h of 96 cores, memory" "$mb" 64 MB
[ "$(id -u)" -eq 0 ] || { echo "why --watch, fix: need root"; exit $status; }

"$zscope" lab run zombies --count 20000 --keep --for 300s >"$tmp/lab" 2>&1 || { cat "$tmp/lab"; exit 1; }
lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$tmp/lab")
measure "$tmp/m" "$zscope" why --watch 30s --json --state "$tmp/state"
read -r wall cpu mb <"$tmp/m"
line "why --watch 30s, wall" "$wall" 35 s
line "why --watch 30s, CPU" "$cpu" 1 s
line "why --watch 30s, memory" "$mb" 64 MB
step=$("$zscope" fix --state "$tmp/state" | awk '$2 == "purge" { print $1; exit }')
measure "$tmp/m" "$zscope" fix "$step" --apply --below "/zscope-lab-$lab" --state "$tmp/state"
read -r wall cpu mb <"$tmp/m"
line "fix with purge of 20,000, wall" "$wall" 10 s
left=$("$zscope" zombies --below "/zscope-lab-$lab" --json | jq .dying)
echo "fix with purge of 20,000: $left are left, CPU $cpu s"
exit $status
