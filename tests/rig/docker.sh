#!/bin/bash
# A real dockerd of its own: data, exec root, socket and containerd below one directory; no bridge, no iptables. Source or run it:
#
#   docker.sh up DIR               start; the socket is DIR/docker.sock
#   docker.sh image DIR NAME       import an image NAME of a static busybox
#   docker.sh cli DIR ARG...       the docker client against it
#   docker.sh down DIR             remove its containers, stop it, remove DIR
#
# Exit 77: what is missing is named.
set -u

rig_docker_skip() { echo "docker rig: $1" >&2; exit 77; }

rig_docker_cli() {
	local dir=$1 cli
	shift
	# the client, not a wrapper that some machines put in front of it
	cli=/usr/bin/docker
	[ -x "$cli" ] || cli=$(command -v docker) || rig_docker_skip "docker is not installed"
	timeout -k 2 180 "$cli" -H "unix://$dir/docker.sock" "$@"
}

rig_docker_up() {
	local dir=$1
	[ "$(id -u)" = 0 ] || rig_docker_skip "needs root"
	command -v dockerd >/dev/null || rig_docker_skip "dockerd is not installed"
	mkdir -p "$dir" || exit 2
	echo '{}' >"$dir/daemon.json"
	dockerd --config-file "$dir/daemon.json" --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/dockerd.pid" \
		-H "unix://$dir/docker.sock" --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs \
		--exec-opt native.cgroupdriver=cgroupfs ${RIG_DOCKER_ARGS:-} >"$dir/dockerd.log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	local end=$((SECONDS + 120))
	while [ $SECONDS -lt $end ]; do
		kill -0 "$(cat "$dir/pid")" 2>/dev/null || { tail -n 5 "$dir/dockerd.log" >&2; rig_docker_skip "dockerd ended at once"; }
		rig_docker_cli "$dir" version >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	tail -n 5 "$dir/dockerd.log" >&2
	rig_docker_down "$dir"
	rig_docker_skip "dockerd did not answer within two minutes"
}

rig_docker_image() {
	local dir=$1 name=$2 tree
	[ -x /bin/busybox ] || rig_docker_skip "busybox-static is not installed"
	tree=$(mktemp -d)
	mkdir -p "$tree/bin" "$tree/tmp"
	cp /bin/busybox "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	tar -C "$tree" -c . | rig_docker_cli "$dir" import - "$name" >/dev/null
	local status=$?
	rm -rf "$tree"
	return $status
}

rig_docker_down() {
	local dir=$1 pid i
	pid=$(cat "$dir/pid" 2>/dev/null)
	if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
		local all
		all=$(rig_docker_cli "$dir" ps -aq 2>/dev/null)
		# shellcheck disable=SC2086 # a list on purpose
		[ -n "$all" ] && rig_docker_cli "$dir" rm -f $all >/dev/null 2>&1
		kill -TERM "$pid" 2>/dev/null
		for ((i = 0; i < 100; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			[ "$i" = 80 ] && kill -KILL "$pid" 2>/dev/null
			sleep 0.1
		done
	fi
	local mount
	awk -v d="$dir/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r mount; do umount -l "$mount"; done
	rm -rf --one-file-system "$dir"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	case ${1:-} in
	up | image | cli | down) verb=$1; shift; "rig_docker_$verb" "$@" ;;
	*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
fi
