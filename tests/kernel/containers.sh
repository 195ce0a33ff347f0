#!/bin/bash
# Real engines: a container that its restart policy starts again and again (same id, no create) is a crash loop, with docker and with
# podman; the lab's container-loop goes through dockerd and leaves real zombies below its cgroups, and nothing else; tasks of containerd are
# found in their directories.
#   containers.sh ZSCOPE docker|podman|containerd
set -u
zscope=$1 engine=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d /var/tmp/zscope-engine-XXXXXX)
export ZSCOPE_LAB_STATE=$dir/lab
fail() { echo "FAIL: $1"; [ -f "$dir/out" ] && tail -c 3000 "$dir/out"; exit 1; }
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }
[ -x /bin/busybox ] || { echo "busybox-static is missing"; exit 77; }

audit_until() { # audit_until WHAT CONDITION: on the JSON of an audit
	local i
	for ((i = 0; i < 120; i++)); do
		"$zscope" audit --json >"$dir/out" 2>"$dir/err"
		jq -e "$2" "$dir/out" >/dev/null 2>&1 && return
		sleep 0.5
	done
	cat "$dir/err"
	fail "$1"
}

# Tells of a restart policy: RIG up, image, cli
policy() { # policy RIG RUNTIME
	local rig=$here/../rig/$1.sh
	# shellcheck disable=SC2064 # the rig of now
	trap "\"$zscope\" lab clean >/dev/null 2>&1; '$rig' down '$dir/engine'; rm -rf '$dir'" EXIT
	"$rig" up "$dir/engine" || exit $?
	"$rig" image "$dir/engine" shop:1 || fail "no image"
	# podman asks for more files and processes than a container host may give
	"$rig" cli "$dir/engine" run -d --name web --restart always --network none --ulimit nofile=512:512 --ulimit nproc=1000:1000 shop:1 \
		/bin/sh -c 'busybox sleep 1; exit 3' >/dev/null || { echo "no container runs here"; exit 77; }
	audit_until "the policy's loop is not reported" \
		'.containers[] | select(.name == "web" and .in_place and .looping and .restarts >= 3 and .exit_code == 3 and .runtime == "'"$2"'")'
	"$zscope" audit --json >"$dir/out"
	[ $? = 1 ] || fail "exit status is not 1"
	"$zscope" audit | grep -q 'container web crash-loops: its restart policy started it' || fail "the text does not say it"
	jq -r '.containers[] | select(.name == "web") | "\(.runtime): container \(.name), restarts \(.restarts), every \(.cadence_ns / 1e9) s, exit code \(.exit_code)"' "$dir/out"
	local i
	for ((i = 0; i < 10; i++)); do # an engine that answers too late is not waited for
		"$zscope" check --json >"$dir/out"
		grep -q 'container web' "$dir/out" && break
	done
	grep -q 'container web' "$dir/out" || fail "check does not name it"
	"$rig" cli "$dir/engine" rm -f -t 0 web >/dev/null 2>&1 || "$rig" cli "$dir/engine" rm -f web >/dev/null
}

case $engine in
docker)
	export DOCKER_HOST=unix://$dir/engine/docker.sock
	policy docker docker
	# the lab through dockerd
	id=$("$zscope" lab run container-loop --mode docker --count 5 --interval 200ms --for 120s --keep --json 2>"$dir/err" | jq -r '.id // empty')
	[ -n "$id" ] || { cat "$dir/err"; fail "the lab did not start"; }
	audit_until "the lab's loop is not reported" \
		".containers[] | select(.name == \"zscope-lab-$id\" and (.in_place | not) and .creates >= 5 and .exit_code == 1)"
	if "$zscope" zombies --json 2>/dev/null | jq -e '.method == "census"' >/dev/null; then
		"$zscope" zombies --list --pins --json 2>/dev/null >"$dir/out"
		# the last container still stands; the host may reclaim some by itself
		n=$(jq "[.zombies[] | select((.path | startswith(\"/docker/\")) and .kind == \"docker\" and (.container | length) == 64 and (.container as \$c | .path | endswith(\$c))) | select(any(.pins[]?; (.file // \"\") | contains(\"zscope-lab-$id\")))] | length" "$dir/out")
		[ "$n" -ge 1 ] || fail "no zombie below /docker is pinned by the lab's files"
		echo "lab: $n zombies pinned by the files of the lab's containers"
	fi
	"$zscope" lab clean "$id" >/dev/null || fail "lab clean failed"
	"$here/../rig/docker.sh" cli "$dir/engine" ps -a | grep -q zscope-lab && fail "a container of the lab is left"
	"$here/../rig/docker.sh" cli "$dir/engine" images | grep -q zscope-lab && fail "an image of the lab is left"
	;;
podman)
	export CONTAINER_HOST=unix://$dir/engine/podman.sock DOCKER_HOST=unix:///nonexistent
	policy podman podman
	;;
containerd)
	command -v ctr >/dev/null || { echo "ctr is missing"; exit 77; }
	trap 'rm -rf "$dir"' EXIT
	mkdir -p "$dir"/tree/{bin,proc,dev,sys} "$dir/root"
	cp /bin/busybox "$dir/tree/bin/"
	printf 'version = 2\nroot = "%s/root"\nstate = "/run/containerd"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "%s/sock"\n' \
		"$dir" "$dir" >"$dir/config.toml"
	# its state is where zscope looks, in a mount namespace of its own
	DOCKER_HOST=unix:///nonexistent unshare -m bash -c '
		dir=$1 zscope=$2
		mkdir -p /run/containerd && mount -t tmpfs t /run/containerd || exit 77
		containerd --config "$dir/config.toml" >"$dir/log" 2>&1 &
		pid=$!
		c() { timeout 60 ctr -a "$dir/sock" -n jobs "$@"; }
		for ((i = 0; i < 300; i++)); do c version >/dev/null 2>&1 && break; sleep 0.1; done
		c run -d --rootfs "$dir/tree" worker /bin/busybox sleep 300 || { kill $pid; exit 77; }
		"$zscope" audit --json >"$dir/out"
		c task kill -s 9 worker
		for ((i = 0; i < 100; i++)); do c task rm worker >/dev/null 2>&1 && break; sleep 0.1; done
		c container rm worker
		kill $pid
		wait $pid
		umount -l /run/containerd
		exit 0' - "$dir" "$zscope" || { echo "containerd does not run here"; exit 77; }
	jq -e '.young_containers[] | select(.runtime == "containerd" and .id == "worker" and (.cgroup | test("worker")) and .age_s < 600)' "$dir/out" >/dev/null ||
		fail "the task of containerd is not found"
	echo "containerd: task found"
	;;
*) exit 2 ;;
esac
echo ok
