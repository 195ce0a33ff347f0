#!/bin/bash
# A really booted systemd on a machine whose own pid 1 may be anything. Source this file, or run it:
#
#   nspawn.sh tree                 make the shared debootstrap tree (once), print its directory
#   nspawn.sh overlay DIR          a writable copy-on-write copy of the tree at DIR/root
#   nspawn.sh boot DIR [ARG...]    boot DIR/root; prints the pid of its init when it answers; ARGs go to systemd-nspawn
#   nspawn.sh run DIR CMD...       run a command inside the booted tree, as root, with its environment
#   nspawn.sh quiet DIR            keep snapd from waiting for a network that is not there (mask it) before the boot
#   nspawn.sh program DIR ZSCOPE   put a program and its libraries into the tree, as /opt/zscope/zscope
#   nspawn.sh down DIR             stop it, unmount, remove DIR and its cgroups
#
# Everything is bounded and ended by pid. Exit 77: what is missing is named.
set -u

rig_cache=${ZSCOPE_TEST_CACHE:-/var/cache/zombiescope-test}
rig_packages=systemd,systemd-sysv,dbus,docker.io,containerd,multipath-tools,open-iscsi,snapd,unattended-upgrades,dbus-user-session,iproute2,procps,kmod
rig_suite=${ZSCOPE_TEST_SUITE:-bookworm}

rig_skip() { echo "nspawn rig: $1" >&2; exit 77; }

rig_need() {
	[ "$(id -u)" = 0 ] || rig_skip "needs root"
	local tool
	for tool in "$@"; do command -v "$tool" >/dev/null || rig_skip "$tool is not installed"; done
}

# Where the tree comes from: ZSCOPE_TEST_MIRROR, or this machine's own Debian archive; nothing when apt knows none.
rig_archive() {
	[ -z "${ZSCOPE_TEST_MIRROR:-}" ] || { echo "$ZSCOPE_TEST_MIRROR"; return; }
	# shellcheck disable=SC2016 # the names are apt's
	apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(LABEL) $(RELEASE) $(REPO_URI)' 2>/dev/null |
		awk '$1 == "Packages" && $2 == "Debian" && $3 == "Debian" && $4 ~ /^[a-z]+$/ && !uri { uri = $5 } END { print uri }'
}

# The tree is made under a lock in a scratch name and renamed, so that a killed run leaves no half tree behind.
rig_tree() {
	rig_need debootstrap flock
	local key tree scratch archive
	key=$(printf '%s' "$rig_suite $rig_packages" | sha256sum | cut -c1-12)
	tree=$rig_cache/tree-$key
	mkdir -p "$rig_cache/debs" || exit 2
	exec 9>"$rig_cache/lock"
	flock -w 900 9 || rig_skip "another run makes the tree for more than 15 minutes"
	if [ ! -d "$tree" ]; then
		archive=$(rig_archive)
		[ -n "$archive" ] || rig_skip "apt knows no Debian archive (ZSCOPE_TEST_MIRROR=URL names one)"
		scratch=$rig_cache/scratch.$$
		rm -rf "$scratch"
		if ! timeout -k 5 800 debootstrap --variant=minbase --cache-dir="$rig_cache/debs" --include="$rig_packages" \
			"$rig_suite" "$scratch" "$archive" >"$rig_cache/debootstrap.log" 2>&1 9>&-; then
			tail -n 3 "$rig_cache/debootstrap.log" >&2
			rm -rf "$scratch"
			rig_skip "debootstrap failed (network?)"
		fi
		rm -f "$scratch"/var/cache/apt/archives/*.deb
		mv "$scratch" "$tree" || exit 2
	fi
	exec 9>&-
	echo "$tree"
}

rig_overlay() {
	local dir=$1 tree
	tree=$(rig_tree) || exit $?
	mkdir -p "$dir"/{upper,work,root} || exit 2
	mount -t overlay overlay -o "lowerdir=$tree,upperdir=$dir/upper,workdir=$dir/work" "$dir/root" ||
		rig_skip "overlay mount refused"
}

rig_quiet() {
	local unit
	# nor the first boot ask questions at a console that nobody reads
	for unit in systemd-firstboot.service systemd-networkd-wait-online.service snapd.service snapd.socket snapd.seeded.service snapd.apparmor.service; do
		ln -sf /dev/null "$1/root/etc/systemd/system/$unit"
	done
}

# nspawn runs in cgroups of its own, in every hierarchy, so that its teardown can touch nothing else.
rig_cgroup_enter() { # NAME: move this shell
	local hierarchy
	for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[ -e "$hierarchy/cgroup.procs" ] || continue
		mkdir -p "$hierarchy/$1" 2>/dev/null || continue
		if [ -e "$hierarchy/$1/cpuset.cpus" ]; then
			cat "$hierarchy/cpuset.cpus" >"$hierarchy/$1/cpuset.cpus" 2>/dev/null
			cat "$hierarchy/cpuset.mems" >"$hierarchy/$1/cpuset.mems" 2>/dev/null
		fi
		echo $BASHPID >"$hierarchy/$1/cgroup.procs" 2>/dev/null
	done
	return 0
}

rig_cgroup_remove() { # NAME, deepest first
	local hierarchy
	for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[ -d "$hierarchy/$1" ] && [ -e "$hierarchy/cgroup.procs" ] || continue
		find "$hierarchy/$1" -depth -type d -exec rmdir {} \; 2>/dev/null
	done
	return 0
}

rig_children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }

# nspawn shows the v1 hierarchies read-only; a container engine inside needs them writable (they are the rig's own cgroups).
rig_cgroup_writable() {
	nsenter -t "$1" -a -- sh -c 'for h in /sys/fs/cgroup/*/; do mount -o remount,bind,rw "$h"; done' 2>/dev/null
	return 0
}

rig_boot() {
	local dir=$1 name outer init='' i up='^(running|degraded)' network=--private-network
	shift
	# RIG_HOST=1: the machine's own network devices and kernel log, to be looked at. dockerd must not touch them.
	if [ -n "${RIG_HOST:-}" ]; then
		network=
		mkdir -p "$dir/root/etc/docker"
		echo '{"bridge": "none", "iptables": false, "ip6tables": false, "ip-forward": false, "ip-masq": false}' >"$dir/root/etc/docker/daemon.json"
	fi
	rig_need systemd-nspawn nsenter
	name=zscope-rig-$(basename "$dir")
	echo "$name" >"$dir/cgroup"
	(
		rig_cgroup_enter "$name"
		# shellcheck disable=SC2086 # empty, or one word
		exec systemd-nspawn -q -D "$dir/root" --boot --register=no --keep-unit $network --kill-signal=SIGRTMIN+3 \
			--console=pipe --machine=zscope-rig --capability=all --system-call-filter="@keyring bpf" "$@" \
			</dev/null >"$dir/console" 2>&1
	) &
	outer=$!
	echo "$outer" >"$dir/outer"
	for ((i = 0; i < 1800; i++)); do
		kill -0 "$outer" 2>/dev/null || { tail -n 5 "$dir/console" >&2; rig_skip "systemd-nspawn ended at once"; }
		# nspawn's first child only sets up the namespaces and ends: ask again each time
		init=$(rig_children "$outer")
		init=${init%% *}
		if [ -n "$init" ] && nsenter -t "$init" -a -- systemctl is-system-running 2>/dev/null | grep -qE "$up"; then
			echo "$init" >"$dir/init"
			rig_cgroup_writable "$init"
			[ -z "${RIG_HOST:-}" ] || nsenter -t "$init" -a -- sh -c 'rm -f /dev/kmsg && mknod -m 600 /dev/kmsg c 1 11'
			echo "$init"
			return 0
		fi
		# one late job (a device, a network) must not fail a test that does not need it
		[ "$i" = 250 ] && up='^(running|degraded|starting)'
		sleep 0.1
	done
	tail -n 20 "$dir/console" >&2
	[ -n "$init" ] && timeout 5 nsenter -t "$init" -a -- systemctl list-jobs --no-pager >&2
	echo "nspawn rig: systemd did not come up within three minutes" >&2
	return 1
}

rig_run() {
	local dir=$1
	shift
	nsenter -t "$(cat "$dir/init")" -m -u -i -n -p -C -r -w -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
		LD_LIBRARY_PATH=/opt/zscope/lib "$@"
}

# The program under test with the libraries it is linked to: the tree needs none of them installed.
rig_program() {
	local dir=$1 program=$2 library
	mkdir -p "$dir/root/opt/zscope/lib"
	cp "$program" "$dir/root/opt/zscope/zscope"
	for library in $(ldd "$program" | grep -oE '/[^ ]+' | grep -vE '/(ld-linux|libc\.so|libm\.so)'); do
		cp -L "$library" "$dir/root/opt/zscope/lib/"
	done
}

rig_down() {
	local dir=$1 outer i
	outer=$(cat "$dir/outer" 2>/dev/null)
	if [ -n "$outer" ]; then
		[ -s "$dir/init" ] && kill -RTMIN+4 "$(cat "$dir/init")" 2>/dev/null # poweroff
		for ((i = 0; i < 100; i++)); do
			kill -0 "$outer" 2>/dev/null || break
			[ "$i" = 50 ] && kill -TERM "$outer" 2>/dev/null
			[ "$i" = 90 ] && kill -KILL "$outer" $(rig_children "$outer") 2>/dev/null
			sleep 0.1
		done
	fi
	mountpoint -q "$dir/root" && { umount "$dir/root" 2>/dev/null || umount -l "$dir/root"; }
	[ -f "$dir/cgroup" ] && rig_cgroup_remove "$(cat "$dir/cgroup")"
	rm -rf --one-file-system "$dir"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	case ${1:-} in
	tree) rig_tree ;;
	overlay | quiet | boot | run | down | program) verb=$1; shift; "rig_$verb" "$@" ;;
	*) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
fi
