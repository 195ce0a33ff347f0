# What the tests that stage an incident in a booted systemd begin with. Source it with `zscope`, `here` and `kind` (a short name of the test)
# set: it makes `dir`, which is taken down at the end, and says what is missing.
# shellcheck shell=bash source=/dev/null disable=SC2154,SC2034
. "$here/../rig/nspawn.sh"
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }
dir=$(mktemp -d "/var/tmp/zscope-$kind-XXXXXX")
top=/zscope-rig-$(basename "$dir")
# A system that goes down stops everything before it ends it, and what entered from here stops with it and would stay so.
why_end() {
	local job
	rig_down "$dir"
	for job in $(jobs -p); do
		# shellcheck disable=SC2046 # one argument for each
		kill -KILL $(pgrep -P "$job") "$job" 2>/dev/null
	done
}
trap why_end EXIT
failed=0

fail() { echo "FAILED: $1" >&2; failed=1; }
z() { rig_run "$dir" /opt/zscope/zscope "$@"; }
inside() { rig_run "$dir" "$@"; }
tree() { (cd "$dir/root/etc/systemd" && find . -printf '%y %m %p %l\n' | sort && find . -type f -exec sha256sum {} + | sort); }
until_true() { # SECONDS COMMAND...: wait for what must come, however long it takes
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}
restarts() { [ "$(inside systemctl show "$1" -p NRestarts --value)" -ge "$2" ]; }
said() { jq -c '.verdict, [.findings[] | {finding, place}], .plan, .unknown' "$dir/why.json"; cat "$dir/why.err"; }
