#!/bin/bash
# The whole incident inside a really booted systemd with a real dockerd: a unit that crash-loops and makes a container each time, a reader
# that pays for what they leave, a full core, an injected reset. `why` names the unit, `fix --apply` stops it and the zombies go,
# `validate` proves it, `undo` brings everything back, `lab clean` leaves nothing; nor does it after kill -9 or with a mask still in place.
set -u
zscope=$1
here=$(dirname "$(realpath "$0")")
kind=whyinc
# shellcheck source=/dev/null
. "$here/../rig/why.sh"

stage() { # ARGS...
	z lab run pinterest --mode unit --keep "$@" >"$dir/lab" 2>&1 || { cat "$dir/lab"; echo "FAILED: the incident does not stand"; exit 1; }
	names "$(grep -oE '^[0-9]+-[0-9a-f]+' "$dir/lab")"
}
names() { lab=$1 unit=zscope-lab-$1-agent.service scope=zscope-lab-$1-reader.scope slice=zscope_lab_${1//-/_}.slice; }
made() { local n; n=$(inside cat "/run/zscope-lab-$lab/made" 2>/dev/null); [ "${n%% *}" -ge "$1" ]; }
# Everything that may bear the lab's name, wherever it could be.
traces() {
	inside sh -c 'ls -d /run/systemd/*/*"$0"* /etc/systemd/system/*"$0"* /run/*"$0"* /var/tmp/*"$0"* /dev/shm/*"$0"* 2>/dev/null
		systemctl list-units --all --no-legend --plain "*$0*"; docker ps -a --format "container {{.Names}}" | grep -F "$0"
		docker images --format "image {{.Repository}}" | grep -F "$0"; find /sys/fs/cgroup -name "*$0*"' "$1"
	inside sh -c 'ls -d /run/systemd/*/*"$0"* 2>/dev/null; systemctl list-units --all --no-legend --plain "*$0*"; find /sys/fs/cgroup -name "*$0*"' "${1//-/_}"
}
no_traces() { [ -z "$(traces "$lab")" ]; }

rig_overlay "$dir" || exit $?
mkdir -p "$dir/scratch"
rig_quiet "$dir"
rig_program "$dir" "$zscope"
# the machine's own network devices and kernel log, for the injected reset; the lab's files on a file system of its own
RIG_HOST=1 rig_boot "$dir" --bind="$dir/scratch:/var/tmp" >/dev/null || exit $?
inside systemctl daemon-reexec # at boot the hierarchies were read-only (see the rig): look again, so that units get memory cgroups
z zombies --json 2>/dev/null | jq -e '.method == "census"' >/dev/null || { echo "no BPF census on this kernel"; exit 77; }
until_true 240 inside docker version || { echo "FAILED: dockerd does not answer: $(inside systemctl status docker --no-pager | tail -5)"; exit 1; }
before=$(tree)
z record --store /var/tmp/store --for 1800s >"$dir/record" 2>&1 &

stage --for 600s
grep -q "$unit, a real unit" "$dir/lab" && grep -q "makes the container zscope-lab-$lab, a real one" "$dir/lab" || fail "the lab does not say what is real: $(cat "$dir/lab")"
until_true 300 made 4000 || fail "only $(inside cat "/run/zscope-lab-$lab/made") cgroups were left"
until_true 180 restarts "$unit" 8 || fail "the unit does not loop"
[ "$(inside cat "/sys/fs/cgroup/memory/$slice/$scope/cgroup.procs" 2>/dev/null | wc -l)" = 1 ] || [ ! -d /sys/fs/cgroup/memory ] || fail "the reader is not in its scope"

# One watch may fall on a machine with other work: the lab's own findings must come, the core is full only if the reader gets it.
reader=$(grep -oE 'lab-reader \(pid [0-9]+' "$dir/lab" | grep -oE '[0-9]+$')
ticks() { inside cat "/proc/$reader/stat" | sed 's/.*) //' | awk '{ print $12 + $13 }'; }
complete() {
	jq -e --arg unit "$unit" --arg container "zscope-lab-$lab" '
		([.findings[] | select(.finding == "unit-crash-loop" and .place.unit == $unit)] | length > 0) and
		# which unit made it can be told only while its client is connected to the engine
		([.findings[] | select(.finding == "container-churn" and .place.container == $container and (.place.unit // $unit) == $unit)] | length > 0) and
		([.findings[] | select(.finding == "memcg-walk-cost" and .place.process == "lab-reader")] | length > 0) and
		# the first explanation, or one of the others where the machine has other work that is worse
		([.chain, .others[]?.chain] | map([.[].finding]) | map(.[0] == "unit-crash-loop" and index("memcg-zombies") and index("memcg-walk-cost")) | any)' \
		"$dir/why.json" >/dev/null
}
for _ in 1 2 3 4; do
	(sleep 7; z lab run net-reset --mode inject >"$dir/reset" 2>&1) &
	inject=$!
	t0=$(ticks)
	z why --watch 11s --json >"$dir/why.json" 2>"$dir/why.err"
	share=$((($(ticks) - t0) / 11)) # percent of a core
	wait $inject
	complete && break
done
complete || fail "the chain is cut: $(said)"
if ! grep -q 'no network queue' "$dir/reset"; then
	jq -e '[.findings[] | select(.finding == "net-driver-reset")] | length > 0 and all(.injected == true)' "$dir/why.json" >/dev/null ||
		fail "the reset is not there, or not labelled: $(said)"
fi
if [ "$share" -ge 97 ]; then
	jq -e '[.chain, .others[]?.chain] | map([.[].finding]) | map(.[0] == "unit-crash-loop" and index("core-saturated")) | any' "$dir/why.json" >/dev/null ||
		fail "the core was full, and the chain does not say so: $(said)"
else
	echo "the reader got $share % of its core: whether the core was full is not asked"
fi
step=$(jq -r --arg unit "$unit" '[.plan[] | select(.action == "disable" and .target == $unit) | .id][0] // empty' "$dir/why.json")
[ -n "$step" ] || { fail "no step stops $unit: $(said)"; exit 1; }

fixed=@$(date +%s)
z fix "$step" --apply --below "$top" >"$dir/fix" 2>&1 || fail "fix: $(cat "$dir/fix")"
[ "$(inside systemctl is-enabled "$unit" 2>/dev/null)" = masked ] || fail "$unit is not masked"
inside systemctl is-active "$unit" | grep -qE '^(inactive|failed)$' || fail "$unit still runs"
no_spool() { ! inside test -e "/run/zscope-lab-$lab"; }
until_true 60 no_spool || fail "the unit was not stopped in its own way: its spool is left"
own() { [ "$(z zombies --below "$top" --json | jq --arg unit "$unit" '[.groups[] | select(.owner == $unit) | .count] | add // 0')" -lt 100 ]; }
until_true 120 own || fail "the unit's zombies are left: $(z zombies --below "$top")"
inside systemctl is-active "$scope" >/dev/null || fail "the reader was ended too: it only suffers"

z validate --store /var/tmp/store --since "$fixed" --for 20s --json >"$dir/validate" 2>&1
jq -e '.verdict | test("^(healed|better)$")' "$dir/validate" >/dev/null || fail "validate: $(cat "$dir/validate")"
z events --store /var/tmp/store --id validate --json | jq -e '.text | startswith("validated: ")' >/dev/null || fail "the validation is not in the timeline"

z undo >"$dir/undo" 2>&1 || fail "undo: $(cat "$dir/undo")"
[ "$(tree)" = "$before" ] || { fail "undo did not restore the files"; diff <(echo "$before") <(tree) >&2; }
until_true 120 restarts "$unit" 1 || fail "undo did not start $unit again"
z lab clean "$lab" >"$dir/clean" 2>&1 || fail "lab clean: $(cat "$dir/clean")"
no_traces || fail "left by lab clean: $(traces "$lab")"

# masked by a fix that nobody takes back: the mask goes too, and a late undo does no harm
stage --for 600s --count 400
until_true 180 restarts "$unit" 8 || fail "the second unit does not loop"
looping() { z why --watch 3s --json >"$dir/why.json" 2>"$dir/why.err"; [ -n "$(jq -r --arg unit "$unit" '.plan[] | select(.target == $unit) | .id' "$dir/why.json")" ]; }
until_true 180 looping || fail "the second unit is not in the plan: $(said)"
z fix "$(jq -r --arg unit "$unit" '[.plan[] | select(.target == $unit) | .id][0]' "$dir/why.json")" --apply --no-purge >"$dir/fix" 2>&1 || fail "the second fix: $(cat "$dir/fix")"
z lab clean "$lab" >"$dir/clean" 2>&1 || fail "lab clean of a masked unit: $(cat "$dir/clean")"
no_traces || fail "left by lab clean of a masked unit: $(traces "$lab")"
z undo >"$dir/undo" 2>&1 || fail "undo after lab clean: $(cat "$dir/undo")"
[ "$(tree)" = "$before" ] || fail "a late undo changed files"

# kill -9 of the run itself: the unit loops on until lab clean
z lab run pinterest --mode unit --for 600s >"$dir/lab" 2>&1 &
state() { names "$(inside ls /run/zscope-lab | sed -n 's/^zscope-lab-//p' | head -n 1)"; [ -n "$lab" ] && made 100; }
until_true 180 state || fail "the third incident does not stand: $(cat "$dir/lab")"
inside kill -KILL "${lab%%-*}"
restarting() { restarts "$unit" 4; }
until_true 120 restarting || fail "the unit ended with the run"
z lab clean >"$dir/clean" 2>&1 || fail "lab clean after kill -9: $(cat "$dir/clean")"
no_traces || fail "left after kill -9: $(traces "$lab")"

# nobody cleans: the dead man does
stage --for 3s
until_true 180 no_traces || fail "left by the dead man: $(traces "$lab")"
[ "$(tree)" = "$before" ] || fail "files are not as they were"
[ $failed -eq 0 ] && echo "the whole incident through a unit and containers: named, cured, proved, undone, removed"
exit $failed
