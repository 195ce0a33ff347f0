#!/bin/bash
# make fuzz: every target with libFuzzer, AddressSanitizer and UBSan, for some seconds each, as many at a time as there are cores. Begins with
# the target's corpus; what it finds on the way stays in BUILD/corpus, what ends a target in BUILD/crashes, and the log names both.
#   run.sh BUILD [SECONDS [TARGET...]]
set -u
build=$1 seconds=${2:-10}
shift $(($# < 2 ? $# : 2))
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
cd "$source" || exit 2
echo 'int LLVMFuzzerTestOneInput(const char *b, unsigned long n) { return 0; }' |
	clang-14 -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null || { echo "libFuzzer is missing: apt-get install clang-14 libclang-rt-14-dev" >&2; exit 2; }
# the parsers themselves are watched, not only the file that calls them
[ -f "$build/build.ninja" ] || CC=clang-14 meson setup "$build" -Dfuzz=true -Dbuildtype=debugoptimized -Db_lundef=false \
	-Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link >/dev/null || exit 2
mapfile -t all < <(ninja -C "$build" -t targets all | grep -oE '^tests/fuzz/fuzz-[a-z_]+: c_LINKER' | grep -oE 'fuzz-[a-z_]+')
[ ${#all[@]} -ge 50 ] || { echo "only ${#all[@]} fuzz targets found" >&2; exit 2; }
ninja -C "$build" "${all[@]/#/tests/fuzz/}" >"$build/ninja.log" 2>&1 || { tail -n 60 "$build/ninja.log"; exit 2; }
[ $# -eq 0 ] || all=("${@/#/fuzz-}")
mkdir -p "$build/crashes" "$build/logs"

one() { # one TARGET
	local target=$1 name=${1#fuzz-}
	mkdir -p "$build/corpus/$name"
	if "$build/tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" "tests/fuzz/corpus/$name" >"$build/logs/$name" 2>&1; then
		echo "$name: $(grep -oE 'number_of_executed_units: [0-9]+' "$build/logs/$name" | grep -oE '[0-9]+$') runs"
	else
		echo "FAILED $name: $build/logs/$name"
		grep -E 'ERROR|runtime error|SUMMARY|Test unit written' "$build/logs/$name" | head -n 5
		return 1
	fi
}
export -f one
export build seconds
printf '%s\n' "${all[@]}" | xargs -P "$(nproc)" -I{} bash -c 'one {}' || exit 1
echo "${#all[@]} targets, $seconds s each: nothing found"
