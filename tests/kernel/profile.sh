#!/bin/bash
# The profiler on the real kernel: profile.sh CASE ZSCOPE LOAD
set -u
case=$1 zscope=$2 load=$3
dir=$(mktemp -d /tmp/zscope-profile-XXXXXX) || exit 1
pids=()
cleanup() {
	for p in "${pids[@]}"; do kill -CONT "$p" 2>/dev/null; kill "$p" 2>/dev/null; done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }
[ "$(id -u)" = 0 ] || skip "needs root"
need python3

record() { # record SECONDS [options]: in the background, its pid in $recorder; returns when it records
	local seconds=$1
	shift
	"$zscope" record --store "$dir/rec" --for "${seconds}s" "$@" 2>"$dir/record.err" &
	recorder=$!
	pids+=("$recorder")
	for _ in $(seq 600); do
		grep -q "recording to" "$dir/record.err" && return
		sleep 0.1
	done
	fail "no recorder: $(cat "$dir/record.err")"
}

can_sample() {
	! grep -q "perf_event_open" "$dir/record.err" || skip "no perf events here: $(cat "$dir/record.err")"
}

# A 3 s spike of one kernel path on one core is found in its window and hidden in the whole.
spike() {
	local core=$(($(nproc) - 1)) at
	record 16
	can_sample
	"$load" spin 0 14 & pids+=($!)
	sleep 6
	at=$(date +%s.%N)
	"$load" spike "$core" 3.4 || fail "no load"
	wait "$recorder" || fail "record: $(cat "$dir/record.err")"
	# the path is: everything below read_zeros that is in the kernel
	"$zscope" flame --store "$dir/rec" --cpu "$core" --at "@$(python3 -c "print($at + 0.2)")" --for 3s --top 5000 --json >"$dir/window" || fail "flame"
	"$zscope" flame --store "$dir/rec" --top 5000 --json >"$dir/whole" || fail "flame of all"
	python3 - "$dir/window" "$dir/whole" <<'PY' || fail "shares"
import json, sys
def share(path):
    d = json.load(open(path))
    assert d["lost"] == 0, d["lost"]
    f = {x["name"]: x["total"] for x in d["functions"]}
    path = max((n for n in f if n in ("vfs_read", "ksys_read", "__x64_sys_read")), key=lambda n: f[n])
    return 100 * f[path] / d["samples"], d["samples"]
(window, n), (whole, m) = share(sys.argv[1]), share(sys.argv[2])
print(f"window {window:.1f} % of {n}, whole {whole:.1f} % of {m}")
sys.exit(not (window >= 90 and whole < 50 and n > 150))
PY
	"$zscope" heat --store "$dir/rec" --cores >"$dir/heat" || fail "heat"
	grep -q "core $core" "$dir/heat" || fail "no core in the heat map"
	"$zscope" diff --store "$dir/rec" --at "@$at" --for 3s --top 3 | sed -n '/^grew/,/^$/p' | grep -qE "read|zero|clear_user|rep_stos" || fail "the diff does not name the path"
}

# Shares of the top functions are those of perf report on the same load.
shares() {
	need perf
	record 12 --hz 499
	can_sample
	"$load" mix 11 & pids+=($!)
	sleep 1
	(cd "$dir" && perf record -q -F 499 -a -g -o perf.data sleep 8 2>perf.err) || skip "perf record: $(cat "$dir/perf.err")"
	local end
	end=$(date +%s.%N)
	wait "$recorder" || fail "record"
	perf report -i "$dir/perf.data" --stdio --no-children -g none -F sample,sym --percent-limit 0 2>/dev/null >"$dir/report" ||
		skip "perf 6.1 crashes on what it records while another recorder asks for build ids"
	"$zscope" flame --store "$dir/rec" --from "@$(python3 -c "print($end - 8.5)")" --to "@$(python3 -c "print($end - 0.5)")" --top 2000 --json >"$dir/flame" || fail "flame"
	python3 - "$dir/report" "$dir/flame" <<'PY' || fail "shares differ"
import json, re, sys
idle = re.compile(r"idle|halt")
# several names of one address are one function: perf and we may choose differently
first, alias = {}, {}
for line in open("/proc/kallsyms"):
    address, _, name = line.split()[:3]
    alias.setdefault(name, first.setdefault(address, name))
perf = {}
for line in open(sys.argv[1]):
    m = re.match(r"\s*(\d+)\s+\[[k.]\]\s+(\S.*?)\s*$", line)
    if m and not m[2].startswith("0x") and not idle.search(m[2]):
        name = alias.get(m[2], m[2])
        perf[name] = perf.get(name, 0) + int(m[1])
ours = {}
flame = json.load(open(sys.argv[2]))
for f in flame["functions"]:
    if "+0x" not in f["name"]:
        name = alias.get(f["name"], f["name"])
        ours[name] = ours.get(name, 0) + f["self"]
a, b = sum(perf.values()), sum(ours.values())
worst = 0
for name in sorted(perf, key=perf.get, reverse=True)[:20]:
    x, y = 100 * perf[name] / a, 100 * ours.get(name, 0) / b
    worst = max(worst, abs(x - y))
    print(f"{x:6.2f} {y:6.2f} {name}")
print(f"worst difference {worst:.2f} points, {a} and {b} samples")
sys.exit(worst > 3 or a < 1000 or b < 1000 or "spin_alpha" not in ours)
PY
}

# The recorder stands still for 12 s under full load: no second is blind, losses are counted.
starved() {
	record 20
	can_sample
	"$load" mix 18 & pids+=($!)
	sleep 3
	kill -STOP "$recorder"
	local from
	from=$(date +%s)
	sleep 12
	kill -CONT "$recorder"
	wait "$recorder" || fail "record"
	"$zscope" flame --store "$dir/rec" --from "@$((from + 1))" --to "@$((from + 11))" --json >"$dir/flame" || fail "flame"
	"$zscope" heat --store "$dir/rec" --from "@$((from + 1))" --to "@$((from + 11))" --json >"$dir/heat" || fail "heat"
	python3 - "$dir/flame" "$dir/heat" <<'PY' || fail "blind seconds"
import json, sys
f, h = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
expected = sum(c["expected"] for c in f["cpus"])
came = sum(c["received"] + c["lost"] + c["missing"] for c in f["cpus"])
print("expected", expected, "accounted", came, "lost", f["lost"], "samples", f["samples"])
seconds = [sum(s) for s in h["counts"]]
print(seconds)
sys.exit(not (expected > 1500 and came > 0.8 * expected and min(seconds) > 20 and f["samples"] > 500))
PY
}

# Another recorder comes and goes, and programs are loaded into the kernel meanwhile: the kernel's records about them then
# hold leftovers of other events, and must not stop the sampling of any core.
beside() {
	need perf
	record 80
	can_sample
	"$load" mix 78 & pids+=($!)
	sleep 1
	for _ in 1 2 3; do
		perf record -q -F 97 -g -a -o "$dir/perf.data" sleep 2 2>/dev/null & pids+=($!)
		local perf=$!
		sleep 0.7
		"$zscope" zombies >/dev/null 2>&1
		wait "$perf"
	done
	local from
	from=$(date +%s)
	sleep 6
	kill -TERM "$recorder"
	wait "$recorder" || fail "record"
	"$zscope" heat --store "$dir/rec" --from "@$((from + 1))" --to "@$((from + 4))" --cores --json >"$dir/heat" || fail "heat"
	python3 - "$dir/heat" <<'PY' || fail "blind beside another recorder"
import json, sys
h = json.load(open(sys.argv[1]))
busy = [sum(second) for second in h["counts"]]
print("samples in each second:", busy, h["cores"])
sys.exit(not (len(busy) == 3 and min(busy) > 20 and len(h["cores"]) > 0
              and all(sum(core["busy"]) > 20 for core in h["cores"])))
PY
}

# No permission: named, and the ticks go on.
refused() {
	need strace
	strace -f -qq -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:error=EACCES \
		"$zscope" record --store "$dir/rec" --for 4s 2>"$dir/record.err" || fail "record: $(cat "$dir/record.err")"
	grep -q "perf_event_open.*perf_event_paranoid" "$dir/record.err" || fail "not named: $(cat "$dir/record.err")"
	"$zscope" cores --store "$dir/rec" --from -1m --json | grep -q '"cpus"' || fail "no ticks"
	"$zscope" flame --store "$dir/rec" >"$dir/flame" 2>&1
	[ $? = 2 ] && grep -q "no profile" "$dir/flame" || fail "flame of nothing: $(cat "$dir/flame")"
}

"$case"
echo "ok"
