#!/bin/bash
# `make demo` as a person sees it: the incident is staged, the culprit named with its chain, the zombies let go, and the proof is there; in
# at most 90 s on a machine with nothing else to do (not tested: a slow machine is no failure), and nothing is left behind.
#   demo.sh SOURCE ZSCOPE [systemd]     systemd: inside a really booted one, where the cure is `zscope fix`
set -u
source=$1 build=$(dirname "$(realpath "$2")")
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
if [ "${3:-}" = systemd ]; then
	# shellcheck source=/dev/null
	. "$source/tests/rig/nspawn.sh"
	dir=$(mktemp -d /var/tmp/zscope-demosys-XXXXXX)
	trap 'rig_down "$dir"' EXIT
	inside() { rig_run "$dir" "$@"; }
	need() { grep -qE "$1" "$dir/out" || { echo "FAILED: '$1' is not in the demo"; exit 1; }; }
	etc() { (cd "$dir/root/etc/systemd" && find . -printf '%y %m %p %l\n' | sort); }
	rig_overlay "$dir" || exit $?
	mkdir -p "$dir/scratch"
	rig_quiet "$dir"
	rig_program "$dir" "$build/zscope"
	cp "$source/tools/demo.sh" "$dir/root/opt/zscope/demo.sh"
	# the machine's own network devices and kernel log, for the injected reset
	RIG_HOST=1 rig_boot "$dir" --bind="$dir/scratch:/var/tmp" >/dev/null || exit $?
	inside systemctl daemon-reexec # so that units get memory cgroups, see the rig
	for _ in $(seq 300); do inside docker version >/dev/null 2>&1 && break; sleep 0.3; done
	before=$(etc)
	inside ZSCOPE_DEMO_WAIT=150 ZSCOPE_DEMO_TOP="/zscope-rig-$(basename "$dir")" bash /opt/zscope/demo.sh /opt/zscope /var/tmp/report.html >"$dir/out" 2>&1 ||
		{ cat "$dir/out"; echo "FAILED: the demo ends with an error"; exit 1; }
	cat "$dir/out"
	need 'agent.service, a real unit'
	need 'makes the container zscope-lab-[^ ]+, a real one'
	need 'unit-crash-loop +zscope-lab-[^ ]+-agent.service crash-loops'
	need 'memcg-walk-cost +lab-reader'
	need '== 4\. .*zscope fix [0-9]+ --apply'
	need 'done: stopped: zscope-lab-[^ ]+-agent.service'
	need 'validated: (healed|better)'
	[ -s "$dir/scratch/report.html" ] || { echo "FAILED: no report"; exit 1; }
	rm "$dir/scratch/report.html"
	[ "$(etc)" = "$before" ] || { echo "FAILED: units are not as they were"; diff <(echo "$before") <(etc); exit 1; }
	left=$(inside sh -c 'ls /var/tmp | grep zscope; ls -d /run/zscope-lab* 2>/dev/null; ls /run/systemd/system | grep zscope
		systemctl list-units --all --no-legend --plain "zscope*"; docker ps -aq; docker images -q; find /sys/fs/cgroup -name "zscope*"')
	[ -z "$left" ] || { echo "FAILED: left behind: $left"; exit 1; }
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ZSCOPE_DEMO_WAIT=150 bash "$source/tools/demo.sh" "$build" "$tmp/report.html" >"$tmp/out" 2>&1 || { cat "$tmp/out"; echo "FAILED: the demo ends with an error"; exit 1; }
cat "$tmp/out"
need() { grep -qE "$1" "$tmp/out" || { echo "FAILED: '$1' is not in the demo"; exit 1; }; }
need '^watch it while it happens: http://'
# not the first line of the verdict: on a machine with other work that may be about the other work
need 'memory cgroups a minute are made by lab-agent'
need 'memcg-zombies'
[ -d /run/systemd/system ] || need 'pid 1 is not systemd here'
need 'validated: (healed|better)' # kept in the timeline
need 'memcg-walk-cost +lab-reader'
need '^(.\[[0-9;]*m)?(healed|better)'
[ -s "$tmp/report.html" ] || { echo "FAILED: no report"; exit 1; }
lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$tmp/out" | head -n 1)
left=$(ls -d /sys/fs/cgroup/*/zscope-lab-"$lab" /var/tmp/zscope-lab-"$lab" "$(grep -oE '/var/tmp/zscope-demo-[^ ]+' "$tmp/out" | head -n 1)" 2>/dev/null)
[ -z "$left" ] || { echo "FAILED: left behind: $left"; exit 1; }
# killed: the dead men remove everything, later than a test can wait; that they stand is seen at once
ZSCOPE_DEMO_WAIT=1 bash "$source/tools/demo.sh" "$build" "$tmp/report.html" >"$tmp/killed" 2>&1 &
demo=$!
for _ in $(seq 300); do
	grep -q 'stands' "$tmp/killed" && break
	sleep 0.2
done
lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$tmp/killed")
[ -n "$lab" ] || { cat "$tmp/killed"; echo "FAILED: the second demo stages nothing"; exit 1; }
kill -KILL $demo
wait $demo 2>/dev/null
dir=$(grep -oE '/var/tmp/zscope-demo-[^ ]+' "$tmp/killed" | head -n 1)
[ -d "$dir" ] && pgrep -f "dead-man $dir" >/dev/null || { echo "FAILED: no dead man watches the killed demo"; exit 1; }
"$build/zscope" lab clean "$lab" >/dev/null || { echo "FAILED: lab clean after the kill"; exit 1; }
# what is left: recorder, page and dead man of the killed demo, each with its own end; not to be waited for
for pid in $(pgrep -f "$dir"); do kill "$pid"; done
rm -rf "$dir"
