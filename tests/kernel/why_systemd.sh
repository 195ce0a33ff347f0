#!/bin/bash
# Inside a really booted systemd with a real dockerd: the crash-loop scenarios of the lab are staged with real units and containers, `why`
# names them, `fix --apply` stops them and lets the zombies go, `undo` brings everything back. Every demand is on the lab's own units,
# containers and files: whatever else lives on the machine, and however slow it is, does not matter.
set -u
zscope=$1
here=$(dirname "$(realpath "$0")")
[ -x /bin/busybox ] || { echo "busybox-static is missing"; exit 77; }
kind=whysys
# shellcheck source=/dev/null
. "$here/../rig/why.sh"

stage() {
	z lab run "$1" --mode unit --keep --for 900s >"$dir/lab" 2>&1 || { cat "$dir/lab"; fail "$1 does not start"; exit 1; }
	lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$dir/lab")
}
clean() {
	z lab clean "$lab" >"$dir/clean" 2>&1 || fail "lab clean: $(cat "$dir/clean")"
	[ -z "$(ls "$dir/scratch" | grep "zscope-lab-$lab")" ] || fail "the lab's directory is left"
}
ask() { z why --watch 5s --json >"$dir/why.json" 2>"$dir/why.err"; }
ask_until() { # COMMAND...: on a slow machine a loop may turn too seldom within one watch
	local try
	for try in 1 2 3 4; do
		ask
		"$@" && return 0
	done
	return 1
}
has() { jq -e --arg rule "$1" --arg unit "$2" '[.findings[] | select(.finding == $rule and .place.unit == $unit)] | length > 0' "$dir/why.json" >/dev/null; }
step() { jq -r --arg unit "$1" '[.plan[] | select(.action == "disable" and .target == $unit) | .id][0] // empty' "$dir/why.json"; }
is_down() { inside systemctl is-active "$1" | grep -qE '^(inactive|failed)$'; }
is_masked() { [ "$(inside systemctl is-enabled "$1" 2>/dev/null)" = masked ]; }
# Zombies that a file of the lab holds. Others (libraries of the tree) are not the incident's.
held() { z zombies --below "$top" --list --pins --json 2>/dev/null | jq --arg lab "zscope-lab-$lab/" '[.zombies[] | select([.pins[]?.file // "" | contains($lab)] | any)] | length'; }

rig_overlay "$dir" || exit $?
mkdir -p "$dir/scratch"
rig_quiet "$dir"
rig_program "$dir" "$zscope"
cp /bin/busybox "$dir/root/bin/busybox"
# the lab's files on a file system of its own: below an overlay the kernel names files that nobody inside can open
rig_boot "$dir" --bind="$dir/scratch:/var/tmp" >/dev/null || exit $?
# at boot the hierarchies were read-only (see the rig): look again, so that units get memory cgroups
inside systemctl daemon-reexec
z zombies --json 2>/dev/null | jq -e '.method == "census"' >/dev/null || { echo "no BPF census on this kernel"; exit 77; }
before=$(tree)

# two-culprits: both are named, both can be stopped, and what they left goes
stage two-culprits
first=zscope-lab-$lab-first.service second=zscope-lab-$lab-second.service
until_true 60 restarts "$first" 8 && until_true 60 restarts "$second" 8 || fail "the units do not loop"
both() { has unit-crash-loop "$first" && has unit-crash-loop "$second" && jq -e '[.plan[].action] | index("purge")' "$dir/why.json" >/dev/null; }
ask_until both || fail "two-culprits: not both are named, or no purge is planned: $(said)"
for unit in "$first" "$second"; do
	[ -n "$(step "$unit")" ] || { fail "two-culprits: no step stops $unit: $(said)"; exit 1; }
done
[ "$(held)" -gt 0 ] || fail "two-culprits: no zombie is held by the lab's files"

# somebody else is at it: refused
mkdir -p "$dir/root/var/lib/zombiescope/state"
(
	flock -n 8 || exit 1
	z fix "$(step "$first")" --apply --below "$top" >"$dir/two" 2>&1
	[ $? -eq 2 ] && grep -q 'another fix' "$dir/two"
) 8>>"$dir/root/var/lib/zombiescope/state/lock" || fail "two fixes at once: $(cat "$dir/two")"
is_masked "$first" && fail "the refused fix masked the unit"

# killed inside the purge: the unit is stopped, undo brings it back
if command -v strace >/dev/null; then
	strace -f -o /dev/null -e trace=fadvise64 -e inject=fadvise64:signal=KILL:when=1 \
		nsenter -t "$(cat "$dir/init")" -m -u -i -n -p -C -r -w -- env LD_LIBRARY_PATH=/opt/zscope/lib \
		/opt/zscope/zscope fix "$(step "$first")" --apply --below "$top" >"$dir/killed" 2>&1
	grep -q 'stopped' "$dir/killed" || fail "the fix was not killed after the stop: $(cat "$dir/killed")"
	grep -q 'purged' "$dir/killed" && fail "the fix was not killed inside the purge"
	is_masked "$first" || fail "killed in the purge: the unit is not masked"
	z undo >"$dir/undo" 2>&1 || fail "undo after a kill: $(cat "$dir/undo")"
	[ "$(tree)" = "$before" ] || fail "undo after a kill did not restore the files"
	until_true 30 restarts "$first" 1 || fail "undo did not start the unit again"
fi

for unit in "$first" "$second"; do
	z fix "$(step "$unit")" --apply --below "$top" >"$dir/fix" 2>&1 || fail "fix: $(cat "$dir/fix")"
	grep -q 'done: purged' "$dir/fix" || fail "fix does not end with the purge: $(cat "$dir/fix")"
	is_masked "$unit" || fail "$unit is not masked"
	is_down "$unit" || fail "$unit still runs"
done
# Both are down: nothing new comes. What is left goes as soon as its pages are written back.
gone() { [ "$(held)" = 0 ] || { z purge --apply --below "$top"; false; }; }
until_true 60 gone || { fail "$(held) zombies are still held by files of the lab"; z zombies --below "$top" --pins >&2; }
over() { ! has unit-crash-loop "$first" && ! has unit-crash-loop "$second"; }
ask_until over || fail "two-culprits: still called crash loops after the fix: $(said)"
z undo >"$dir/undo" 2>&1 && z undo >>"$dir/undo" 2>&1 || fail "undo: $(cat "$dir/undo")"
[ "$(tree)" = "$before" ] || { fail "undo did not restore the files"; diff <(echo "$before") <(tree) >&2; }
for unit in "$first" "$second"; do
	is_masked "$unit" && fail "undo left $unit masked"
	until_true 30 restarts "$unit" 1 || fail "undo did not start $unit again"
done
clean
until_true 30 is_down "$first" && until_true 30 is_down "$second" || fail "the units go on without their lab"

# crash-loop-no-zombies: the loop is named, and nobody is blamed for zombies
stage crash-loop-no-zombies
unit=zscope-lab-$lab.service
until_true 60 restarts "$unit" 8 || fail "the unit does not loop"
ask_until has unit-crash-loop "$unit" || fail "crash-loop-no-zombies: not named: $(said)"
own=$(z zombies --below "$top" --list --json 2>/dev/null | jq --arg unit "$unit" '[.zombies[] | select(.path | endswith($unit))] | length')
[ "$own" -ge 3 ] || ! has cgroup-churn "$unit" || fail "crash-loop-no-zombies: blamed for zombies that are not there: $(said)"
z fix "$(step "$unit")" --apply --no-purge >"$dir/fix" 2>&1 || fail "fix: $(cat "$dir/fix")"
is_down "$unit" || fail "$unit still runs"
z undo >"$dir/undo" 2>&1 || fail "undo: $(cat "$dir/undo")"
[ "$(tree)" = "$before" ] || fail "undo did not restore the files"
clean

# inner-supervisor: the unit is active and never restarts; its container says that it loops
if until_true 90 inside docker version; then
	stage inner-supervisor
	unit=zscope-lab-$lab.service
	creates() { [ "$(inside docker events --since 10m --until 0s --filter event=create --filter "container=zscope-lab-$lab" 2>/dev/null | wc -l)" -ge 5 ]; }
	until_true 90 creates || fail "the container is not recreated"
	ask_until has container-churn "$unit" || fail "inner-supervisor: not named: $(said)"
	has unit-crash-loop "$unit" && fail "inner-supervisor: called a unit that restarts: $(said)"
	z fix "$(step "$unit")" --apply --below "$top" >"$dir/fix" 2>&1 || fail "fix: $(cat "$dir/fix")"
	is_down "$unit" || fail "$unit still runs"
	z undo >"$dir/undo" 2>&1 || fail "undo: $(cat "$dir/undo")"
	[ "$(tree)" = "$before" ] || fail "undo did not restore the files"
	until_true 30 inside systemctl is-active "$unit" || fail "undo did not start $unit again"
	clean
	no_container() { [ -z "$(inside docker ps -aq --filter "name=zscope-lab-$lab")" ]; }
	until_true 40 is_down "$unit" || fail "the supervisor goes on without its lab"
	until_true 10 no_container || fail "its container is left"
else
	fail "dockerd does not answer: $(inside systemctl status docker --no-pager | tail -5)"
fi
[ $failed -eq 0 ] && echo "two-culprits, crash-loop-no-zombies, inner-supervisor: named, fixed, undone"
exit $failed
