#!/bin/bash
# A real dockerd whose container crash-loops: every crash leaves a zombie that its file pins. Container, file and creator must be named, the
# churn counted, and a purge must let them go while the loop goes on.
#   zombies_docker.sh ZSCOPE
set -u
zscope=$1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d /var/tmp/zscope-loop-XXXXXX)
rig=$here/../rig/docker.sh
fail() { echo "FAIL: $1"; head -c 4000 "$dir/out"; exit 1; }
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "no kernel BTF"; exit 77; }
trap '"$rig" down "$dir/engine"; rm -rf "$dir"' EXIT
"$rig" up "$dir/engine" || exit $?
"$rig" image "$dir/engine" shop:1 || fail "no image"
mkdir "$dir/data"
id=$("$rig" cli "$dir/engine" run -d --name web --restart always --network none -v "$dir/data:/data" shop:1 \
	/bin/sh -c 'busybox head -c 8192 /dev/zero >/data/$(busybox date +%s)-$$; exit 3') || { echo "no container runs here"; exit 77; }

# docker waits longer after each crash: from 0.1 s to a minute
for ((i = 0; i < 240; i++)); do
	[ "$(ls "$dir/data" | wc -l)" -ge 4 ] && break
	sleep 0.5
done
for ((i = 0; i < 4; i++)); do # how often it crashes within the watch is up to the engine and the machine
	"$rig" cli "$dir/engine" restart -t 0 web >/dev/null # from the start of its pauses again
	had=$(ls "$dir/data" | wc -l)
	"$zscope" zombies --watch 8s --list --pins --json >"$dir/out" 2>"$dir/err" || fail "zombies"
	[ "$(ls "$dir/data" | wc -l)" -lt $((had + 4)) ] || break
done
mine="[.zombies[] | select(.container == \"$id\")]"
jq -e "$mine | length >= 3" "$dir/out" >/dev/null || fail "the zombies of the container are not found"
jq -e "$mine | all(.kind == \"docker\" and (.path | endswith(\"/$id\")) and (.owner | contains(\"docker\")))" "$dir/out" >/dev/null || fail "owner"
n=$(jq "$mine | map(select(any(.pins[]?; .kind == \"file\" and ((.file // \"\") | startswith(\"$dir/data/\"))))) | length" "$dir/out")
[ "$n" -ge 3 ] || fail "only $n are pinned by the files of the container"
parent=$(jq -r "$mine[0].path | rtrimstr(\"/$id\")" "$dir/out")
jq -e --arg p "$parent" '.groups[] | select(.kind == "docker" and .owner == "docker containers under \($p)" and .count >= 3 and .created_every_s > 0)' "$dir/out" >/dev/null || fail "group"
jq -e --arg p "$parent" '.churn.groups[] | select(.owner == "docker containers under \($p)" and .made >= 2 and .removed >= 2 and .every_s > 0)
	| .creator | .pid > 0 and (.comm | length) > 0' "$dir/out" >/dev/null || fail "churn"
# what died in the watch has its dates and who made it
jq -e "$mine | map(select(.died and .creator.pid > 0)) | length >= 1" "$dir/out" >/dev/null || fail "dates"
creator=$(jq -r "$mine | map(select(.creator)) | .[0].creator | \"\(.comm) (pid \(.pid), \(.cgroup))\"" "$dir/out")
"$rig" cli "$dir/engine" rm -f web >/dev/null
before=$("$zscope" zombies --list --json 2>/dev/null | jq "$mine | length")
"$zscope" purge --below "$parent" --apply --json >"$dir/out" 2>"$dir/err" || fail "purge"
for ((i = 0; i < 50; i++)); do
	after=$("$zscope" zombies --list --json 2>/dev/null | jq "$mine | length")
	[ "$after" -lt "$before" ] && [ "$after" -le 1 ] && break
	sleep 0.2
done
# the last may still be held by what the engine shares: the image's own files
[ "$after" -lt "$before" ] || fail "purge let none of $before go"
echo "crash loop: $before zombies of one container, $n pinned by its files, made by $creator; $after left after the purge"
