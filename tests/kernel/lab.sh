#!/bin/bash
# lab makes what it says, in its bounds, and lab clean removes every trace, also after kill -9.
set -eu
zscope=$1
[ "$(id -u)" = 0 ] || { echo "skipped: not root"; exit 77; }
top=/sys/fs/cgroup/memory
[ -d $top ] || top=/sys/fs/cgroup
[ -w $top/cgroup.procs ] || { echo "skipped: no writable memory cgroup hierarchy"; exit 77; }
export ZSCOPE_LAB_STATE
ZSCOPE_LAB_STATE=$(mktemp -d /run/zscope-lab-test-XXXXXX)
trap '"$zscope" lab clean >/dev/null 2>&1 || true; rm -rf "$ZSCOPE_LAB_STATE"' EXIT

traces() { ls -d $top/zscope-lab-"$1" /var/tmp/zscope-lab-"$1" /dev/shm/zscope-lab-"$1" 2>/dev/null || true; }
fail() { echo "FAILED: $*"; exit 1; }

# bounds
if "$zscope" lab run zombies --count 100001 2>/dev/null; then fail "no bound on the count"; fi
if "$zscope" lab run busy-core --for 2h 2>/dev/null; then fail "no bound on the time"; fi
if "$zscope" lab run nothing 2>/dev/null; then fail "an unknown scenario"; fi

# a busy core is really busy, in the kernel
core=$(($(nproc) - 1))
sys() { awk -v c="cpu$core" '$1 == c { print $4 }' /proc/stat; }
before=$(sys)
"$zscope" lab run busy-core --mode sys --for 2s --cpu $core 2>/dev/null
[ $(($(sys) - before)) -ge 60 ] || fail "the core was not busy in system time"

# zombies stand, and go
id=$("$zscope" lab run zombies --count 50 --mode mix --keep --for 60s --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
[ "$("$zscope" zombies --json --below "/zscope-lab-$id" | python3 -c 'import json,sys; print(json.load(sys.stdin)["dying"])')" = 50 ] || fail "not 50 zombies"
"$zscope" lab clean "$id" >/dev/null
[ -z "$(traces "$id")" ] || fail "left: $(traces "$id")"

# kill -9 in the middle: the next clean finds everything
"$zscope" lab run zombies --count 20000 --mode mix --for 60s 2>/dev/null &
pid=$!
for _ in $(seq 100); do [ -n "$(ls -d $top/zscope-lab-$pid-* 2>/dev/null)" ] && break; sleep 0.05; done
sleep 0.3
kill -9 $pid
wait $pid 2>/dev/null || true
id=$(basename "$(ls -d $top/zscope-lab-$pid-*)" | sed s/zscope-lab-//)
"$zscope" lab clean >/dev/null
[ -z "$(traces "$id")" ] || fail "after kill -9: $(traces "$id")"
[ -z "$(ls "$ZSCOPE_LAB_STATE" 2>/dev/null)" ] || fail "journals left"
for p in /proc/[0-9]*; do
	if grep -qs "zscope-lab-$id" "$p/cgroup"; then fail "process ${p#/proc/} is left"; fi
done

# the dead man ends what nobody cleans
id=$("$zscope" lab run zombies --count 3 --keep --for 1s --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
for _ in $(seq 200); do [ -z "$(traces "$id")" ] && break; sleep 0.1; done
[ -z "$(traces "$id")" ] || fail "the dead man left: $(traces "$id")"
echo "lab makes and removes"
