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
	# What the machine had before is not the load's (zombies and resets of other tests), nor is what the hypervisor takes.
	runs=${ZSCOPE_SOAK_RUNS:-3}
	ask 4s
	had=$(jq -c '[.findings[].finding] + ["steal", "missing-ticks", "net-driver-reset"]' "$tmp/why.json")
	stage healthy-but-busy --for $((runs * 8 + 60))s
	for ((run = 1; run <= runs; run++)); do
		ask 4s
		jq -e --argjson had "$had" '[.findings[].finding] - $had == []' "$tmp/why.json" >/dev/null || fail "run $run: a busy node has a finding"
		[ "$runs" = 3 ] || echo "run $run of $runs: no finding of the load"
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
	# the first explanation, or one of the others where the machine has other work that is worse
	jq -e '[.chain, .others[]?.chain] | map([.[].finding]) |
		map(.[0] == "cgroup-churn" and index("memcg-zombies") and index("memcg-walk-cost")) | any' "$tmp/why.json" >/dev/null || fail "the chain is cut"
	jq -e '[.findings[] | select(.finding == "memcg-walk-cost") | .place.process == "lab-reader"] | any' "$tmp/why.json" >/dev/null ||
		fail "the wrong process pays"
	;;
log-flood) # the lab's own lines: named, and labelled as what they are
	for _ in 1 2 3; do # on a machine with other work the writer may get too little of a core
		stage log-flood --for 30s
		ask 11s
		"$zscope" lab clean "$lab" >/dev/null || fail "lab clean"
		has log-flood && break
	done
	has log-flood || fail "no log-flood"
	jq -e '[.findings[] | select(.finding == "log-flood") | .injected == true and (.title | test("injected by the lab")) and .proof == "claimed"] | all' "$tmp/why.json" >/dev/null ||
		fail "the flood is not labelled as injected"
	jq -e '.verdict.id != "log-flood" or .verdict.confidence <= 0.5' "$tmp/why.json" >/dev/null || fail "too sure of an injected flood"
	# the kernel's own log stays trusted: not one of the lines is taken for the kernel's
	dd if=/dev/kmsg iflag=nonblock bs=8192 of="$tmp/ring" 2>/dev/null
	grep -qE '^15,[0-9]+,.*;zscope-lab: flood' "$tmp/ring" || fail "the lines are not in the kernel's log"
	grep -qE '^[0-7],[0-9]+,.*;zscope-lab: flood' "$tmp/ring" && fail "a line claims to be the kernel's"
	stage log-flood --for 5s --count 10 # for the last checks below
	;;
rt-hog)
	stage busy-core --mode rt --for 60s
	for _ in 1 2 3 4; do # where the kernel throttles real-time tasks, the core is full only when others want it too
		ask 5s
		has rt-hog && break
	done
	has rt-hog || fail "no rt-hog"
	;;
recorded) # the same questions to a recording: all of it, a window, a moment, the minute before an event; and a fix that is validated
	stage quota-throttle --for 120s
	"$zscope" record --store "$tmp/store" --for 20s >/dev/null 2>"$tmp/err" &
	recorder=$!
	for _ in $(seq 100); do
		# cgroups with a quota are looked for step by step: give it some seconds
		[ "$("$zscope" cores --store "$tmp/store" --json 2>/dev/null | wc -l)" -ge 13 ] && break
		sleep 0.2
	done
	"$zscope" note --store "$tmp/store" "somebody complains" || fail "note"
	wait $recorder
	key=$("$zscope" events --store "$tmp/store" --id note --json | jq -r '.key // .event // empty' | head -n 1)
	[ -n "$key" ] || fail "the note has no key"
	middle=$("$zscope" cores --store "$tmp/store" --json | tail -n 5 | head -n 1 | jq -r '.time_ns / 1000000000 | floor')
	again() {
		"$zscope" why --store "$tmp/store" --json "$@" >"$tmp/why.json" 2>"$tmp/err"
		[ $? -eq 1 ] || fail "why $*: no verdict"
		jq -e --arg lab "$lab" '[.findings[] | select(.finding == "cpu-throttled" and (.place.cgroup | contains($lab)))] | length > 0' "$tmp/why.json" >/dev/null ||
			fail "why $*: the quota is not named"
	}
	again
	again --from "@$((middle - 3))" --to "@$((middle + 4))"
	again --at "@$middle" --for 4s
	again --event "$key"
	"$zscope" why --store "$tmp/store" --event 000000000000 >/dev/null 2>"$tmp/err"
	[ $? -eq 2 ] && grep -q 'no event' "$tmp/err" || fail "an unknown event is not refused"
	# before and after a moment in which nothing changed; the result stands in the timeline
	"$zscope" validate --store "$tmp/store" --since "@$((middle - 4))" --for 6s --json >"$tmp/validate.json" 2>"$tmp/err"
	jq -e '.verdict | test("^(healed|better|unchanged|worse|unknown)$")' "$tmp/validate.json" >/dev/null || fail "validate: $(cat "$tmp/err")"
	"$zscope" events --store "$tmp/store" --id validate --json | jq -e '.text | startswith("validated: ")' >/dev/null || fail "the validation is not in the timeline"
	again
	;;
two-culprits) # without systemd: two supervisors, each named by the cgroups that it makes
	stage two-culprits --mode process --interval 100ms --for 120s
	for _ in 1 2 3 4; do
		ask 6s
		jq -e '[.findings[] | select(.finding == "cgroup-churn") | .place.unit] | index("lab-first.service") and index("lab-second.service")' \
			"$tmp/why.json" >/dev/null && break
	done
	jq -e '[.findings[] | select(.finding == "cgroup-churn") | .place.unit] | index("lab-first.service") and index("lab-second.service")' \
		"$tmp/why.json" >/dev/null || fail "not both culprits are named"
	jq -e '[.plan[].action] | index("purge")' "$tmp/why.json" >/dev/null || fail "no purge is planned"
	;;
inner-supervisor) # without systemd and docker: the process that makes the cgroups
	stage inner-supervisor --mode process --interval 200ms --for 120s
	for _ in 1 2 3 4; do
		ask 6s
		jq -e --arg lab "$lab" '[.findings[] | select(.finding == "cgroup-churn" and (.place.cgroup // "" | contains($lab)))] | length > 0' "$tmp/why.json" >/dev/null && break
	done
	jq -e --arg lab "$lab" '[.findings[] | select(.finding == "cgroup-churn" and (.place.cgroup // "" | contains($lab))) | .place.process == "zscope"] | any' \
		"$tmp/why.json" >/dev/null || fail "the supervisor is not named"
	;;
crash-loop-no-zombies)
	stage crash-loop-no-zombies --mode process --interval 50ms --for 60s
	ask 6s
	blamed=$(jq '[.findings[] | select(.finding == "cgroup-churn" and .place.unit == "lab-quiet.service")] | length' "$tmp/why.json")
	# nobody is blamed, unless the kernel really kept some of them
	left=$("$zscope" zombies --below "/zscope-lab-$lab" --json | jq .dying)
	[ "$blamed" = 0 ] || [ "$left" -ge 3 ] || fail "blamed for zombies that are not there"
	;;
without) # what cannot be read is named, and the culprit stays or is less sure
	stage two-culprits --mode process --interval 100ms --for 150s
	first() { jq -r '[.findings[] | select(.finding == "cgroup-churn" and .place.unit == "lab-first.service")] | length' "$tmp/why.json"; }
	for _ in 1 2 3 4; do
		ask 6s
		[ "$(first)" = 0 ] || break
	done
	[ "$(first)" != 0 ] || fail "with all sources, the culprit is not named"
	culprit=$(jq -r .verdict.culprit.name "$tmp/why.json") sure=$(jq .verdict.confidence "$tmp/why.json")
	weaker() { # NAME UNKNOWN: of the answer in why.json
		jq -e --arg u "$2" '[.unknown[].what] | any(test($u))' "$tmp/why.json" >/dev/null || fail "$1: '$2' is not under unknown"
		# a symptom without a cause blames nobody: the load of the moment may well fill a core
		jq -e --arg c "$culprit" --argjson s "$sure" \
			'.verdict.culprit.name == $c or .verdict.confidence <= $s or (.verdict.title | test("no cause was found"))' "$tmp/why.json" >/dev/null ||
			fail "$1: surer of somebody else than with everything ($culprit, $sure)"
	}
	missing=$tmp/empty
	mkdir "$missing"
	# no BPF: names from inotify, and nothing is said to stay behind
	ZSCOPE_CENSUS=off ask 5s
	weaker "no BPF" 'stay behind|creators'
	[ "$(first)" = 0 ] || fail "no BPF: it is claimed that cgroups stay behind"
	# no perf, no D-Bus, no docker, no kernel log: each hidden in a mount namespace of its own
	hide() { # NAME UNKNOWN COMMAND
		unshare -m bash -c "$3"' && exec "$0" "$@"' "$zscope" why --watch 5s --json --no-save >"$tmp/why.json" 2>"$tmp/err"
		weaker "$1" "$2"
		[ "$(first)" != 0 ] || [ "$(jq '.verdict.confidence <= 0.8' "$tmp/why.json")" = true ] || fail "$1: the culprit is gone"
	}
	hide "no kernel log" 'net-driver-reset' 'mount --bind /dev/null /dev/kmsg'
	hide "no D-Bus and no systemd" 'unit-crash-loop' "[ ! -d /run/systemd ] || mount --bind '$missing' /run/systemd"
	hide "no docker" 'container-churn' "for s in /run/docker.sock /run/podman /run/containerd; do [ ! -e \$s ] || mount --bind \$( [ -d \$s ] && echo '$missing' || echo /dev/null) \$s; done"
	# no perf: refused by the kernel, as with a strict perf_event_paranoid or in a container
	strace -f -qq --seccomp-bpf -o "$tmp/trace" -e trace=perf_event_open -e inject=perf_event_open:error=EACCES \
		"$zscope" why --watch 5s --json --no-save >"$tmp/why.json" 2>"$tmp/err"
	grep -q INJECTED "$tmp/trace" || fail "no perf: nothing was refused"
	weaker "no perf" 'memcg-walk-cost'
	# reads of memory.stat are flat from 5.8 on: without samples nobody is said to walk
	case $(uname -r) in [0-4].* | 5.[0-7].*) ;; *) has memcg-walk-cost && fail "no perf: a walk is claimed where reads cost nothing" ;; esac
	# no perf and no root at once: an ordinary user
	if command -v setpriv >/dev/null; then
		cp "$zscope" "$tmp/zscope" && chmod 755 "$tmp" "$tmp/zscope"
		setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/zscope" why --watch 4s --json --no-save >"$tmp/why.json" 2>"$tmp/err"
		[ $? -le 2 ] || fail "as an ordinary user it dies"
		if [ -s "$tmp/why.json" ]; then
			weaker "no root" 'memcg-walk-cost|rt-hog|cgroup-churn'
		else
			grep -q 'zscope' "$tmp/err" || fail "as an ordinary user it says nothing"
		fi
	fi
	ask 3s # for the last checks below
	;;
*) echo "no scenario $scenario"; exit 1 ;;
esac
# Every claim can be checked by hand.
jq -e '[.findings[].evidence[] | .what and .value and .source] | all' "$tmp/why.json" >/dev/null || fail "evidence without a source"
"$zscope" lab clean "$lab" >/dev/null || fail "the lab leaves something behind"
[ -z "$(ls -d /sys/fs/cgroup/*/zscope-lab-"$lab"* /var/tmp/zscope-lab-"$lab" 2>/dev/null)" ] || fail "traces are left"
lab=
