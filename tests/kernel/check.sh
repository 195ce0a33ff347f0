#!/bin/bash
# check counts real zombies, sees a real quota, and says without root what it could not read.
set -u
zscope=$2
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
status=0
tmp=$(mktemp -d)
chmod 755 "$tmp"

field() { # field LINE KEY <json
	python3 -c 'import json, sys
for line in json.load(sys.stdin)["lines"]:
    if line["id"] == sys.argv[1]:
        print(line.get(sys.argv[2], "unknown"))' "$1" "$2"
}

clean() {
	[ -n "${id:-}" ] && "$zscope" lab clean "$id" >/dev/null 2>&1
	rm -rf "$tmp"
}
trap clean EXIT

# zombies: 1200 of ours on top of what was there. The kernel and other users of the machine free and make some meanwhile: one of four
# tries must see about what we made.
zombies() {
	local before during grown=0
	before=$("$zscope" check --json --interval 100ms | field memcg-zombies value)
	if [ "$before" = unknown ]; then
		echo "memory cgroups cannot be counted here"
		exit 77
	fi
	"$zscope" lab run zombies --mode file --count 1200 --keep --for 120s --json >"$tmp/lab" 2>"$tmp/lab.err" || {
		cat "$tmp/lab" "$tmp/lab.err"
		echo "the lab cannot make zombies here"
		exit 77
	}
	id=$(python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read().splitlines()[-1]).get("id", ""))' "$tmp/lab")
	"$zscope" check --json --interval 100ms >"$tmp/during"
	during=$(field memcg-zombies value <"$tmp/during")
	level=$(field memcg-zombies status <"$tmp/during")
	owner=$(field memcg-zombies owner <"$tmp/during")
	"$zscope" capture --interval 50ms -o "$tmp/sick.tar.zst" >/dev/null
	captured=$("$zscope" check --json --root "$tmp/sick.tar.zst" | field memcg-zombies owner)
	rm -f "$tmp/sick.tar.zst"
	method=$("$zscope" zombies --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin).get("method"))')
	"$zscope" lab clean "$id" >/dev/null 2>&1
	id=
	grown=$(python3 -c 'import sys; print(int(float(sys.argv[2]) - float(sys.argv[1])))' "$before" "$during")
	echo "$before zombies before, $during with 1200 more: $level"
	echo "by $method: most are of $owner, in the capture of $captured"
	[ "$method" != census ] || { [ "$owner" != unknown ] && [ "$captured" = "$owner" ]; } || return 1
	[ "$grown" -ge 1000 ] && [ "$grown" -le 1500 ] && [ "$level" != green ]
}
zombies || zombies || zombies || zombies || { echo "FAILED: the zombies are not counted"; status=1; }

# a driver reset in the kernel's ring, marked by the lab
resets=$("$zscope" check --json --interval 100ms | field driver-resets value)
if [ -n "$resets" ] && "$zscope" lab run net-reset --mode inject --for 2s >"$tmp/lab" 2>&1; then
	"$zscope" check --json --interval 100ms >"$tmp/during"
	python3 -c 'import sys; sys.exit(not float(sys.argv[2]) > float(sys.argv[1]))' "$resets" "$(field driver-resets value <"$tmp/during")" ||
		{ echo "FAILED: $resets driver resets before, $(field driver-resets value <"$tmp/during") with one more"; status=1; }
	[ "$(field driver-resets status <"$tmp/during")" != green ] || { echo "FAILED: a driver reset is green"; status=1; }
	field driver-resets detail <"$tmp/during" | grep -q 'injected by the lab' || { echo "FAILED: the reset is not labelled"; status=1; }
	[ "$(field driver-resets next <"$tmp/during")" = "zscope events" ] || { echo "FAILED: what to run next is not said"; status=1; }
else
	echo "driver resets: cannot be made here: $resets $(cat "$tmp/lab")"
fi

# what to run next reads the same recording, where it reads one
"$zscope" record --store "$tmp/store" --for 1s >/dev/null 2>&1
"$zscope" check --json --interval 50ms --store "$tmp/store" >"$tmp/during"
[ "$(field driver-resets next <"$tmp/during")" = "zscope events --store $tmp/store" ] || { echo "FAILED: what to run next forgets --store"; status=1; }
[ "$(field core-kernel next <"$tmp/during")" = "zscope why" ] || { echo "FAILED: cores were not read from the recording"; status=1; }

# without root: everything that can be read is shown, and what cannot is named; no crash
cp "$zscope" "$tmp/zscope"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
	"$tmp/zscope" check --json --interval 100ms >"$tmp/nobody" 2>"$tmp/nobody.err"
r=$?
[ $r -le 1 ] || { echo "FAILED: as nobody: status $r"; cat "$tmp/nobody.err"; status=1; }
[ "$(field core-kernel status <"$tmp/nobody")" != "" ] || { echo "FAILED: as nobody: no cores"; status=1; }
(cd "$tmp" && mkdir out && chown 65534 out && cd out &&
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/zscope" capture --json --interval 50ms -o c.tar.zst) >"$tmp/capture" || {
	echo "FAILED: capture as nobody"
	status=1
}
setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/zscope" capture -o "$tmp/denied.tar.zst" >/dev/null 2>"$tmp/err"
grep -q 'Permission denied: give a file that you may write with -o' "$tmp/err" || { echo "FAILED: capture where it may not write: $(cat "$tmp/err")"; status=1; }
grep -q '"what":"kernel log"' "$tmp/capture" || [ "$(cat /proc/sys/kernel/dmesg_restrict)" = 0 ] || {
	echo "FAILED: capture as nobody does not say that the kernel log is missing"
	cat "$tmp/capture"
	status=1
}

# the closing line tells what is in it: without root no census, and perhaps no log
python3 - "$tmp/capture" "$tmp/out/c.tar.zst" <<'PY' || { echo "FAILED: capture as nobody does not tell what it holds"; status=1; }
import io, json, subprocess, sys, tarfile
told = json.load(open(sys.argv[1]))
tar = subprocess.run(["zstd", "-dqc", sys.argv[2]], check=True, capture_output=True).stdout
names = set(tarfile.open(fileobj=io.BytesIO(tar)).getnames())
for part, file in ("cores", "proc/stat"), ("processes", "proc/1/stat"), ("zombies", ".zscope/census"), ("the kernel's log", "dev/kmsg"):
    if (part in told["holds"]) != (file in names):
        sys.exit(f"{part}: {file} is {'' if file in names else 'not '}there, told: {told['holds']}")
PY

# a capture holds no argument of any process, and gives the answers of a host
secret=canary-$$-$RANDOM$RANDOM # of this run: the kernel's log may hold those of others
python3 -c 'import time; time.sleep(300)' --password "$secret" &
canary=$!
# a title that holds everything in argv[0], as setproctitle makes it
(exec -a "mysqld --password=$secret" sleep 300) &
titled=$!
[ -w /dev/kmsg ] && echo "<14>some-daemon: token=$secret" >/dev/kmsg
for p in "$canary" "$titled"; do
	for _ in $(seq 300); do grep -qsa "$secret" "/proc/$p/cmdline" && break; sleep 0.1; done
done
"$zscope" capture -o "$tmp/host.tar.zst" >"$tmp/told" || status=1
for p in "$canary" "$titled"; do
	kill "$p"
	wait "$p" 2>/dev/null
done
zstd -dqc "$tmp/host.tar.zst" >"$tmp/host.tar"
grep -qa "$secret" "$tmp/host.tar" && { echo "FAILED: arguments are in the capture"; status=1; }
tar -tf "$tmp/host.tar" | grep -qx "proc/$canary/cmdline" || { echo "FAILED: the process is not in the capture"; status=1; }
"$zscope" cores --json --root "$tmp/host.tar.zst" >"$tmp/cores" || { echo "FAILED: cores of the capture"; status=1; }
[ "$(tar -xOf "$tmp/host.tar" "proc/$titled/cmdline")" = mysqld ] || { echo "FAILED: a title is in the capture"; status=1; }
for word in $(tr ' ' '\n' </proc/cmdline | sed -n 's/^[^=]*=\(......*\)$/\1/p'); do
	tar -xOf "$tmp/host.tar" dev/kmsg 2>/dev/null | grep -F 'ommand line' | grep -qF -- "$word" &&
		{ echo "FAILED: the value $word of a boot option is in the capture"; status=1; }
done
grep -q -e '--list' "$tmp/told" && { echo "FAILED: capture names options that it has not"; status=1; }
grep -q "look at it: zscope check --root $tmp/host.tar.zst" "$tmp/told" || { echo "FAILED: what to do with the capture is not said"; status=1; }
# before it waits for the second reading
timeout 30 "$zscope" capture --interval 10m -o "$tmp/host.tar.zst" >/dev/null 2>"$tmp/err"
[ $? = 2 ] || { echo "FAILED: an existing file is not refused, or only after the wait"; status=1; }
grep -q 'File exists' "$tmp/err" || { echo "FAILED: the existing file is not named"; status=1; }
[ "$(stat -c %a "$tmp/host.tar.zst")" = 600 ] || { echo "FAILED: others may read the capture"; status=1; }
exit $status
