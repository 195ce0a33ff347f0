#!/bin/bash
# A real Prometheus scrapes the exporter while an incident is recorded: the alerts of dist/prometheus fire, and every query of the
# dashboard runs. Also: promtool on the metrics and the rules, and the textfile for node_exporter.
set -u
build=$1 source=$2
for program in prometheus promtool curl jq; do
	command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
work=$(mktemp -d)
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap cleanup EXIT
failed=0
check() { if [ "$2" = "$3" ]; then echo "ok   $1"; else echo "FAIL $1: wanted '$2', got '$3'"; failed=1; fi }
until_true() { # COMMAND...: waits up to two minutes for what must come
	local end=$((SECONDS + 120))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

promtool check rules "$source/dist/prometheus/zombiescope.rules.yml" >"$work/out" 2>&1
check "promtool check rules" 0 $?
promtool test rules "$source/dist/prometheus/zombiescope.test.yml" >"$work/out" 2>&1 || cat "$work/out"
check "promtool test rules" 0 "$(promtool test rules "$source/dist/prometheus/zombiescope.test.yml" >/dev/null 2>&1; echo $?)"
# the events that counters count are events that something writes
for id in $(grep -oE 'event->id, "[a-z-]+"' "$source/src/model/totals.c" | grep -oE '[a-z]+(-[a-z]+)*"' | tr -d '"'); do
	case $id in
	container-*) grep -q "\"${id#container-}\"" "$source/src/rec/rec_units.c" && got=yes || got=no ;;
	*) grep -qrE "\"$id\"|	$id	" "$source/src/stream" "$source/src/source" "$source/src/cli" && got=yes || got=no ;;
	esac
	check "something writes the event $id" yes $got
done

# a recording that grows, with the incident 12 s from now
"$build/tests/web/make-store" "$work/store" 8 120 "$(date +%s)" 100 &
pids+=($!)
until_true test -d "$work/store"
"$build/zscope" serve --store "$work/store" --listen 127.0.0.1:0 >"$work/url" &
pids+=($!)
until_true test -s "$work/url"
url=$(cat "$work/url") target=${url#http://} target=${target%/}
# before anything else that takes its time: what the metrics are before the incident
curl -s "${url}metrics" >"$work/plain"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cp "$source/dist/prometheus/zombiescope.rules.yml" "$work/"
cat >"$work/prometheus.yml" <<EOF
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [zombiescope.rules.yml]
scrape_configs:
  - job_name: zscope
    static_configs: [{ targets: ["$target"] }]
EOF
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="127.0.0.1:$port" --log.level=warn 2>"$work/prometheus.log" &
pids+=($!)
query() { curl -s --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query"; }

# meanwhile: formats
promtool check metrics <"$work/plain" >"$work/out" 2>&1
check "promtool check metrics: clean ($(head -c 200 "$work/out"))" 0 $?
check "OpenMetrics on request" "# EOF" "$(curl -s -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' "${url}metrics" | tail -n 1)"
check "Content-Type" "text/plain; version=0.0.4; charset=utf-8" "$(curl -s -o /dev/null -w '%{content_type}' "${url}metrics")"
check "zero series before the first reset" yes "$(grep -q '^zscope_net_resets_total{device="eth0",reason="keep-alive"} 0$' "$work/plain" && echo yes)"
"$build/zscope" metrics --store "$work/store" --textfile "$work/zscope.prom"
check "textfile" 0 "$(promtool check metrics <"$work/zscope.prom" >/dev/null 2>&1; echo $?)"
check "textfile: nothing else is left" 1 "$(ls "$work" | grep -c 'zscope.prom')"

# every alert, and every rule of zscope why, has its section in the runbook that is served
curl -s "${url}runbook" >"$work/runbook"
anchors=$(sed -n 's/.*runbook_url: .*#\(.*\)"/\1/p' "$source/dist/prometheus/zombiescope.rules.yml" && sed -n 's/.*\.doc = "\(.*\)",/\1/p' "$source/src/analyze/rules.c")
check "alerts and rules name runbook sections" yes "$([ "$(wc -w <<<"$anchors")" -ge 25 ] && echo yes)"
for anchor in $anchors; do
	grep -q "id=\"$anchor\"" "$work/runbook" && got=yes || got=no
	check "runbook $anchor" yes $got
done

# the staged incident fires
for alert in ZscopeNetReset ZscopeCoreSaturated; do
	fires() { got=$(query "ALERTS{alertname=\"$alert\",alertstate=\"firing\"}" | jq -r '.data.result[0].metric.alertname // empty') && [ -n "$got" ]; }
	until_true fires
	check "a real Prometheus fires $alert" $alert "$got"
done
check "it names core 5" 5 "$(query 'ALERTS{alertname="ZscopeCoreSaturated",alertstate="firing"}' | jq -r '.data.result[0].metric.cpu')"
check "its runbook is this server's" "http://$target/runbook#zscopenetreset" "$(curl -s "http://127.0.0.1:$port/api/v1/alerts" | jq -r '[.data.alerts[] | select(.labels.alertname == "ZscopeNetReset")][0].annotations.runbook_url')"
check "it names the NIC and the cause" "eth0 netdev-watchdog" "$(query 'ALERTS{alertname="ZscopeNetReset",alertstate="firing"}' | jq -r '.data.result[0].metric | .device + " " + .reason')"

# every query of the dashboard and its annotations runs and has data
n=0
while IFS= read -r expr; do
	text=${expr//'$__rate_interval'/30s} text=${text//'$__range'/1m} text=${text//'$instance'/.*}
	answer=$(query "$text")
	state=$(jq -r .status <<<"$answer") rows=$(jq '.data.result | length' <<<"$answer")
	[ "$state" = success ] && [ "$rows" -ge 1 ] && got=ok || got="$state, $rows rows: $answer"
	check "dashboard: $expr" ok "$got"
	n=$((n + 1))
done < <(jq -r '(.panels[].targets[].expr), (.annotations.list[].expr)' "$source/dist/grafana/zombiescope.json")
check "the dashboard has its queries" yes "$([ $n -ge 20 ] && echo yes)"
check "every panel uses the datasource variable" 0 "$(jq '[.panels[] | select(.datasource.uid != "${datasource}")] | length' "$source/dist/grafana/zombiescope.json")"
exit $failed
