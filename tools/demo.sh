#!/bin/bash
# make demo: the main job on this very machine, in at most 90 seconds: a real incident is staged in the lab's own capped cgroup, named,
# cured and proved; everything is removed at the end, also when it is interrupted or killed: the lab has a dead man of its own, the
# recorder and the page end after their time, and the directory goes with the last of them.
# Where systemd is pid 1, the incident is a real unit (and containers, where dockerd answers), and the cure is `zscope fix`.
#   demo.sh BUILD [REPORT]      ZSCOPE_DEMO_WAIT: seconds to wait at most for the incident to build up (default 25)
#                               ZSCOPE_DEMO_TOP: the cgroup that this machine's own hierarchy begins at, inside a container
set -u
zscope=$(realpath "$1/zscope")
dir=$(mktemp -d /var/tmp/zscope-demo-XXXXXX)
report=${2:-$PWD/zscope-demo.html}
wait=${ZSCOPE_DEMO_WAIT:-25}
top=${ZSCOPE_DEMO_TOP:-} state=$dir/state
lab= unit= below= recorder= page= watchdog= fixed=

finish() {
	# the fix of a lab unit goes first: then nothing of it is left on this machine
	[ -n "$unit" ] && [ -n "$fixed" ] && "$zscope" undo --state "$state" >/dev/null
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
unit=$(grep -oE "zscope-lab-$lab-agent.service" "$dir/lab.txt" | head -n 1)
below=$top/zscope-lab-$lab enough=9000
[ -z "$unit" ] || { below=$top/zscope_lab_${lab//-/_}.slice enough=4000; }
timeout $((wait + 100)) "$zscope" serve --store "$dir/store" --listen 127.0.0.1:0 >"$dir/page.txt" 2>&1 &
page=$!
# the reader pays by the number of zombies: let enough of them come
for ((i = 0; i < wait; i++)); do
	[ "$("$zscope" zombies --below "$below" --json 2>/dev/null | grep -oE '"dying":[0-9]+' | head -n 1 | grep -oE '[0-9]+')" -lt $enough ] 2>/dev/null || break
	sleep 1
done
echo "watch it while it happens: $(grep -oE 'http://[^ ]+' "$dir/page.txt" | head -n 1)"
reset() {
	"$zscope" lab run net-reset --mode inject >/dev/null 2>&1 ||
		echo "(no NIC queue with an interrupt here: no reset is injected)"
}

if [ -n "$unit" ]; then
	step "3. Why is it sick?   zscope why --watch 12s"
	{ sleep 8; reset; } & # while it watches
	"$zscope" why --watch 12s --state "$state"

	plan=$("$zscope" fix --state "$state" | awk -v unit="$unit" '$2 == "disable" && $3 == unit { print $1; exit }')
	[ -n "$plan" ] || { echo "the plan does not stop $unit: is something else wrong with this machine?" >&2; exit 1; }
	step "4. Cure the cause, and let the zombies go, without a reboot   zscope fix $plan --apply"
	echo "(with --below $below: this demo touches no zombies but its own)"
	fixed=@$(date +%s)
	"$zscope" fix "$plan" --apply --below "$below" --state "$state" || exit 1
else
	sleep 8
	reset
	sleep 2
	step "3. Why is it sick?   zscope why --from -15s"
	"$zscope" why --store "$dir/store" --from -15s

	step "4. Cure the cause, then let the zombies go, without a reboot   zscope purge --apply"
	echo "pid 1 is not systemd here, so the crash loop is no unit that 'zscope fix 1 --apply' could stop, but the lab's own process $agent: it is ended by its number"
	kill "$agent"
	fixed=@$(date +%s)
	"$zscope" purge --apply --below "$below" || true
fi

step "5. Did it help?   zscope validate --for 15s"
"$zscope" validate --store "$dir/store" --since "$fixed" --for 15s || true
"$zscope" events --store "$dir/store" --id validate

if "$zscope" report --help >/dev/null 2>&1; then
	step "6. A file for the ticket   zscope report"
	"$zscope" report --store "$dir/store" --from -50s --output "$report" && echo "written: $report"
fi
step "everything the lab made is removed"
