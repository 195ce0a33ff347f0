#!/bin/bash
# Units against systemctl, in one run on one machine: CPU time of a sweep of all services, of an audit of an image, and of the recorder's
# watch while nothing happens.
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
rig=$here/../rig/nspawn.sh
zscope=$build/zscope
dir=$(mktemp -d /var/tmp/zscope-bench-XXXXXX)
trap '"$rig" down "$dir"' EXIT
status=0

cpu_ms() { # CPU time of a command, user + system, in ms, the least of 5 runs
	local best=999999 i t
	for i in 1 2 3 4 5; do
		t=$(python3 - "$@" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round((r.ru_utime + r.ru_stime) * 1000, 2))
PY
)
		best=$(python3 -c "print(min($best, $t))")
	done
	echo "$best"
}

say() { # NAME OURS PEER GOAL: ours / peer, at most goal
	python3 - "$@" <<'PY' || status=1
import sys
name, ours, peer, goal = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
ratio = ours / peer if peer else 0
ok = ratio <= goal
print(f"{name}: ours {ours:.2f} ms, peer {peer:.2f} ms, ratio {ratio:.3f} (goal {goal:g}) {'ok' if ok else 'MISSED'}")
sys.exit(not ok)
PY
}

"$rig" overlay "$dir" || exit $?
# 300 unit files
count=$(find "$dir/root/usr/lib/systemd/system" -maxdepth 1 -name '*.service' | wc -l)
for ((i = count; i < 300; i++)); do
	printf '[Service]\nExecStart=/bin/true\nRestart=on-failure\n[Install]\nWantedBy=multi-user.target\n' \
		>"$dir/root/usr/lib/systemd/system/bench-$i.service"
done
ours=$(cpu_ms "$zscope" audit --root "$dir/root" --json)
peer=$(cpu_ms systemctl --root="$dir/root" list-unit-files)
say units-image "$ours" "$peer" 0.2

# a really booted systemd with 60 services that run
for ((i = count; i < count + 60; i++)); do
	printf '[Service]\nExecStart=/bin/sleep infinity\n' >"$dir/root/etc/systemd/system/live-$i.service"
	mkdir -p "$dir/root/etc/systemd/system/multi-user.target.wants"
	ln -s "../live-$i.service" "$dir/root/etc/systemd/system/multi-user.target.wants/"
done
rm -f "$dir"/root/usr/lib/systemd/system/bench-*
"$rig" quiet "$dir"
"$rig" program "$dir" "$build/tests/bench/bench-units-sweep"
"$rig" boot "$dir" >/dev/null || exit $?
init=$(cat "$dir/init")
inside() { nsenter -t "$init" -a -- env LD_LIBRARY_PATH=/opt/zscope/lib "$@"; }
# each program measures many sweeps in one process, so that starting it counts for neither
ours=$(inside /opt/zscope/zscope 50)
list=$(cpu_ms nsenter -t "$init" -a -- systemctl list-units --no-pager)
show=$(cpu_ms nsenter -t "$init" -a -- systemctl show '*.service' -p NRestarts --no-pager)
start=$(cpu_ms nsenter -t "$init" -a -- true)
peer=$(python3 -c "print($list + $show - 2 * $start)")
say units-sweep "$ours" "$peer" 0.1

# the watch, while nothing happens: CPU time of the part over 5 s
idle=$(inside /opt/zscope/zscope idle)
python3 - "$idle" <<'PY' || status=1
import sys
ms = float(sys.argv[1])
ok = ms <= 0.5
print(f"units-watch-idle: ours {ms:.3f} ms CPU in 5 s, peer 0 ms, ratio - (goal: nothing, at most 0.5 ms) {'ok' if ok else 'MISSED'}")
sys.exit(not ok)
PY
exit $status
