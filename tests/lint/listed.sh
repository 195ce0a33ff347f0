#!/bin/sh
# A test that is not listed does not run, and nobody notices: every test, fuzz target and source file stands in its meson.build.
set -eu
cd "$1"
status=0
for kind in unit:test_ fuzz:fuzz_; do
	dir=tests/${kind%:*} prefix=${kind#*:}
	for file in "$dir/$prefix"*.c; do
		name=$(basename "$file" .c)
		grep -q "'${name#"$prefix"}'" "$dir/meson.build" || { echo "$file is not listed"; status=1; }
	done
done
for file in src/*/*.c; do
	case $file in src/bpf/* | src/cli/main.c) continue ;; esac
	grep -q "'$(basename "$file")'" "$(dirname "$file")/meson.build" || { echo "$file is not listed"; status=1; }
done
exit $status
