#!/bin/bash
# Every scenario of the lab that needs no systemd, end to end on the real kernel: the incident is staged, `why` must name it.
#   why_scenarios.sh ZSCOPE SCENARIO
set -u
zscope=$1 scenario=$2
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
tmp=$(mktemp -d)
lab=
finish() {
	[ -n "$lab" ] && "$zscope" lab clean "$lab" >/dev/null 2>&1
	rm -rf "$tmp"
}
trap finish EXIT

stage() { # stage ARGS...: leaves it standing
	"$zscope" lab run "$@" --keep >"$tmp/lab" 2>&1 || { cat "$tmp/lab"; exit 1; }
	lab=$(grep -oE '^[0-9]+-[0-9a-f]+' "$tmp/lab")
}
ask() { "$zscope" why --watch "$1" --json --no-save >"$tmp/why.json" 2>"$tmp/err"; }
has() { jq -e --arg rule "$1" '[.findings[].finding] | index($rule)' "$tmp/why.json" >/dev/null; }
fail() {
	echo "FAILED: $1"
	jq -c '.verdict, [.findings[] | {finding, title}], .unknown' "$tmp/why.json"
	cat "$tmp/err"
	exit 1
}

case $scenario in
healthy-but-busy)
	stage healthy-but-busy --for 30s
	for run in 1 2 3; do
		ask 4s
		# the hypervisor is not the lab's: steal is the only thing that may be true here
		jq -e '[.findings[].finding] - ["steal", "net-driver-reset"] == []' "$tmp/why.json" >/dev/null || fail "run $run: a busy node has a finding"
	done
	;;
softirq)
	stage softirq --for 20s
	sleep 1
	ask 12s
	has softirq-storm || fail "no softirq-storm"
	;;
quota-throttle)
	stage quota-throttle --for 20s
	ask 5s
	has cpu-throttled || fail "no cpu-throttled"
	jq -e '[.findings[] | select(.finding == "cpu-throttled") | .place.cgroup | contains("zscope-lab-")] | any' "$tmp/why.json" >/dev/null ||
		fail "not the lab's cgroup"
	;;
reclaim)
	stage reclaim --for 25s
	sleep 2
	ask 8s
	has reclaim-pressure || fail "no reclaim-pressure"
	;;
zombies-no-loop) # leftovers of a unit that was mended yesterday
	stage zombies --count 1500 --for 60s
	ask 4s
	has memcg-zombies || fail "no memcg-zombies"
	has cgroup-churn && fail "a loop is seen where none is"
	jq -e '.plan[0].action == "purge"' "$tmp/why.json" >/dev/null || fail "the plan does not begin with a purge"
	"$zscope" purge --apply --below "/zscope-lab-$lab" --json >"$tmp/purge.json" 2>"$tmp/err" || fail "purge: $(cat "$tmp/err")"
	left=$("$zscope" zombies --below "/zscope-lab-$lab" --json | jq .dying)
	[ "$left" -lt 75 ] || fail "$left of 1500 zombies are left"
	;;
pinterest)
	stage pinterest --for 150s
	# the reader pays by the number of zombies: wait for enough of them, however slow the machine is
	for _ in $(seq 60); do
		[ "$("$zscope" zombies --below "/zscope-lab-$lab" --json | jq .dying)" -lt 8000 ] || break
		sleep 1
	done
	ask 10s
	has cgroup-churn || fail "no cgroup-churn"
	has memcg-zombies || fail "no memcg-zombies"
	has memcg-walk-cost || fail "no memcg-walk-cost"
	[ "$(jq -r .verdict.id "$tmp/why.json")" = cgroup-churn ] || fail "the verdict is not the churn"
	jq -e '[.chain[].finding] | index("memcg-zombies") and index("memcg-walk-cost")' "$tmp/why.json" >/dev/null || fail "the chain is cut"
	jq -e '[.findings[] | select(.finding == "memcg-walk-cost") | .place.process == "lab-reader"] | any' "$tmp/why.json" >/dev/null ||
		fail "the wrong process pays"
	;;
*) echo "no scenario $scenario"; exit 1 ;;
esac
# Every claim can be checked by hand.
jq -e '[.findings[].evidence[] | .what and .value and .source] | all' "$tmp/why.json" >/dev/null || fail "evidence without a source"
"$zscope" lab clean "$lab" >/dev/null || fail "the lab leaves something behind"
[ -z "$(ls -d /sys/fs/cgroup/*/zscope-lab-"$lab"* /var/tmp/zscope-lab-"$lab" 2>/dev/null)" ] || fail "traces are left"
lab=
