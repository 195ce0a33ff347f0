#!/bin/sh
# Write zscope(1) and one page per command, from the program just installed.
set -eu
zscope=${MESON_INSTALL_DESTDIR_PREFIX}/bin/zscope
dir=${MESON_INSTALL_DESTDIR_PREFIX}/share/man/man1
mkdir -p "$dir"
"$zscope" generate man >"$dir/zscope.1"
for command in $("$zscope" generate commands); do
	"$zscope" generate man "$command" >"$dir/zscope-$command.1"
done
