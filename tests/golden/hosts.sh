#!/bin/bash
# check and cores on invented hosts: text, JSON and exit status, byte by byte.
# UPDATE=1 tests/golden/hosts.sh SOURCE ZSCOPE writes what is expected; read the difference before you commit it.
set -u
source=$(realpath "$1")
zscope=$(realpath "$2")
expect=$source/tests/golden/expect
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 "$source/tests/golden/make_hosts.py" "$tmp/hosts" || exit 1
cd "$tmp/hosts" || exit 1
export TZ=UTC LC_ALL=C.UTF-8
unset NO_COLOR
status=0

pretty() {
	python3 -c 'import json, sys
for line in sys.stdin:
    value = json.loads(line)
    for key, item in value.items():
        rows = item if isinstance(item, list) else [item]
        for row in rows:
            print(key, json.dumps(row))' || echo "NO JSON"
}

compare() { # compare NAME COMMAND...
	local name=$1
	shift
	{
		"$@" >"$tmp/out" 2>"$tmp/err"
		local r=$?
		case $name in
		*.json) pretty <"$tmp/out" ;; # fails on anything that is no JSON, control bytes included
		*) cat "$tmp/out" ;;
		esac
		echo "exit $r"
		sed 's/^/stderr: /' "$tmp/err"
	} >"$tmp/$name"
	if [ -n "${UPDATE:-}" ]; then
		cp "$tmp/$name" "$expect/$name"
	elif ! diff -u "$expect/$name" "$tmp/$name"; then
		echo "FAILED $name: $*"
		status=1
	fi
	# whatever a name holds, no control byte but newline reaches the output
	if LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]' "$tmp/$name"; then
		echo "FAILED $name: control bytes in the output"
		status=1
	fi
}

for host in v1-96 v2 hybrid container hostile broken empty; do
	compare "check-$host.txt" "$zscope" check --root "$host"
	compare "check-$host.json" "$zscope" check --json --root "$host"
	compare "cores-$host.txt" "$zscope" cores --root "$host"
	compare "cores-$host.json" "$zscope" cores --json --root "$host"
	compare "why-$host.txt" "$zscope" why --root "$host"
	compare "why-$host.json" "$zscope" why --json --root "$host"
done
compare hot-v1-96.txt "$zscope" cores --hot --root v1-96
compare hot-v1-96.json "$zscope" cores --hot --json --root v1-96
compare hot-hybrid.txt "$zscope" cores --hot --root hybrid
compare hot-hostile.txt "$zscope" cores --hot --root hostile # two cores: one of them is half of the mean
compare hot-hostile.json "$zscope" cores --hot --json --root hostile
# a core whose line cannot be read is named, not left out: a negative number, and one that is too large
cp -r v2 odd
sed -i 's/^cpu1 [0-9]*/cpu1 -5/; s/^cpu3 \([0-9]*\) [0-9]*/cpu3 \1 99999999999999999999/' odd/proc/stat
compare cores-odd.txt "$zscope" cores --root odd
compare cores-odd.json "$zscope" cores --json --root odd
# steal is not the user's
sed -i 's/^\(cpu[0-9] .*\) 0 0 0$/\1 400 0 0/' odd/proc/stat
"$zscope" cores --root odd | grep -qE ' [#=]+~~~+\.*$' || { echo "FAILED: no sign of steal in the bar"; status=1; }
# a reader that has seen enough is no error
"$zscope" cores --root v1-96 2>"$tmp/err" | head -n 1 >/dev/null
[ "${PIPESTATUS[0]}" = 0 ] && [ ! -s "$tmp/err" ] || { echo "FAILED: cores | head: $(cat "$tmp/err")"; status=1; }
python3 - "$zscope" <<'PY' || status=1
import os, subprocess, sys
ours, theirs = os.pipe()  # nobody reads: the first byte finds that out
os.close(ours)
r = subprocess.run([sys.argv[1], "cores", "--root", "v1-96"], stdout=theirs, stderr=subprocess.PIPE)
if r.returncode or r.stderr:
    sys.exit(f"FAILED: a closed pipe: status {r.returncode}, {r.stderr}")
PY
"$zscope" cores --root v1-96 >/dev/full 2>"$tmp/err"
[ $? = 2 ] && grep -q 'No space left' "$tmp/err" || { echo "FAILED: a full disk is no success"; status=1; }

compare nagios-v1-96.txt "$zscope" check --format nagios --root v1-96
compare nagios-hybrid.txt "$zscope" check --format nagios --root hybrid
compare nagios-empty.txt "$zscope" check --format nagios --root empty
compare nagios-container.txt "$zscope" check --format nagios --root container
compare nagios-v2.txt "$zscope" check --format nagios --root v2
# an error is no alarm to Nagios
compare nagios-missing.txt "$zscope" check --format nagios --root missing
compare npd-v2.txt "$zscope" check --format npd --root v2
compare npd-v1-96.txt "$zscope" check --format npd --root v1-96
compare npd-hybrid.txt "$zscope" check --format npd --root hybrid

# one reading only: no rates, so an essential line is not known and nobody is called healthy; what to run next can be pasted
mkdir 'one reading'
cp -r hybrid/proc hybrid/sys 'one reading'
sed -i 's/^memory.*/memory\t4\t99999\t1/' 'one reading/proc/cgroups'
cp -r hybrid bare
rm -r bare/.zscope
sed -E 's/[0-9]{4}-[0-9-]+ [0-9:]+ UTC/NOW/' >"$tmp/now" <<<"$("$zscope" check --root bare)"
compare check-one-reading.txt cat "$tmp/now"
"$zscope" check --root bare >/dev/null
[ $? = 2 ] || { echo "FAILED: half of it is unknown, and the status is not 2"; status=1; }
"$zscope" check --root 'one reading' | grep -q "→ zscope zombies --root 'one reading'$" || {
	echo "FAILED: what to run next cannot be pasted"
	status=1
}
# no memory controller, no zombies: that is no gap in what is known
cp -r hybrid off
sed -i '/rw,memory/d' off/proc/self/mountinfo off/.zscope/before/proc/self/mountinfo
sed -i 's/^memory.*/memory\t0\t1\t0/' off/proc/cgroups off/.zscope/before/proc/cgroups
compare check-no-controller.txt "$zscope" check --root off
# a capture holds the kernel's ring: what the driver said counts, what somebody else wrote there does not; a dictionary belongs to its line
cp -r hybrid ring
mkdir ring/dev
printf '%s\n' '4,1,8000000000,-;ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since last napi 6596000 usec. napi scheduled: 1' \
	' SUBSYSTEM=pci' ' DEVICE=+pci:0000:00:05.0' '4,2,8000200000,-;ena 0000:00:05.0 eth0: Resetting the device' \
	'12,3,8900000000,-;ena 0000:00:05.0 eth0: TX q 7 is paused for too long (threshold 5000000). Time since last napi 6596000 usec. napi scheduled: 1' \
	>ring/dev/kmsg
compare check-ring.txt "$zscope" check --root ring
# the whole of a host, with nothing wrong and nothing unknown; and the same with states of units that cannot be read
cp -r hybrid whole
mkdir whole/dev
: >whole/dev/kmsg
printf '\2\0\0\0\0' >whole/.zscope/units
compare check-whole.txt "$zscope" check --root whole
compare npd-whole.txt "$zscope" check --format npd --root whole
printf '\377junk' >whole/.zscope/units
compare check-damaged.txt "$zscope" check --root whole
# one form at a time, and a recording that was named must be one
compare check-two-formats.txt "$zscope" check --json --format nagios --root hybrid
compare check-no-store.txt "$zscope" check --store missing --root hybrid
compare check-no-store-2.txt "$zscope" check --store hybrid/proc/stat --root hybrid

# a captured host is one also where it has no systemd, and says why nothing of its units is known
mkdir -p v2/proc/1
echo runit >v2/proc/1/comm
compare audit-no-systemd.txt "$zscope" audit --root v2
# ... also where it tells of units, but has no unit files
mkdir -p v2/.zscope
printf '\2\0\0\0\0' >v2/.zscope/units
compare audit-no-files.txt "$zscope" audit --root v2
# ... and where it says that there was neither systemd nor an engine, nothing could loop
echo 'pid 1 is not systemd and no container engine is here' >v2/.zscope/no-loops
printf 'units\tpid 1 is not systemd: no unit runs here\ncontainers\tno engine listens here\n' >v2/.zscope/units-unknown
compare check-no-loops.txt "$zscope" check --root v2
compare audit-no-loops.txt "$zscope" audit --root v2
rm v2/.zscope/no-loops v2/.zscope/units-unknown
# ... and of an enabled unit it does not claim that it did not run, when systemd did not tell
rm v2/.zscope/units
echo systemd >v2/proc/1/comm
mkdir -p v2/etc/systemd/system/multi-user.target.wants v2/usr/lib/systemd/system
printf '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >v2/usr/lib/systemd/system/ecs.service
ln -s /usr/lib/systemd/system/ecs.service v2/etc/systemd/system/multi-user.target.wants/ecs.service
compare audit-not-told.txt "$zscope" audit --all --root v2
rm -r v2/proc/1 v2/etc/systemd v2/usr/lib/systemd

# a host travels as one file and gives the same answer; named alike, what to run next is alike too
mkdir bundle
"$zscope" capture --root v1-96 -o bundle/v1-96.tar.zst >/dev/null || status=1
mv bundle/v1-96.tar.zst bundle/v1-96
cd bundle || exit 1
compare check-v1-96.json "$zscope" check --json --root v1-96
cd ..

# on a terminal of 80 columns: what to run next is still said, and every core has its bar
narrow() { # narrow COLUMNS COMMAND...
	python3 -c 'import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 25, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
out = b""
try:
    while part := os.read(fd, 4096):
        out += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.write(out.decode().replace("\r", ""))' "$@"
}
for columns in 80 120; do
	narrow $columns "$zscope" check --color never --root v1-96 >"$tmp/check-$columns"
	compare check-v1-96-$columns.txt cat "$tmp/check-$columns"
done
narrow 80 "$zscope" cores --color never --root v1-96 >"$tmp/narrow"
if ! grep -qE ' [#=.]{5,6}$' "$tmp/narrow" || sed 1,2d "$tmp/narrow" | grep -q '…'; then
	echo "FAILED: 80 columns cut the bar"
	status=1
fi
exit $status
