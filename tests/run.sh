#!/bin/bash
# make test: install what the tests need, build with gcc, with clang and with the sanitizers, run every suite.
# The last line is "N passed, N failed, N skipped"; before it stands what failed and why, so that a log of which only the end is kept tells.
# With CI=true a skipped test is a failure unless tests/may-skip names it.
set -u
cd "$(dirname "$0")/.." || exit 2
tools/install-deps.sh test || exit 2

passed=0 failed=0 skipped=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT

setup() { # setup DIR [meson options]
	local dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >/dev/null || return 1
	ninja -C "$dir" >"$dir/ninja.log" 2>&1 || { tail -n 60 "$dir/ninja.log"; return 1; }
}

run() { # run DIR [meson test arguments], and a second time what failed on the real kernel
	local dir=$1 logs=$1/meson-logs report=$1/meson-logs/failures.txt again line
	shift
	rm -f "$logs/testlog.json" "$logs/second.json" "$report"
	meson test -C "$dir" --no-rebuild --print-errorlogs --timeout-multiplier 4 "$@"
	mapfile -t again < <(python3 tests/count.py --again "$logs/testlog.json" tests/may-skip)
	[ -z "${again[*]}" ] ||
		meson test -C "$dir" --no-rebuild --print-errorlogs --timeout-multiplier 4 --num-processes 1 --logbase second "${again[@]}"
	line=$(python3 tests/count.py "$logs/testlog.json" tests/may-skip "$logs/second.json" "$report") || failed=$((failed + 1))
	[ ! -s "$report" ] || { echo "in $dir:"; cat "$report"; } >>"$said"
	read -r p f s <<<"$line"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

step() { # a build that fails is a failed test
	local out
	out=$("$@" 2>&1) && return 0
	printf 'failed: %s\n%s\n' "$*" "$(tail -n 40 <<<"$out")" | tee -a "$said"
	failed=$((failed + 1))
	return 1
}

step setup build && run build
step env CC=clang-14 tests/setup-clang.sh build-clang && passed=$((passed + 1))
step setup build-asan -Db_sanitize=address,undefined -Dbuildtype=debug -Db_lundef=false &&
	run build-asan --suite unit --suite fuzz --suite golden

cat "$said"
grep -oE '^(failed|skipped in CI|passed at the second try): [^(]*' "$said"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
