#!/bin/bash
# The looping scenarios leave real zombies where a unit's or a container's would be, and every trace goes away again.
set -u
zscope=$1
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
export ZSCOPE_LAB_STATE=/run/zscope-lab-test-loops
fail() { echo "FAIL: $1"; "$zscope" lab clean >/dev/null 2>&1; exit 1; }
"$zscope" zombies --json 2>/dev/null | jq -e '.method == "census"' >/dev/null || { echo "no BPF census on this kernel"; exit 77; }
for scenario in crash-loop container-loop; do
	id=$("$zscope" lab run $scenario --mode process --count 12 --interval 20ms --for 60s --keep --json 2>/dev/null | jq -r '.id // empty')
	[ -n "$id" ] || id=$("$zscope" lab run $scenario --count 12 --interval 20ms --for 60s --keep 2>/dev/null | awk '{ print $1; exit }')
	[ -n "$id" ] || fail "$scenario did not start"
	for ((i = 0; i < 100; i++)); do
		n=$("$zscope" zombies --list --json 2>/dev/null | jq "[.zombies[] | select(.path | contains(\"zscope-lab-$id\"))] | length")
		[ "${n:-0}" -ge 12 ] && break
		sleep 0.1
	done
	[ "${n:-0}" -ge 12 ] || fail "$scenario left $n zombies instead of 12"
	"$zscope" lab clean "$id" >/dev/null || fail "$scenario: lab clean failed"
	find /sys/fs/cgroup -maxdepth 3 -name "zscope-lab-$id" 2>/dev/null | grep -q . && fail "$scenario: its cgroup is still there"
	echo "$scenario: $n zombies, then clean"
done
rmdir "$ZSCOPE_LAB_STATE" 2>/dev/null
echo ok
