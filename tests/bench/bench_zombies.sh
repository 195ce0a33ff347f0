#!/bin/bash
# Census and purge of real zombies. Ratios within this run; ZOMBIES=N sets how many (default 20000).
set -u
zscope=$1/zscope
n=${ZOMBIES:-20000}
[ "$(id -u)" = 0 ] || { echo "bench_zombies: needs root"; exit 0; }
top=/sys/fs/cgroup/memory
[ -d $top ] || { echo "bench_zombies: needs cgroup v1 memory for its peer, force_empty"; exit 0; }
export ZSCOPE_LAB_STATE
ZSCOPE_LAB_STATE=$(mktemp -d /run/zscope-lab-bench-XXXXXX)
live=$top/zscope-bench-$$
trap '"$zscope" lab clean >/dev/null 2>&1; find "$live" -depth -type d -exec rmdir {} + 2>/dev/null; rm -rf "$ZSCOPE_LAB_STATE" /var/tmp/zscope-bench-$$' EXIT

cpu() { # CPU seconds (user + system) of a command
	{ TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}
best() { for _ in 1 2 3 4 5; do cpu "$@"; done | sort -n | head -n 1; }
line() { # line NAME OURS PEER GOAL: goal is the largest ratio allowed
	awk -v name="$1" -v a="$2" -v b="$3" -v g="$4" 'BEGIN { r = a / b; printf "%s: ours %s, peer %s, ratio %.4f (goal %s) %s\n", name, a, b, r, g, r <= g ? "ok" : "MISSED" }'
}
field() { python3 -c 'import json,sys; d=json.load(sys.stdin)
for k in sys.argv[1].split("."): d=d[k]
print(d)' "$1"; }
make() { "$zscope" lab run zombies --count "$n" --mode file --keep --for 30m --json 2>/dev/null | field id; }

mkdir -p "$live"
for i in $(seq 0 $((n / 100))); do mkdir "$live/p$i"; for j in $(seq 99); do echo "$live/p$i/c$j"; done | xargs mkdir; done 2>/dev/null
find_cpu=$(best find "$live" -type d)
find "$live" -depth -type d -exec rmdir {} + 2>/dev/null

# start-up: what a census costs where there is next to nothing to find
load=$(best "$zscope" zombies --json)
id=$(make)
named=$(best "$zscope" zombies --json --list)
answer=$("$zscope" zombies --json)
line "zombies: named census of $n, each one printed, against find -type d on as many directories (CPU s)" "$named" "$find_cpu" 0.05
awk -v a="$named" -v b="$find_cpu" -v l="$load" 'BEGIN { printf "zombies: the same beyond start-up: ours %s, peer %s, ratio %.4f\n", a - l, b, (a - l) / b }'
line "zombies: census per zombie beyond start-up (us, goal 1)" "$(awk -v a="$(best "$zscope" zombies --json)" -v b="$load" -v n="$n" 'BEGIN { print (a > b ? a - b : 0) * 1e6 / n }')" 1 1
echo "zombies: the host had $("$zscope" zombies --json --below / | field dying) zombies in all, $n of them ours"
line "zombies: start-up with load (ms, goal 30)" "$(awk -v a="$load" 'BEGIN { print a * 1000 }')" 1 30
line "zombies: longest stretch in the kernel (ms, goal 5)" "$(printf '%s' "$answer" | field walk.longest_slice_ns | awk '{ print $1 / 1e6 }')" 1 5
rss=$(python3 -c 'import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)' "$zscope" zombies --json --list)
line "zombies: memory of the named census (MiB, goal 16)" "$rss" 1 16
line "zombies: census with pins (CPU s, goal 1 at 70,000)" "$(best "$zscope" zombies --json --pins)" "$(awk -v n="$n" 'BEGIN { print n / 70000 }')" 1

# purge against a bare force_empty of the same parent; the neighbour's cache must stay
mkdir -p /var/tmp/zscope-bench-$$ "$top/zscope-lab-$id/neighbour"
(echo 0 >"$top/zscope-lab-$id/neighbour/cgroup.procs" && head -c 64M /dev/zero >/var/tmp/zscope-bench-$$/cached)
before=$(fincore -b -n -o RES /var/tmp/zscope-bench-$$/cached | tr -d ' ')
# kernel workers release the zombies: their time counts on both sides
total() { awk '/^cpu /{ print ($2 + $3 + $4 + $7 + $8) / 100 }' /proc/stat; }
purge=$(cpu "$zscope" purge --apply --below "/zscope-lab-$id")
after=$(fincore -b -n -o RES /var/tmp/zscope-bench-$$/cached | tr -d ' ')
left=$("$zscope" zombies --json --below "/zscope-lab-$id" | field dying)
rmdir "$top/zscope-lab-$id/neighbour"
"$zscope" lab clean >/dev/null
id=$(make)
empty=$(cpu sh -c "echo 0 >$top/zscope-lab-$id/memory.force_empty")
line "purge: CPU against force_empty, writer only (s)" "$purge" "$empty" 1.5
# where DAMON pages out what nobody touched, a few pages go by themselves
away=1
grep -qs pageout /sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/action && away=1.07
line "purge: the neighbour's cached bytes before against after" "$before" "$after" $away
line "purge: zombies left of $n" "$left" "$n" 0.01
