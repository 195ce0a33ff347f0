#!/bin/bash
# A recording answers `cores --at` for any second of it: a real one of this host, and a generated one of 96 cores with one core at
# 100 % sys from its middle on. Times outside are one line and status 2.
set -u
zscope=$1 gen=$2
tmp=$(mktemp -d /var/tmp/zscope-recording-XXXXXX)
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
at() { "$zscope" cores --store "$1" --at "@$2" --json; }

end=1700000600
"$gen" "$tmp/gen" --cores 96 --seconds 200 --end $end --busy-core 7 >/dev/null || fail gen-store
for s in $(seq $((end - 199)) 9 $((end - 2))) $((end - 141)) $((end - 140)) $((end - 139)) $((end - 2)); do
	at "$tmp/gen" "$s" >"$tmp/out" 2>"$tmp/err" || { fail "second $s: $(cat "$tmp/err")"; continue; }
	[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail "second $s: $(wc -l <"$tmp/out") lines"
	sed "s/^/$s /" "$tmp/out" >>"$tmp/all"
done
python3 - "$tmp/all" $end <<'PY' || fail "what it answered"
import json, sys
end, seen = int(sys.argv[2]), 0
for line in open(sys.argv[1]):
    want, text = line.split(" ", 1)
    o = json.loads(text)
    assert abs(o["time_ns"] / 1e9 - int(want)) <= 1.1, (want, o["time_ns"])
    assert len(o["cpus"]) == 96
    for c in o["cpus"]:
        total = sum(c[k] for k in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle"))
        assert 99 < total < 101 and all(0 <= c[k] <= 100 for k in c if k != "cpu"), c
    if int(want) >= end - 100:
        assert o["cpus"][7]["sys"] > 95, o["cpus"][7]
    seen += 1
assert seen >= 25, seen
PY
for s in $((end - 400)) $((end + 1)); do
	at "$tmp/gen" "$s" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq 2 ] || fail "second $s lies outside, and the status is not 2"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'outside the recording' "$tmp/err" || fail "second $s: $(cat "$tmp/err")"
done

# One end is given and the recording has another: no window that is turned round, but a time outside. Whatever is asked for.
outside() { # outside TIME COMMAND...
	local text="$tmp/gen: $1 is outside the recording (2023-11-14 22:20:00 to 2023-11-14 22:23:20)"
	shift
	TZ=UTC "$zscope" "$@" --store "$tmp/gen" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq 2 ] || fail "$*: the status is not 2"
	[ ! -s "$tmp/out" ] && [ "$(cat "$tmp/err")" = "zscope: $text" ] || fail "$*: $(cat "$tmp/out" "$tmp/err")"
}
for command in cores "cores --hot" flame heat diff export zombies why; do
	outside "2023-11-15 00:00:00" $command --from 2023-11-15T00:00:00Z
	outside "2023-11-14 00:00:00" $command --to 2023-11-14T00:00:00Z
	outside "2023-11-15 00:00:00" $command --at 2023-11-15T00:00:00Z
done
outside "2023-11-14 22:23:20" cores --from @$end
outside "2023-11-14 22:20:00" cores --to @$((end - 200))
outside "1970-01-01 00:00:00" cores --at @0
outside "2554-01-01 00:00:00" cores --at 2554-01-01T00:00:00Z --for 9000d
"$zscope" cores --store "$tmp/gen" --from @$((end - 5)) --json >"$tmp/out" && [ "$(wc -l <"$tmp/out")" -ge 4 ] || fail "one end that lies inside"
# a note may be later than the recording
"$zscope" note --store "$tmp/gen" "much later" >/dev/null && "$zscope" events --store "$tmp/gen" --from -1m | grep -q "much later" || fail "a note behind the end"

"$zscope" record --store "$tmp/real" --no-profile --for 62s 2>/dev/null || fail "record"
first=$(find "$tmp/real" -name '*.seg' -printf '%f\n' | sort | head -n 1 | cut -c 2-11)
for s in $(seq $((first + 1)) $((first + 60))); do
	at "$tmp/real" "$s" >"$tmp/out" 2>"$tmp/err" || fail "real second $s: $(cat "$tmp/err")"
	[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail "real second $s: $(wc -l <"$tmp/out") lines"
done
# Damage in the key, which is there twice: said once, nothing is missing, and no time is before the recording.
cp -r "$tmp/real" "$tmp/hit"
printf '\xa5\x5a' | dd of="$(find "$tmp/hit" -name '*.seg' | sort | head -n 1)" bs=1 seek=1000 conv=notrunc status=none
rows() { "$zscope" cores --store "$1" --from @$((first + 1)) --to @$((first + 50)) --json 2>"$tmp/err" | wc -l; }
whole=$(rows "$tmp/real")
[ "$whole" -ge 48 ] && [ "$(rows "$tmp/hit")" = "$whole" ] || fail "rows are missing for a key that is there twice"
"$zscope" cores --store "$tmp/hit" --json >/dev/null 2>"$tmp/err"
[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'key frame; nothing is lost by it' "$tmp/err" && ! grep -q '+0s' "$tmp/err" || fail "a damaged key: $(cat "$tmp/err")"
at "$tmp/none" "$end" >/dev/null 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'no recording there' "$tmp/err" || fail "a missing store: $(cat "$tmp/err")"
[ $failed -eq 0 ] && echo "every second answered"
exit $failed
