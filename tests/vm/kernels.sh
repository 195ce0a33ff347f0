#!/bin/bash
# make test-kernels: the census on kernels that this Debian does not have: bullseye's 5.10 and the newest 7.x of sid. Packages come from
# the Debian mirror with a sources list of their own; nothing is installed. Not part of make test: it downloads 100 MB.
#   kernels.sh BUILD_DIR [PATTERN...]    default: linux-image-5\.10\. linux-image-7\.
set -u
build=$1
shift
[ $# -gt 0 ] || set -- 'linux-image-5\.10\.' 'linux-image-7\.'
here=$(cd "$(dirname "$0")" && pwd)
cache=${ZSCOPE_TEST_CACHE:-/var/cache/zombiescope-test}/apt-kernels
mkdir -p "$cache/lists/partial" "$cache/archives/partial" "$cache/debs" || exit 2
cat >"$cache/sources.list" <<-END
	deb http://deb.debian.org/debian bullseye main
	deb http://deb.debian.org/debian sid main
END
options=(-o Dir::Etc::sourcelist="$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$cache/lists"
	-o Dir::Cache="$cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
apt-get "${options[@]}" update -qq || { echo "no package lists"; exit 77; }
# The image and, since 7.x, the packages that it is split into, as one package file.
fetch_kernel() { # fetch_kernel NAME: prints the file
	local name=$1 work part
	[ -f "$cache/debs/$name.deb" ] || {
		work=$(mktemp -d) && mkdir -p "$work/tree/DEBIAN" || return 1
		for part in "$name" "${name/-image-/-binary-}" "${name/-image-/-modules-}"; do
			apt-cache "${options[@]}" show "$part" >/dev/null 2>&1 || continue
			(cd "$work" && apt-get "${options[@]}" download -qq "$part") >&2 || return 1
		done
		for part in "$work"/*.deb; do dpkg-deb -x "$part" "$work/tree"; done
		for part in "$work"/tree/usr/lib/modules/*/vmlinuz; do
			[ ! -f "$part" ] || install -D "$part" "$work/tree/boot/vmlinuz-$(basename "$(dirname "$part")")"
		done
		printf '%s\n' "Package: $name" 'Version: 1' 'Architecture: amd64' 'Maintainer: none <none@localhost>' 'Description: for tests' \
			>"$work/tree/DEBIAN/control"
		dpkg-deb -Znone -b "$work/tree" "$cache/debs/$name.deb" >&2 || return 1
		rm -rf "$work"
	}
	echo "$cache/debs/$name.deb"
}

status=0
for pattern in "$@"; do
	name=$(apt-cache "${options[@]}" pkgnames linux-image | grep -E "^$pattern.*cloud-amd64$" | sort -V | tail -n 1)
	[ -n "$name" ] || { echo "$pattern: no such kernel is offered"; continue; }
	deb=$(fetch_kernel "$name") || { echo "$name: cannot be downloaded"; status=1; continue; }
	"$here/zombies.py" "$build/zscope" "$build/tests/kernel/zombie_maker" "$deb" || status=1
done
exit $status
