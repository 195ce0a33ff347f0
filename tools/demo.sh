#!/bin/bash
# make demo: the main job on this very machine, in at most 90 seconds: a real incident is staged in the lab's own capped cgroup, named,
# cured and proved; everything is removed at the end, also when it is interrupted or killed: the lab has a dead man of its own, the
# recorder and the page end after their time, and the directory goes with the last of them.
#   demo.sh BUILD [REPORT]      ZSCOPE_DEMO_WAIT: seconds to wait at most for the incident to build up (default 25)
set -u
zscope=$(realpath "$1/zscope")
dir=$(mktemp -d /var/tmp/zscope-demo-XXXXXX)
report=${2:-$PWD/zscope-demo.html}
wait=${ZSCOPE_DEMO_WAIT:-25}
lab= recorder= page= watchdog=

finish() {
	[ -n "$lab" ] && "$zscope" lab clean "$lab" >/dev/null
	[ -n "$page" ] && kill "$page" 2>/dev/null && wait "$page" 2>/dev/null
	[ -n "$recorder" ] && kill "$recorder" 2>/dev/null && wait "$recorder" 2>/dev/null
	rm -rf "$dir"
	[ -n "$watchdog" ] && kill "$watchdog" 2>/dev/null
}
trap finish EXIT
trap 'exit 130' INT TERM

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
step() { printf '\n%s== %s%s\n\n' "$bold" "$*" "$plain"; }

[ "$(id -u)" -eq 0 ] || { echo "make demo needs root: it makes cgroups and reads the kernel" >&2; exit 2; }

# The dead man of what is not the lab's: removes the directory when this script was killed.
setsid bash -c 'for ((i = 0; i < $2; i++)); do [ -d "$1" ] || exit 0; sleep 1; done; rm -rf "$1"' dead-man "$dir" $((wait + 120)) \
	</dev/null >/dev/null 2>&1 &
watchdog=$!

step "1. Is this node healthy?   zscope check"
"$zscope" check || true

step "2. The flight recorder starts, and an incident is staged   zscope record; zscope lab run pinterest"
"$zscope" record --store "$dir/store" --for $((wait + 100))s 2>"$dir/record.log" &
recorder=$!
echo "the recording is in $dir while this runs"
sleep 4
"$zscope" lab run pinterest --keep --for $((wait + 60))s >"$dir/lab.txt" 2>&1 || { cat "$dir/lab.txt"; exit 1; }
cat "$dir/lab.txt"
lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$dir/lab.txt")
agent=$(grep -oE 'lab-agent \(pid [0-9]+' "$dir/lab.txt" | grep -oE '[0-9]+$')
timeout $((wait + 100)) "$zscope" serve --store "$dir/store" --listen 127.0.0.1:0 >"$dir/page.txt" 2>&1 &
page=$!
# the reader pays by the number of zombies: let enough of them come
for ((i = 0; i < wait; i++)); do
	[ "$("$zscope" zombies --below "/zscope-lab-$lab" --json 2>/dev/null | grep -oE '"dying":[0-9]+' | head -n 1 | grep -oE '[0-9]+')" -lt 9000 ] 2>/dev/null || break
	sleep 1
done
sleep 8
echo "watch it while it happens: $(grep -oE 'http://[^ ]+' "$dir/page.txt" | head -n 1)"
"$zscope" lab run net-reset --mode inject >/dev/null 2>&1 ||
	echo "(no NIC queue with an interrupt here: no reset is injected)"
sleep 2

step "3. Why is it sick?   zscope why --from -15s"
"$zscope" why --store "$dir/store" --from -15s

step "4. Cure the cause, then let the zombies go, without a reboot   zscope purge --apply"
echo "the crash loop is the lab's own process $agent: it is ended by its number (a unit is cured by zscope fix 1 --apply)"
kill "$agent"
fixed=@$(date +%s)
"$zscope" purge --apply --below "/zscope-lab-$lab" || true

step "5. Did it help?   zscope validate --for 15s"
"$zscope" validate --store "$dir/store" --since "$fixed" --for 15s || true
"$zscope" events --store "$dir/store" --id validate

if "$zscope" report --help >/dev/null 2>&1; then
	step "6. A file for the ticket   zscope report"
	"$zscope" report --store "$dir/store" --from -50s --output "$report" && echo "written: $report"
fi
step "everything the lab made is removed"
