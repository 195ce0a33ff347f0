#!/bin/bash
# The verdict on the host of the original incident (96 cores, 68,680 tracked memory cgroups, 240 in use), captured whole: text and JSON,
# byte by byte. UPDATE=1 writes what is expected; read the difference before you commit it.
#   incident.sh SOURCE ZSCOPE MAKE-INCIDENT
set -u
source=$(realpath "$1") zscope=$(realpath "$2") make=$(realpath "$3")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TZ=UTC LC_ALL=C.UTF-8
unset NO_COLOR
python3 "$source/tests/golden/make_hosts.py" "$tmp" v1-96 || exit 1
host=$tmp/v1-96
mkdir -p "$host/dev" "$host/usr/lib/systemd/system" "$host/var/lib/kubelet" "$host/etc"
echo 5.4.0-1146-aws >"$host/proc/sys/kernel/osrelease"
echo 'kind: KubeletConfiguration' >"$host/var/lib/kubelet/config.yaml"
printf '[Unit]\nAfter=docker.service\n[Service]\nExecStart=/usr/libexec/amazon-ecs-init\nRestart=on-failure\nRestartSec=10s\n[Install]\nWantedBy=multi-user.target\n' \
	>"$host/usr/lib/systemd/system/ecs.service"
printf '[Service]\nExecStart=/usr/bin/kubelet\n' >"$host/usr/lib/systemd/system/kubelet.service"
# kernel lines, facility 0, in microseconds since boot; the capture was at 9001 s
printf '%s\n' '4,9000,8994000000,-;ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since last napi 6596000 usec. napi scheduled: 1' \
	'6,9001,8994200000,-;ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.11.0g' >"$host/dev/kmsg"
"$make" "$host" || exit 1
cd "$tmp" || exit 1
status=0
for form in txt json; do
	flags=
	[ $form = txt ] || flags=--json
	# shellcheck disable=SC2086 # no word where there is none
	"$zscope" why --root v1-96 $flags >"out.$form" 2>err.$form
	echo "exit $?" >>"out.$form"
	cat err.$form >>"out.$form"
	[ $form = txt ] || sed -i '1!b; s/,"/,\n"/g' out.json
	if [ -n "${UPDATE:-}" ]; then
		cp "out.$form" "$source/tests/golden/expect/incident.$form"
	elif ! diff -u "$source/tests/golden/expect/incident.$form" "out.$form"; then
		status=1
	fi
done
# whatever the wording: the culprit and the way from it to the zombies
"$zscope" why --root v1-96 --json 2>/dev/null | python3 -c '
import json, sys
a = json.load(sys.stdin)
chain = [f["finding"] for f in a["chain"]]
assert a["verdict"]["culprit"] == {"kind": "unit", "name": "ecs.service"}, a["verdict"]
assert chain[0] == "unit-misfit" or chain[0] == "unit-crash-loop", chain
assert "memcg-zombies" in chain, chain
assert "68440" in json.dumps(a["findings"])
assert any(f["finding"] == "net-driver-reset" for f in a["findings"])
assert a["plan"][0]["action"] == "disable" and a["plan"][0]["target"] == "ecs.service", a["plan"]
assert [p["action"] for p in a["plan"]].count("purge") == 1
' || status=1
# the census that was captured names owners and the largest, and tells when
"$zscope" zombies --root v1-96 >out.zombies 2>&1 || status=1
for line in 'captured, census of 2026-02-02 02:40:01' '68,440 zombie memory cgroups; the kernel tracks 68,680, 240 are in use' \
	'docker containers under /docker' "/docker/$(printf %064x 0)"; do
	grep -qF -- "$line" out.zombies || { echo "FAILED: zombies --root does not say: $line"; cat out.zombies; status=1; }
done
"$zscope" zombies --root v1-96 --json --list | jq -e '
	.time_ns == 1770000001000000000 and .method == "census" and .dying == 68440 and .groups[0].kind == "docker"
	and (.largest | length) == 64 and (.zombies | length) == 64 and .zombies[0].bytes == 40960 and .zombies[0].unevictable_bytes == null
	and any(.unknown[]; .what == "names of the other zombies")' >/dev/null || { echo "FAILED: zombies --root --json"; status=1; }
"$zscope" zombies --root v1-96 --below /docker >out.zombies 2>&1 && { echo "FAILED: --below of a capture"; status=1; }
# a mounted disk brings its own recording, and a link out of it is not followed
mkdir -p disk/var/lib away
timeout 20 "$zscope" record --store "$tmp/away/rec" --for 2s --interval 100ms --no-profile 2>/dev/null
ln -s "$tmp/away/rec" disk/var/lib/zombiescope
if "$zscope" cores --root disk --from -1m >out.link 2>&1 || ! grep -q 'disk: no recording in it' out.link; then
	echo "FAILED: a link leads out of --root"
	status=1
fi
rm disk/var/lib/zombiescope
cp -r away/rec disk/var/lib/zombiescope
"$zscope" cores --root disk --from -1m --count 1 --json >out.disk || { echo "FAILED: the recording below --root"; status=1; }
"$zscope" cores --store away/rec --count 1 --json | cmp - out.disk || status=1
exit $status
