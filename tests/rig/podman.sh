#!/bin/bash
# A real podman of its own: storage, run directory and API socket below one directory. Run it:
#
#   podman.sh up DIR               start its API service; the socket is DIR/podman.sock
#   podman.sh image DIR NAME       import an image NAME of a static busybox
#   podman.sh cli DIR ARG...       podman with that storage
#   podman.sh down DIR             remove its containers, stop it, remove DIR
#
# Exit 77: what is missing is named.
set -u

rig_podman_skip() { echo "podman rig: $1" >&2; exit 77; }

# CONTAINER_HOST would make it the client of another
rig_podman_cli() {
	local dir=$1
	shift
	timeout -k 2 180 env -u CONTAINER_HOST podman --root "$dir/root" --runroot "$dir/run" --tmpdir "$dir/tmp" --cgroup-manager cgroupfs --storage-driver vfs \
		--events-backend file "$@"
}

rig_podman_up() {
	local dir=$1 i
	[ "$(id -u)" = 0 ] || rig_podman_skip "needs root"
	command -v podman >/dev/null || rig_podman_skip "podman is not installed"
	mkdir -p "$dir" || exit 2
	env -u CONTAINER_HOST podman --root "$dir/root" --runroot "$dir/run" --tmpdir "$dir/tmp" --cgroup-manager cgroupfs --storage-driver vfs \
		--events-backend file system service --time 0 "unix://$dir/podman.sock" >"$dir/log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	for ((i = 0; i < 1200; i++)); do
		kill -0 "$(cat "$dir/pid")" 2>/dev/null || { tail -n 5 "$dir/log" >&2; rig_podman_skip "podman ended at once"; }
		[ -S "$dir/podman.sock" ] && return 0
		sleep 0.1
	done
	rig_podman_down "$dir"
	rig_podman_skip "podman did not listen within two minutes"
}

rig_podman_image() {
	local dir=$1 name=$2 tree
	[ -x /bin/busybox ] || rig_podman_skip "busybox-static is not installed"
	tree=$(mktemp -d)
	mkdir -p "$tree/bin"
	cp /bin/busybox "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	tar -C "$tree" -c . | rig_podman_cli "$dir" import -q - "$name" >/dev/null
	local status=$?
	rm -rf "$tree"
	return $status
}

rig_podman_down() {
	local dir=$1 pid i
	rig_podman_cli "$dir" rm -fa -t 0 >/dev/null 2>&1
	pid=$(cat "$dir/pid" 2>/dev/null)
	if [ -n "$pid" ]; then
		kill -TERM "$pid" 2>/dev/null
		for ((i = 0; i < 50; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
		kill -KILL "$pid" 2>/dev/null
	fi
	local mount
	awk -v d="$dir/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r mount; do umount -l "$mount"; done
	rm -rf --one-file-system "$dir"
}

case ${1:-} in
up | image | cli | down) verb=$1; shift; "rig_podman_$verb" "$@" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
