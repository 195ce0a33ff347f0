#!/bin/bash
# make demo: the main job on this very machine, in at most 90 seconds: a real incident is staged in the lab's own capped cgroup, named,
# cured and proved; everything is removed at the end, also when it is interrupted.
set -u
zscope=$(realpath "$1/zscope")
dir=$(mktemp -d /var/tmp/zscope-demo-XXXXXX)
report=${2:-$PWD/zscope-demo.html}
lab= recorder=

finish() {
	[ -n "$lab" ] && "$zscope" lab clean "$lab" >/dev/null
	[ -n "$recorder" ] && kill "$recorder" 2>/dev/null && wait "$recorder" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

step() { printf '\n\033[1m== %s\033[0m\n\n' "$*"; }

[ "$(id -u)" -eq 0 ] || { echo "make demo needs root: it makes cgroups and reads the kernel" >&2; exit 2; }

step "1. Is this node healthy?   zscope check"
"$zscope" check || true

step "2. The flight recorder starts, and an incident is staged   zscope record; zscope lab run pinterest"
"$zscope" record --store "$dir/store" 2>"$dir/record.log" &
recorder=$!
sleep 4
"$zscope" lab run pinterest --keep --for 75s >"$dir/lab.txt" 2>&1 || { cat "$dir/lab.txt"; exit 1; }
cat "$dir/lab.txt"
lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$dir/lab.txt")
agent=$(grep -oE 'lab-agent \(pid [0-9]+' "$dir/lab.txt" | grep -oE '[0-9]+$')
sleep 20
"$zscope" lab run net-reset --mode inject >/dev/null 2>&1 ||
	echo "(no NIC queue with an interrupt here: no reset is injected)"
sleep 2

step "3. Why is it sick?   zscope why --from -20s"
"$zscope" why --store "$dir/store" --from -20s

step "4. Cure the cause, then let the zombies go, without a reboot   zscope purge --apply"
echo "the crash loop is the lab's own process $agent: it is ended by its number (a unit is cured by zscope fix 1 --apply)"
kill "$agent"
fixed=@$(date +%s)
"$zscope" purge --apply --below "/zscope-lab-$lab" || true

step "5. Did it help?   zscope validate --for 15s"
"$zscope" validate --store "$dir/store" --since "$fixed" --for 15s || true

if "$zscope" report --help >/dev/null 2>&1; then
	step "6. A file for the ticket   zscope report"
	"$zscope" report --store "$dir/store" --from -50s --output "$report" && echo "written: $report"
fi
step "everything the lab made is removed"
