#!/bin/bash
# A real busy core is seen by cores, live and recorded, and the numbers are mpstat's, in the same seconds.
set -u
zscope=$2
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
command -v mpstat >/dev/null || { echo "mpstat (package sysstat) is missing"; exit 77; }
tmp=$(mktemp -d)
cpu=$(($(nproc) - 1))
trap 'kill "$busy" 2>/dev/null; wait "$busy" 2>/dev/null; rm -rf "$tmp"' EXIT

# all in the kernel: reading zeros does nothing else
taskset -c "$cpu" dd if=/dev/zero of=/dev/null bs=1M 2>/dev/null &
busy=$!
sleep 1
"$zscope" record --store "$tmp/store" --no-profile --for 9s 2>"$tmp/record.err" &
record=$!
"$zscope" record --store "$tmp/slow" --no-profile --interval 4s --for 14s 2>"$tmp/slow.err" &
slow=$!
for try in 1 2 3; do
	# both sleep from the same moment, so they look at the same six seconds up to a few milliseconds
	LC_ALL=C mpstat -P ALL 6 1 >"$tmp/mpstat" &
	peer=$!
	"$zscope" cores --json --count 1 --interval 6s >"$tmp/cores"
	wait "$peer"
	python3 - "$tmp/cores" "$tmp/mpstat" "$cpu" <<'PY' && agreed=yes && break
import json, sys
ours = json.loads(open(sys.argv[1]).readline())
cpu = int(sys.argv[3])
names = {"%usr": "usr", "%nice": "nice", "%sys": "sys", "%iowait": "iowait", "%irq": "irq", "%soft": "soft",
         "%steal": "steal", "%guest": "guest", "%gnice": "gnice", "%idle": "idle"}
head, rows = None, {}
for line in open(sys.argv[2]):
    words = line.split()
    if "CPU" in words and words[0] == "Average:":
        head = words
    elif head and words and words[0] == "Average:":
        rows[words[1]] = dict(zip(head[2:], map(float, words[2:])))
bad = 0
mine = {str(c["cpu"]): c for c in ours["cpus"]} | {"all": ours["all"]}
assert rows and set(rows) == set(mine), (rows.keys(), mine.keys())
for who, theirs in rows.items():
    for column, value in theirs.items():
        if abs(value - mine[who][names[column]]) > 3:
            print(f"cpu {who} {column}: mpstat {value}, zscope {mine[who][names[column]]}")
            bad += 1
core = mine[str(cpu)]
if core["sys"] + core["steal"] + core["soft"] + core["irq"] < 30:
    print("the busy core is not seen:", core)
    bad += 1
sys.exit(bad != 0)
PY
done
wait "$record" || { cat "$tmp/record.err"; exit 1; }
[ "${agreed:-}" = yes ] || { echo "three times no agreement with mpstat"; exit 1; }

# any second of the recording, by the same command
"$zscope" cores --json --store "$tmp/store" >"$tmp/all" || exit 1
python3 - "$zscope" "$tmp/store" "$tmp/all" <<'PY'
import json, subprocess, sys
zscope, store, path = sys.argv[1:]
lines = [json.loads(line) for line in open(path)]
assert len(lines) >= 6, f"only {len(lines)} seconds were recorded"
for want in lines[1:]:
    second = want["time_ns"] // 10**9
    out = subprocess.run([zscope, "cores", "--json", "--store", store, "--at", f"@{second}"], stdout=subprocess.PIPE, check=True).stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert want in found, (second, found)
PY

# ticks that lie farther apart: any second between two of them is the pair's
wait "$slow" || { cat "$tmp/slow.err"; exit 1; }
"$zscope" cores --json --store "$tmp/slow" >"$tmp/all" || exit 1
python3 - "$zscope" "$tmp/slow" "$tmp/all" <<'PY'
import json, subprocess, sys
zscope, store, path = sys.argv[1:]
lines = [json.loads(line) for line in open(path)]
assert len(lines) >= 2, f"only {len(lines)} pairs of ticks were recorded"
for want in lines:
    last = want["time_ns"] // 10**9
    for second in range(last - 3, last + 1):
        run = subprocess.run([zscope, "cores", "--json", "--store", store, "--at", f"@{second}"], capture_output=True, text=True)
        assert [json.loads(line) for line in run.stdout.splitlines()] == [want], (second, last, run)
PY
