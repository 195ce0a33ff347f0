#!/bin/bash
# zscope events against grep -E with the same patterns on a million lines; the recorder under a flood of kernel lines; the counters of a
# NIC with 32 queues.
set -u
build=$1
here=$(dirname "$0")
patterns=$here/../../src/source/patterns.tsv
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

verdict() { # verdict NAME OURS PEER RATIO GOAL OK
	echo "$1: ours $2, peer $3, ratio $4 (goal $5) $6"
	[ "$6" = ok ] || status=1
}

python3 "$here/gen_log.py" "$patterns" 1000000 "${SEED:-$RANDOM}" >"$tmp/log"
awk -F'\t' '!/^#/ && $1 != "id" { print $7 }' "$patterns" >"$tmp/regex"
cpu() { # CPU seconds of a command, best of three
	local best=
	for _ in 1 2 3; do
		local t
		t=$({ TIMEFORMAT='%U %S'; time "$@" >"$tmp/out" 2>/dev/null; } 2>&1 | awk '{ print $1 + $2 }')
		best=$(awk -v a="${best:-999}" -v b="$t" 'BEGIN { print a < b ? a : b }')
	done
	echo "$best"
}
export LC_ALL=C
peer=$(cpu grep -a -E -f "$tmp/regex" "$tmp/log")
mv "$tmp/out" "$tmp/peer.out"
ours=$(cpu "$build/zscope" events --lines --log "$tmp/log")
same=ok
cmp -s "$tmp/out" "$tmp/peer.out" || same=MISSED
ratio=$(awk -v p="$peer" -v o="$ours" 'BEGIN { printf "%.1f", p / o }')
verdict "1 M log lines" "$ours s" "grep -E -f $peer s" "$ratio" ">= 4" "$(awk -v r="$ratio" 'BEGIN { print (r >= 4 ? "ok" : "MISSED") }')"
verdict "the same hits" "$(wc -l <"$tmp/out")" "$(wc -l <"$tmp/peer.out")" 1 "identical" "$same"

flood() { # flood NAME ARG...: 100,000 records, one of them a reset
	local name=$1 percent events seconds stored lost
	shift
	read -r _ percent events seconds stored lost < <("$build/tests/bench/events-cost" "$@")
	verdict "flood of 100,000 lines $name in ${seconds} s, of a core" "${percent:-?} %" "-" "${percent:-999} %" "<= 5 %" \
		"$(awk -v p="${percent:-999}" 'BEGIN { print (p <= 5 ? "ok" : "MISSED") }')"
	verdict "the one reset in the flood $name" "${events:-0}" 1 1 "= 1" "$([ "${events:-0}" = 1 ] && echo ok || echo MISSED)"
	verdict "stored and counted as lost $name" "$((${stored:-0} + ${lost:-0})) (lost ${lost:-?})" 99999 1 ">= 99999" \
		"$([ $((${stored:-0} + ${lost:-0})) -ge 99999 ] && echo ok || echo MISSED)"
}
flood "(socket)" flood "$tmp/store"
if [ -w /dev/kmsg ]; then
	flood "(printk)" kmsg "$tmp/store-kmsg"
else
	echo "/dev/kmsg cannot be written: no flood through the kernel"
fi
read -r _ us < <("$build/tests/bench/events-cost" queues)
verdict "counters of 32 queues" "${us:-?} us" "-" "${us:-9999} us" "<= 1000 us" \
	"$(awk -v u="${us:-9999}" 'BEGIN { print (u <= 1000 ? "ok" : "MISSED") }')"
exit $status
