#!/bin/bash
# The forecast over days, word for word and number for number, from a recording that was made up: 360 zombies an hour for five days.
#   forecast.sh ZSCOPE MAKE_GROWTH
set -u
zscope=$1 make=$2
export TZ=UTC LC_ALL=C
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
last=$(date -d '2026-11-17T12:00:00Z' +%s)
fail() { echo "FAIL: $1"; cat "$dir/out" "$dir/err"; exit 1; }
says() { grep -qF -- "$1" "$dir/out" || fail "does not say: $1"; }
ask() { "$zscope" zombies --store "$dir/$1" --from 2026-11-12T00:00:00Z --to 2026-11-18T00:00:00Z "${@:2}" >"$dir/out" 2>"$dir/err" || fail "status $?"; }

"$make" "$dir/grow" "$last" || exit 1
ask grow
says 'recorded, census of 2026-11-17 12:00:00'
says '53,200 zombie memory cgroups; the kernel tracks 53,440, 240 are in use'
says 'growth until 2026-11-17 12:00:00: 360 zombies an hour (7,201 censuses over 5 d 0 h), doubles in 6 d 3 h'
says "reaches 70,000 zombies on Thursday, 2026-11-19 10:40: the number at which the original incident's hosts stalled (not measured on this one)"
says 'a reboot fixes it for about 8 days: at this rate none becomes 70,000 in that time'
says 'RAM: 2.3 GB a day are lost to them, 13.9 GB so far'
says 'each zombie took 252 kB of per-core memory and 9.4 kB of slab here (measured while 43,200 came or went): 13.9 GB in all'
says 'every read of memory.numa_stat walks all zombies times all possible cores'
says 'memory cgroups made and removed in 5 d 0 h, from 2026-11-12 11:59:00:'
says 'docker containers under /docker'
says 'runc (pid 4711, /system.slice/docker.service)'
ask grow --json
jq -e '
	(.rate_per_hour - 360 | fabs) < 0.01 and .forecast.threshold == 70000 and .forecast.basis == "incident" and .forecast.points == 7201
	and .forecast.reaches == "2026-11-19T10:40:00.000000000Z" and .forecast.reboot_lasts_days == 8.1
	and (.forecast.doubling_hours - 147.78 | fabs) < 0.01
	and (.forecast.ram_bytes_per_day - 360 * 24 * 261400 | fabs) < 1e6 and .forecast.ram_bytes_now == 53200 * 261400
	and .cost.measured_percpu_bytes_per_zombie == 252000 and .cost.measured_slab_bytes_per_zombie == 9400
	and .cost.verdict == "stat-reads"
	and (.churn.groups[0] | .made == 43206 and .unit == null and .creator.unit == "docker.service" and (.every_s - 10 | fabs) < 0.01)
' "$dir/out" >/dev/null || fail "numbers"

# a window of it has its own rate, not that of the whole
"$zscope" zombies --store "$dir/grow" --from 2026-11-15T00:00:00Z --to 2026-11-15T06:00:00Z --json >"$dir/out" 2>"$dir/err" || fail "window"
jq -e '.forecast.points == 360 and (.rate_per_hour - 360 | fabs) < 0.01 and .dying == 33754' "$dir/out" >/dev/null || fail "window"

# beyond it already
"$make" "$dir/many" "$last" 30 || exit 1
ask many
says "70,000 zombies are reached, the number at which the original incident's hosts stalled"
says 'a reboot fixes it for about 39 hours'
grep -q 'on [A-Z][a-z]*day,' "$dir/out" && fail "a day is named for what has happened"

# fewer every day: no forecast is made up
"$make" "$dir/fall" "$last" -1 || exit 1
ask fall
says 'growth until 2026-11-17 12:00:00: -60 zombies an hour'
grep -qE 'reaches|reboot|RAM:' "$dir/out" && fail "a forecast of what falls"

# too little to tell
"$zscope" zombies --store "$dir/grow" --from 2026-11-15T00:00:00Z --to 2026-11-15T00:02:00Z >"$dir/out" 2>"$dir/err" || fail "short"
grep -q 'rate and forecast: the window has 2 censuses' "$dir/err" || fail "short: not named"
grep -q '^growth' "$dir/out" && fail "a trend out of two points"
echo ok
