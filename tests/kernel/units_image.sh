#!/bin/bash
# `zscope audit --root` on a real debootstrap tree: every unit's state equals what systemctl --root says; what it foretells of the first
# boot is what a real boot then does; ecs.service enabled by preset is found, does not fit k8s, and the snippet really keeps it off.
set -u
zscope=$1
here=$(cd "$(dirname "$0")" && pwd)
rig=$here/../rig/nspawn.sh
dir=$(mktemp -d /var/tmp/zscope-image-XXXXXX)
trap '"$rig" down "$dir"' EXIT
fail() { echo "FAIL: $1"; exit 1; }
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }
"$rig" overlay "$dir" || exit $?
root=$dir/root

# 1. states of every unit, as systemctl sees them, on the tree with traps in it
system=$root/etc/systemd/system
install='[Install]\nWantedBy=multi-user.target\n'
cat >"$root/usr/lib/systemd/system/ecs.service" <<'UNIT'
[Unit]
Description=ECS agent
[Service]
Restart=on-failure
RestartSec=10s
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
UNIT
ln -s /dev/null "$system/masked-by-link.service"
: >"$system/masked-by-empty.service"
ln -s /opt/linked.service "$system/linked.service"
printf '[Service]\nExecStart=/bin/true\n'"$install" >"$root/opt/linked.service"
ln -s /nowhere/dangling.service "$system/dangling.service"
ln -s round-b.service "$system/round-a.service"
ln -s round-a.service "$system/round-b.service"
ln -s docker.service "$system/engine.service"
printf '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\nDefaultInstance=one\n' >"$system/tmpl@.service"
mkdir -p "$system/multi-user.target.wants" "$system/off.service.d"
ln -s ../tmpl@.service "$system/multi-user.target.wants/tmpl@two.service"
printf '[Service]\nExecStart=/bin/true\n' >"$system/off.service"
printf "$install" >"$system/off.service.d/install.conf"
printf '[Unit\nbroken\n' >"$system/broken.service"
printf '[Unit]\nDescription=\xff\xfe\n' >"$system/utf8.service"
head -c 1100000 /dev/zero | tr '\0' x >"$system/longline.service"
"$zscope" audit --root "$root" --all --json >"$dir/json"
jq -r '.units[] | "\(.unit) \(.enabled)"' "$dir/json" | sort >"$dir/ours"
systemctl --root="$root" list-unit-files --no-legend --no-pager 2>/dev/null | awk '{ print $1, $2 }' | sort >"$dir/theirs"
units=$(wc -l <"$dir/theirs")
[ "$units" -gt 200 ] || fail "only $units units in the tree"
diff "$dir/theirs" "$dir/ours" || fail "states differ (< systemctl, > zscope)"
# instances that only links name, one by one
for unit in tmpl@two.service tmpl@.service docker.service getty@tty1.service; do
	theirs=$(systemctl --root="$root" is-enabled $unit 2>/dev/null)
	ours=$(awk -v u=$unit '$1 == u { print $2 }' "$dir/ours")
	[ -z "$ours" ] || [ "$ours" = "$theirs" ] || fail "$unit: $ours, systemctl is-enabled says $theirs"
done
echo "$units units: states equal"
rm -f "$system"/{linked,dangling,round-a,round-b,engine,broken,utf8,longline,off,masked-by-link,masked-by-empty}.service

# 2. a sealed image: disabled, but the first boot enables it; does not fit k8s
printf 'uninitialized\n' >"$root/etc/machine-id"
printf '[Manager]\n' >"$root/etc/systemd/system.conf"
"$zscope" audit --root "$root" --shape k8s --json >"$dir/json"
[ $? = 1 ] || fail "exit status is not 1 with a misfit"
ecs() { jq -r ".units[] | select(.unit == \"ecs.service\") | $1" "$dir/json"; }
[ "$(ecs .enabled)" = disabled ] || fail "ecs.service is $(ecs .enabled), not disabled"
[ "$(ecs '.boot.enabled and .boot.by_preset and .boot.starts')" = true ] || fail "the first boot is not foretold: $(ecs .boot)"
[ "$(ecs .fits)" = no ] || fail "ecs.service fits k8s?"
[ "$(ecs .endless_restart)" = true ] || fail "the endless restart is not foretold"
for format in junit sarif; do
	"$zscope" audit --root "$root" --shape k8s --format $format >"$dir/$format"
	[ $? = 1 ] || fail "$format: exit status is not 1"
	grep -q ecs.service "$dir/$format" || fail "$format does not name ecs.service"
done
python3 - "$dir/junit" "$dir/sarif" <<'PY' || fail "junit or sarif is malformed"
import json, sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])
s = json.load(open(sys.argv[2]))
assert s["version"] == "2.1.0" and any(r["ruleId"] == "misfit" for r in s["runs"][0]["results"])
PY
# what will be enabled, for every unit, against the boot that follows
jq -r '.units[] | .unit' "$dir/json" >/dev/null
"$zscope" audit --root "$root" --all --json | jq -r '.units[] | select(.boot != null) | "\(.unit) \(.boot.enabled)"' | sort >"$dir/foretold"
preset=$(ecs .snippets.preset)

"$rig" quiet "$dir"
"$rig" boot "$dir" >/dev/null || exit $?
[ "$("$rig" run "$dir" systemctl is-active ecs.service)" = active ] || fail "the first boot did not start ecs.service: the test proves nothing"
"$rig" run "$dir" systemctl list-unit-files --no-legend --no-pager | awk '{ print $1, ($2 == "enabled") ? "true" : "false" }' | sort >"$dir/booted"
# units that were masked for the boot are left out; enabled-runtime is the work of generators, which do not run on an image
join "$dir/foretold" "$dir/booted" | grep -vE '^(snapd|systemd-firstboot|systemd-networkd-wait-online)' | awk '$2 != $3' >"$dir/wrong"
[ ! -s "$dir/wrong" ] || { cat "$dir/wrong"; fail "the boot did otherwise (unit, foretold, booted)"; }
echo "$(join "$dir/foretold" "$dir/booted" | wc -l) units: the first boot did as foretold"
"$rig" down "$dir"

# 3. the snippets keep it off after a first boot
for way in mask preset; do
	dir=$(mktemp -d /var/tmp/zscope-image-XXXXXX)
	root=$dir/root
	"$rig" overlay "$dir" || exit $?
	printf '[Service]\nRestart=on-failure\nRestartSec=10s\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' \
		>"$root/usr/lib/systemd/system/ecs.service"
	printf 'uninitialized\n' >"$root/etc/machine-id"
	"$zscope" audit --root "$root" --shape k8s --json >"$dir/json"
	snippet=$(ecs ".snippets[\"$way\"]")
	[ -n "$snippet" ] && [ "$snippet" != null ] || fail "no snippet $way"
	chroot "$root" sh -c "$snippet" >/dev/null 2>&1 || fail "the snippet does not run: $snippet"
	"$zscope" audit --root "$root" --shape k8s --json >"$dir/json"
	[ -z "$(ecs .unit)" ] || fail "after '$snippet' the audit still names it: $(ecs .boot)"
	"$rig" quiet "$dir"
	"$rig" boot "$dir" >/dev/null || exit $?
	state=$("$rig" run "$dir" systemctl is-active ecs.service)
	[ "$state" = inactive ] || fail "after '$snippet' ecs.service is $state"
	"$rig" down "$dir"
	echo "kept off by: $snippet"
done
echo ok
