#!/bin/bash
# Inside a really booted systemd: a unit that crash-loops is named by `why`, stopped and masked by `fix --apply`, and restored
# byte for byte by `undo`; protected units, stale and unknown plans are refused; a killed fix can be undone.
set -u
zscope=$1
here=$(dirname "$(realpath "$0")")
# shellcheck source=/dev/null
. "$here/../rig/nspawn.sh"
dir=$(mktemp -d /var/tmp/zscope-fix-XXXXXX)
trap 'rig_down "$dir"' EXIT
failed=0

fail() { echo "FAILED: $1" >&2; failed=1; }
z() { rig_run "$dir" /opt/zscope/zscope "$@"; }
tree() { (cd "$dir/root/etc/systemd" && find . -printf '%y %m %p %l\n' | sort && find . -type f -exec sha256sum {} + | sort); }

rig_overlay "$dir" || exit $?
rig_quiet "$dir"
rig_program "$dir" "$zscope"
cat >"$dir/root/etc/systemd/system/agent.service" <<'U'
[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/false
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
U
# one that runs, with a stop of its own
cat >"$dir/root/etc/systemd/system/calm.service" <<'U'
[Service]
ExecStart=/bin/sleep 9999
ExecStop=/bin/sh -c 'echo gently >/run/calm-stopped'
RuntimeDirectory=calm
U
ln -s ../agent.service "$dir/root/etc/systemd/system/multi-user.target.wants/agent.service" 2>/dev/null
rig_boot "$dir" >/dev/null || exit $?
for _ in $(seq 200); do [ "$(rig_run "$dir" systemctl show agent.service -p NRestarts --value)" -ge 8 ] && break; sleep 0.3; done

before=$(tree)
z why --watch 5s --json >"$dir/why.json" 2>"$dir/why.err"
[ $? -eq 1 ] || fail "why: exit status is not 1: $(cat "$dir/why.err")"
# zombies of others on this machine may outrank it: it must be named, and be the only unit that is
jq -e '[.findings[] | select(.finding == "unit-crash-loop") | .place.unit] == ["agent.service"]' "$dir/why.json" >/dev/null ||
	fail "the culprit is not agent.service: $(jq -c '.verdict, [.findings[] | {finding, place}]' "$dir/why.json")"
step=$(jq -r '[.plan[] | select(.action == "disable" and .target == "agent.service") | .id][0] // 0' "$dir/why.json")
[ "$step" -gt 0 ] || fail "plan: $(jq -c '.plan' "$dir/why.json")"
jq -e '.chain[0].evidence | length > 0' "$dir/why.json" >/dev/null || fail "no evidence"

z fix "$step" >"$dir/dry.txt" || fail "dry run failed"
grep -q 'nothing was changed' "$dir/dry.txt" || fail "dry run does not say that nothing was changed"
z fix --json | jq -e --argjson id "$step" '[.plan[] | select(.id == $id)] == [{id: $id, action: "disable", target: "agent.service"}]' >/dev/null ||
	fail "fix --json does not list the plan"
z fix "$step" --json | jq -e '.schema == "zombiescope/fix/1" and .target == "agent.service" and .applied == false and (.would | length) >= 3' >/dev/null ||
	fail "a dry run as JSON"
[ "$(tree)" = "$before" ] || fail "a dry run changed files"
[ "$(rig_run "$dir" systemctl is-enabled agent.service)" = enabled ] || fail "a dry run changed the unit"

z fix 77 2>"$dir/err.txt"; [ $? -eq 2 ] && grep -q 'no step 77' "$dir/err.txt" || fail "unknown plan id: $(cat "$dir/err.txt")"

z fix "$step" --apply --no-purge >"$dir/apply.txt" 2>&1 || fail "fix --apply: $(cat "$dir/apply.txt")"
rig_run "$dir" systemctl is-active agent.service | grep -qE 'inactive|failed' || fail "the unit still runs"
[ "$(rig_run "$dir" systemctl is-enabled agent.service)" = masked ] || fail "the unit is not masked"
z fix "$step" --apply --no-purge 2>"$dir/err.txt"; [ $? -eq 2 ] && grep -q stale "$dir/err.txt" || fail "a stale plan is not refused: $(cat "$dir/err.txt")"

z undo --json >"$dir/undo.txt" 2>&1 || fail "undo: $(cat "$dir/undo.txt")"
jq -e '.schema == "zombiescope/undo/1" and .taken_back >= 2 and .left == 0' "$dir/undo.txt" >/dev/null || fail "undo --json: $(cat "$dir/undo.txt")"
[ "$(tree)" = "$before" ] || { fail "undo did not restore the files"; diff <(echo "$before") <(tree) >&2; }
[ "$(rig_run "$dir" systemctl is-enabled agent.service)" = enabled ] || fail "undo did not restore the unit"
z undo 2>"$dir/err.txt"; [ $? -eq 2 ] || fail "a second undo finds something"

# A fix that is killed before any of its writes, links or renames leaves something that undo restores.
if command -v strace >/dev/null; then
	z why --watch 3s --json >"$dir/why.json" 2>/dev/null
	step=$(jq -r '[.plan[] | select(.action == "disable" and .target == "agent.service") | .id][0] // 0' "$dir/why.json")
	[ "$step" -gt 0 ] || fail "the unit that undo brought back is not named again"
	for call in symlinkat renameat fdatasync; do
		strace -f -o /dev/null -e trace="$call" -e "inject=$call:signal=KILL:when=1" \
			nsenter -t "$(cat "$dir/init")" -m -u -i -n -p -C -r -w -- env LD_LIBRARY_PATH=/opt/zscope/lib \
			/opt/zscope/zscope fix "$step" --apply --no-purge >/dev/null 2>&1
		z undo >/dev/null 2>&1
		[ "$(tree)" = "$before" ] || { fail "killed at $call: undo did not restore"; diff <(echo "$before") <(tree) >&2; }
	done
fi

# Protected: refused unless named.
mkdir -p "$dir/root/var/lib/zombiescope/state"
boot=$(rig_run "$dir" cat /proc/sys/kernel/random/boot_id)
printf 'zscope-plan\t1\nboot\t%s\ntime\t%s000000000\nstep\t1\t0\tdbus.service\t-\nstep\t2\t0\t$(reboot).service\t-\n' "$boot" "$(date +%s)" \
	>"$dir/root/var/lib/zombiescope/state/plan"
z fix 1 --apply 2>"$dir/err.txt"; [ $? -eq 2 ] && grep -q protected "$dir/err.txt" || fail "dbus is not protected: $(cat "$dir/err.txt")"
z fix 2 --apply 2>"$dir/err.txt"; [ $? -eq 2 ] && grep -q 'no unit name' "$dir/err.txt" || fail "a shell name is not refused: $(cat "$dir/err.txt")"
# A unit is stopped in its own way, not as what is left of it under a mask.
rig_run "$dir" systemctl start calm.service
plan() { printf 'zscope-plan\t1\nboot\t%s\ntime\t%s000000000\nstep\t1\t0\tcalm.service\t%s\n' "$boot" "$(date +%s)" "$1" >"$dir/root/var/lib/zombiescope/state/plan"; }
plan - # stale; the refusal tells the state that is right
z fix 1 --apply 2>"$dir/err.txt"
now=$(sed -n "s/.*and is '\(.*\)' now.*/\1/p" "$dir/err.txt")
plan "$now"
z fix 1 --apply --no-purge >"$dir/apply.txt" 2>&1 || fail "fix of a running unit: $(cat "$dir/apply.txt" "$dir/err.txt")"
[ "$(rig_run "$dir" cat /run/calm-stopped 2>/dev/null)" = gently ] || fail "its ExecStop= was not run"
rig_run "$dir" test -e /run/calm && fail "its runtime directory is left"
[ "$(rig_run "$dir" systemctl is-enabled calm.service)" = masked ] || fail "calm.service is not masked"
z undo >"$dir/undo.txt" 2>&1 || fail "undo of a running unit: $(cat "$dir/undo.txt")"
[ "$(rig_run "$dir" systemctl is-active calm.service)" = active ] || fail "undo did not start calm.service again"
[ "$(tree)" = "$before" ] || fail "undo did not restore the files"
exit $failed
