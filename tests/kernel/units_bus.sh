#!/bin/bash
# Inside a really booted systemd: what `record` hears over D-Bus (restarts over a reset of the counter, jobs that end badly), a manager that
# hangs when recording begins and answers later, and what `audit` says when systemd is away, refuses, denies or hangs, and when the
# engine never answers: named, partial, bounded, right exit status.
set -u
zscope=$1
here=$(cd "$(dirname "$0")" && pwd)
rig=$here/../rig/nspawn.sh
dir=$(mktemp -d /var/tmp/zscope-bus-XXXXXX)
holder=
down() { [ -n "$holder" ] && kill "$holder" 2>/dev/null; "$rig" down "$dir"; }
trap down EXIT
fail() { echo "FAIL: $1"; [ -f "$dir/out" ] && tail -c 3000 "$dir/out"; exit 1; }
inside() { "$rig" run "$dir" "$@"; }
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }

"$rig" overlay "$dir" || exit $?
"$rig" quiet "$dir"
"$rig" program "$dir" "$zscope"
# the engine is not needed here
ln -sf /dev/null "$dir/root/etc/systemd/system/docker.service"
ln -sf /dev/null "$dir/root/etc/systemd/system/docker.socket"
system=$dir/root/etc/systemd/system
printf '[Service]\nExecStart=/bin/sh -c "exit 5"\nRestart=on-failure\nRestartSec=1s\nStartLimitIntervalSec=0\n[Unit]\nStartLimitIntervalSec=0\n' >"$system/dies.service"
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' >"$system/breaks.service"
printf '[Unit]\nRequires=breaks.service\nAfter=breaks.service\n[Service]\nExecStart=/bin/sleep 100\n' >"$system/waits.service"
mkdir -p "$dir/root/etc/dbus-1/system.d" "$dir/root/opt/hang"
cat >"$dir/root/etc/dbus-1/system.d/deny.conf" <<'POLICY'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><policy user="nobody"><deny send_destination="org.freedesktop.systemd1"/></policy></busconfig>
POLICY
chmod 755 "$dir/root/opt" "$dir/root/opt/zscope" "$dir/root/opt/zscope/lib"
chmod -R a+rX "$dir/root/opt/zscope"
"$rig" boot "$dir" >/dev/null || exit $?

# sockets that listen and never answer; python is not in the tree, so they are made from outside
python3 - "$dir"/root/opt/hang/{private,dead,docker} <<'PY' &
import socket, sys, time
kept = []
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    if not path.endswith("dead"):
        s.listen(8)
    kept.append(s)
time.sleep(600)
PY
holder=$!
for ((i = 0; i < 300; i++)); do [ -S "$dir/root/opt/hang/docker" ] && break; sleep 0.1; done

# 1. `record` while the counter is reset, and while a job fails for want of another unit
has() { inside /opt/zscope/zscope events --store /tmp/store --json --id "$1" 2>/dev/null >"$dir/out"; jq -es "map(select($2)) | length >= ${3:-1}" "$dir/out" >/dev/null; }
until_has() { # until_has WHAT ID CONDITION [AT LEAST]
	local i
	for ((i = 0; i < 150; i++)); do has "$2" "$3" "${4:-1}" && return; sleep 0.3; done
	inside /opt/zscope/zscope events --store /tmp/store >"$dir/out" 2>&1
	fail "record: $1"
}
inside systemctl start dies.service
inside sh -c 'echo $$ >/tmp/pid; exec /opt/zscope/zscope record --no-profile --store /tmp/store' >/dev/null 2>&1 &
recorder=$!
until_has "no restarts are recorded" unit-restart '.fields.unit == "dies.service" and (.fields.exit | startswith("exit code 5")) and (.fields.invocation | length == 32)' 2
inside systemctl reset-failed dies.service
until_has "the counter's reset is not seen" unit-counter-reset '.fields.unit == "dies.service"'
before=$(jq -s 'length' "$dir/out")
until_has "no restart after the counter's reset" unit-restart '.fields.unit == "dies.service" and (.fields.restarts_recorded | tonumber) > (.fields.restarts | tonumber)'
inside systemctl start waits.service >/dev/null 2>&1
until_has "the job that failed is not told" unit-job-failed '.fields.unit == "waits.service" and (.text | endswith("dependency"))'
stop() { inside sh -c 'kill "$(cat /tmp/pid)"'; }
stop
wait "$recorder"
echo "record: restarts over $before reset of the counter, a job that failed for its dependency"

# 2. a manager that hangs when recording begins is asked again later
inside unshare -m sh -c 'mount --bind /opt/hang/private /run/systemd/private
	/opt/zscope/zscope record --no-profile --store /tmp/store2 >/dev/null 2>&1 &
	echo $! >/tmp/pid
	sleep 5; umount /run/systemd/private; wait' &
outer=$!
for ((i = 0; i < 200; i++)); do
	inside /opt/zscope/zscope events --store /tmp/store2 --json >"$dir/out" 2>/dev/null
	grep -q '"id":"unit-restart"' "$dir/out" && break
	sleep 0.3
done
grep -q '"id":"units-missing".*no answer within 2 s' "$dir/out" || fail "the hanging manager is not told"
grep -q '"id":"unit-restart"' "$dir/out" || fail "the manager was not asked again"
stop
wait "$outer"
echo "record: a manager that hung at the start was asked again"
inside systemctl stop dies.service

# 3. `audit` when systemd cannot be asked. The tree's own units are hidden, so that nothing else is found.
hide='mount -t tmpfs t /etc/systemd/system && mount -t tmpfs t /run/systemd && mkdir -p /run/systemd/system'
asks() { # asks NAME SETUP [RUN AS]: what audit tells, in at most 9 s
	local began took status
	began=$(date +%s%N)
	inside unshare -m sh -c "$hide && $2 && exec ${3:-} env DOCKER_HOST=unix:///opt/hang/${4:-none} LD_LIBRARY_PATH=/opt/zscope/lib /opt/zscope/zscope audit --json" >"$dir/out" 2>"$dir/err"
	status=$?
	took=$((($(date +%s%N) - began) / 1000000))
	[ "$status" = 2 ] || { cat "$dir/err"; fail "systemd $1: exit status $status instead of 2"; }
	jq -r '.unknown[] | select(.what == "systemd") | .why' "$dir/out" >"$dir/why"
	[ -s "$dir/why" ] || fail "systemd $1 is not named"
	[ "$took" -lt 20000 ] || fail "systemd $1: took $took ms" # two limits of 2 s, on a machine that may be busy
	echo "systemd $1: status 2, $(head -n 1 "$dir/why")"
}
asks absent 'mount -t tmpfs t /run/dbus'
grep -q 'No such file' "$dir/why" || fail "absent: $(cat "$dir/why")"
# a socket file that nobody listens on
asks refused 'touch /run/systemd/private && mount --bind /opt/hang/dead /run/systemd/private && mount --bind /opt/hang/dead /run/dbus/system_bus_socket'
grep -q 'Connection refused' "$dir/why" || fail "refused: $(cat "$dir/why")"
asks hanging 'touch /run/systemd/private && mount --bind /opt/hang/private /run/systemd/private' '' docker
grep -q 'no answer within 2 s' "$dir/why" || fail "hanging: $(cat "$dir/why")"
jq -e '.unknown[] | select(.what == "docker")' "$dir/out" >/dev/null || fail "the hanging engine is not named"
asks denied true 'setpriv --reuid=65534 --regid=65534 --clear-groups'
grep -qi 'permission denied\|access denied' "$dir/why" || fail "denied: $(cat "$dir/why")"
# without libsystemd: what systemctl says instead, and what to install
inside unshare -m sh -c 'mount --bind /dev/null "$(readlink -f /usr/lib/*/libsystemd.so.0)" && LD_LIBRARY_PATH=/opt/zscope/lib exec /opt/zscope/zscope audit --json' >"$dir/out" 2>"$dir/err"
status=$?
[ "$status" = 1 ] || { cat "$dir/err"; fail "without libsystemd: exit status $status instead of 1"; }
jq -e '.unknown[] | select(.what == "systemd") | .why | test("apt-get install libsystemd0")' "$dir/out" >/dev/null || fail "the missing library is not named"
jq -e '.units[] | select(.unit == "breaks.service") | .failed' "$dir/out" >/dev/null || fail "systemctl was not asked instead"
echo "without libsystemd: named, and systemctl was asked"
echo ok
