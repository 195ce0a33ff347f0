#!/bin/sh
# The recorder's unit stays hardened: exposure at most 2.3 by systemd's own measure, and no directive that systemd does not know.
set -eu
cd "$1"
command -v systemd-analyze >/dev/null || { echo "systemd-analyze is missing"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed 's#/usr/bin/zscope#/bin/true#' dist/systemd/zombiescope.service >"$tmp/zombiescope.service"
systemd-analyze security --offline=true --threshold=23 --no-pager "$tmp/zombiescope.service" >"$tmp/out" 2>"$tmp/err" || {
	tail -n 1 "$tmp/out"
	exit 1
}
if grep -i 'unknown\|failed to parse\|ignoring' "$tmp/err"; then exit 1; fi
tail -n 1 "$tmp/out"
