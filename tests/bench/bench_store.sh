#!/bin/bash
# The store against sadc (package sysstat) on a generated 96-core host: bytes per second, CPU per tick, memory, cost of a seek.
# A generated host is a private mount namespace with an invented /proc/stat and CPU directory.
set -u
build=$1
zscope=$build/zscope gen=$build/tests/bench/gen-store dump=$build/tests/kernel/store-dump
sadc=/usr/lib/sysstat/sadc
[ -x $sadc ] || { echo "store: $sadc is missing"; exit 1; }
tmp=$(mktemp -d /var/tmp/zscope-bench-XXXXXX)
trap 'rm -rf "$tmp"' EXIT
missed=0
say() { # name ours peer goal unit: ratio ours/peer must be at most goal
	python3 - "$@" <<'PY' || missed=1
import sys
name, ours, peer, goal, unit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
ratio = ours / peer
ok = ratio <= goal
print(f"{name}: ours {ours:.4g} {unit}, peer {peer:.4g} {unit}, ratio 1/{peer / ours:.1f} (goal 1/{1 / goal:.3g}) {'ok' if ok else 'MISSED'}")
sys.exit(not ok)
PY
}
cpu_of() { # CPU milliseconds of 20 runs of a command
	local TIMEFORMAT='%U %S'
	{ time for _ in {1..20}; do "$@" >/dev/null 2>&1; done; } 2>&1 | awk '{ print ($1 + $2) * 1000 }'
}
host_of() { # host_of CORES COMMAND...: run it on a generated host
	local cores=$1
	shift
	mkdir -p "$tmp/cpu$cores"
	python3 - "$cores" "$tmp/cpu$cores" "$tmp/stat$cores" <<'PY'
import os, sys
n, cpus, stat = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rows = [[9000000 + 1111 * c, 12, 4000000 + 733 * c, 90000000 - 999 * c, 4000, 0, 30000 + c, 70, 0, 0] for c in range(n)]
with open(stat, "w") as f:
    f.write("cpu  " + " ".join(str(sum(col)) for col in zip(*rows)) + "\n")
    for c, row in enumerate(rows):
        f.write(f"cpu{c} " + " ".join(map(str, row)) + "\n")
    f.write("intr 1000 0\nctxt 5\nbtime 1700000000\nprocesses 5\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n")
for c in range(n):
    os.makedirs(f"{cpus}/cpu{c}", exist_ok=True)
for name in ("online", "possible", "present"):
    open(f"{cpus}/{name}", "w").write(f"0-{n - 1}\n")
PY
	unshare -m bash -c 'mount --make-rprivate / && mount --bind "$1" /sys/devices/system/cpu && mount --bind "$2" /proc/stat && shift 2 && exec "$@"' \
		- "$tmp/cpu$cores" "$tmp/stat$cores" "$@"
}
sadc_bytes() { # bytes per second at so many cores: the growth between 2 and 5 samples
	rm -f "$tmp/sa"
	host_of "$1" $sadc 1 2 "$tmp/sa"
	local few
	few=$(stat -c %s "$tmp/sa")
	rm -f "$tmp/sa"
	host_of "$1" $sadc 1 5 "$tmp/sa"
	echo $((($(stat -c %s "$tmp/sa") - few) / 3))
}
for cores in 2 96; do
	"$gen" "$tmp/gen$cores" --cores $cores --seconds 3600 >"$tmp/out$cores" || exit 1
	say "store bytes per second, $cores cores" "$(sed -n 's/.*bytes_per_s \([0-9.]*\).*/\1/p' "$tmp/out$cores")" "$(sadc_bytes $cores)" \
		"$(python3 -c 'print(1 / 30)')" B
done
say "store coding of a tick, 96 cores" "$(sed -n 's/.*encode_us \([0-9.]*\).*/\1/p' "$tmp/out96")" 10 1 us
echo "store coding and writing a tick, 96 cores: ours $(sed -n 's/.*cpu_us_per_tick \([0-9.]*\).*/\1/p' "$tmp/out96") us"

# the whole recorder with all sources but the profile, per tick, and its memory
cat >"$tmp/rss" <<'SH'
"$1" record --store "$2" --no-profile 2>/dev/null &
pid=$!
sleep 3.2
before=$(cat /proc/$pid/schedstat | cut -d' ' -f1)
sleep 10
after=$(cat /proc/$pid/schedstat | cut -d' ' -f1)
sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/rss_kb \1/p' /proc/$pid/status
echo "cpu_us $(((after - before) / 10000))"
kill $pid
wait $pid
SH
host_of 96 bash "$tmp/rss" "$zscope" "$tmp/rec" >"$tmp/out"
say "record, resident memory, 96 cores" "$(sed -n 's/rss_kb //p' "$tmp/out")" 32768 1 kB
say "record, CPU per tick with all sources (no profile), 96 generated cores" "$(sed -n 's/cpu_us //p' "$tmp/out")" 2000 1 us

# one second of 1 h and of 12 h
end=$(date +%s)
"$gen" "$tmp/long" --cores 96 --seconds 43200 --end "$end" >/dev/null
at=$(((end - 1800) * 1000000000))
one=$(cpu_of "$dump" "$tmp/gen96" $at $((at + 1000000000)))
twelve=$(cpu_of "$dump" "$tmp/long" $at $((at + 1000000000)))
say "store, one second out of 12 h against 1 h, 20 times" "$twelve" "$one" 2 ms
exit $missed
