#!/bin/bash
# The page and the exporter: size of the shell, a 12 h × 96 cores recording, CPU of a scrape against node_exporter's cpu collector.
set -u
build=$1
work=$(mktemp -d)
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap cleanup EXIT
line() { # line NAME OURS GOAL UNIT: lower is better
	awk -v n="$1" -v o="$2" -v g="$3" -v u="$4" 'BEGIN { printf "%s: ours %s %s, ratio %.3f of the goal (goal %s %s) %s\n", n, o, u, o / g, g, u, o <= g ? "ok" : "MISSED" }'
}
cpu() { awk '{print $14 + $15}' "/proc/$1/stat"; } # ticks of 10 ms
"$build/tests/web/make-store" "$work/store" 96 43200 || exit 2
"$build/zscope" serve --store "$work/store" --listen 127.0.0.1:0 >"$work/url" &
server=$!
pids+=($server)
while [ ! -s "$work/url" ]; do sleep 0.02; done
url=$(cat "$work/url")
time_of() { curl -s --compressed -o /dev/null -w '%{time_total}' "$1"; }
time_of "${url}api/v1/overview?points=1400" >"$work/cold"
# CPU beside the clock: the clock of a busy machine measures its neighbours
line "web/first-overview, 12 h x 96 cores, from a cold start, CPU" "$(awk -v t="$(cpu $server)" 'BEGIN { print t / 100 }')" 1 s
echo "web/first-overview, by the clock: $(cat "$work/cold") s, load $(cut -d' ' -f1 /proc/loadavg)"
line "web/overview" "$(time_of "${url}api/v1/overview?points=1400")" 1 s
line "web/cores-map" "$(time_of "${url}api/v1/cores?cols=1400")" 1 s
line "web/flame of a minute" "$(time_of "${url}api/v1/flame?from=-90s&to=-30s")" 0.5 s
line "web/flame of 12 h" "$(time_of "${url}api/v1/flame")" 0.5 s
line "web/flame of 12 h, one core" "$(time_of "${url}api/v1/flame?cpu=5")" 0.5 s
line "web/heat of an hour" "$(time_of "${url}api/v1/heat?from=-59m")" 0.5 s
line "web/heat of 12 h" "$(time_of "${url}api/v1/heat?cols=1200")" 0.5 s
line "web/heat of 12 h, one core" "$(time_of "${url}api/v1/heat?cols=1200&cpu=5")" 0.5 s
line "web/why of the incident" "$(time_of "${url}api/v1/why")" 1 s
line "web/memory of serve" "$(awk '/VmHWM/ {printf "%.0f", $2 / 1024}' /proc/$server/status)" 128 MB
shell=0
for path in "" app.js app.css; do shell=$((shell + $(curl -s -H 'Accept-Encoding: gzip' "$url$path" | wc -c))); done
line "web/shell, gzip" $((shell / 1024)) 150 KB
# scrapes: ours changes every second at most, so it is formatted anew at most once a second
n=2000
for _ in $(seq $n); do echo "url=\"${url}metrics\""; echo 'output="/dev/null"'; done >"$work/urls"
before=$(cpu $server)
curl -s -K "$work/urls"
ours=$(awk -v t=$(($(cpu $server) - before)) -v n=$n 'BEGIN { print t * 10000 / n }')
node=$(command -v prometheus-node-exporter || command -v node_exporter)
[ -n "$node" ] || { echo "web/metrics: node_exporter is missing, no ratio"; exit 0; }
# its cpu collector at 96 cores: the same /proc/stat that a 96-core host shows
mkdir -p "$work/proc" "$work/sys/devices/system/cpu"
python3 - >"$work/proc/stat" <<'PY'
print("cpu  1 2 3 4 5 6 7 8 9 10")
for i in range(96): print(f"cpu{i} 100{i} 20 300 4000{i} 50 6 70 8 9 1")
print("intr 1\nctxt 2\nbtime 1700000000\nprocesses 3\nprocs_running 1\nprocs_blocked 0\nsoftirq 1 1 1 1 1 1 1 1 1 1 1")
PY
cp /proc/cpuinfo "$work/proc/"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$node" --collector.disable-defaults --collector.cpu --path.procfs="$work/proc" --path.sysfs="$work/sys" --web.listen-address="127.0.0.1:$port" 2>/dev/null &
exporter=$!
pids+=($exporter)
for _ in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$port/metrics" && break; sleep 0.05; done
n=200
for _ in $(seq $n); do echo "url=\"http://127.0.0.1:$port/metrics\""; echo 'output="/dev/null"'; done >"$work/urls"
before=$(cpu $exporter)
curl -s -K "$work/urls"
peer=$(awk -v t=$(($(cpu $exporter) - before)) -v n=$n 'BEGIN { print t * 10000 / n }')
awk -v o="$ours" -v p="$peer" 'BEGIN { r = o > 0 ? p / o : 9999; printf "web/metrics CPU of a scrape: ours %.1f us, peer %.1f us (node_exporter, cpu only, 96 cores), ratio %.0f (goal 50) %s\n", o, p, r, (r >= 50 ? "ok" : "MISSED") }'
