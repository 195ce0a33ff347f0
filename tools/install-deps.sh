#!/bin/sh
# Install what is missing, with apt-get, for: build | test | bench. Does nothing, quickly, when all is there.
set -eu

build="gcc clang llvm meson ninja-build pkg-config bpftool libbpf-dev libelf-dev zlib1g-dev libzstd-dev libsystemd-dev
	libmicrohttpd-dev libjansson-dev libpcre2-dev libncurses-dev libcmocka-dev"
test="$build qemu-system-x86 cpio kmod xz-utils util-linux-extra chromium prometheus prometheus-node-exporter curl fonts-dejavu-core clang-format-14 libclang-rt-14-dev strace faketime e2fsprogs xfsprogs btrfs-progs sysstat linux-perf jq zstd tmux python3 git procps groff-base
	systemd-container debootstrap docker.io podman systemd-journal-remote busybox-static"
bench="$build curl prometheus-node-exporter sysstat linux-perf python3 strace systemd-container debootstrap"

case ${1:-build} in
build) want=$build ;;
test) want=$test ;;
bench) want=$bench ;;
*) echo "usage: install-deps.sh build|test|bench" >&2; exit 2 ;;
esac

missing=
for package in $want; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# the page is bundled with node and npm; a newer node than Debian's brings its own npm
command -v node >/dev/null || missing="$missing nodejs"
command -v npm >/dev/null || missing="$missing npm"
[ -n "$missing" ] || exit 0
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list on purpose
apt-get install -y -qq --no-install-recommends $missing >/dev/null
