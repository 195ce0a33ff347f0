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
	# both sleep from the same moment, so they look at the same seconds up to a few milliseconds
	LC_ALL=C mpstat -P ALL 1 6 >"$tmp/mpstat" &
	peer=$!
	"$zscope" cores --json --count 6 >"$tmp/cores"
	wait "$peer"
	python3 - "$tmp/cores" "$tmp/mpstat" "$cpu" <<'PY' && agreed=yes && break
import json, sys
ours = [json.loads(line) for line in open(sys.argv[1])]
cpu = int(sys.argv[3])
names = {"%usr": "usr", "%nice": "nice", "%sys": "sys", "%iowait": "iowait", "%irq": "irq", "%soft": "soft",
         "%steal": "steal", "%guest": "guest", "%gnice": "gnice", "%idle": "idle"}
theirs = []  # a table a second
for line in open(sys.argv[2]):
    words = line.split()
    if "CPU" in words and words[0] != "Average:":
        head = words
        theirs.append({})
    elif theirs and len(words) == len(head) and words[0] != "Average:":
        theirs[-1][words[1]] = dict(zip(head[2:], map(float, words[2:])))
assert len(ours) == len(theirs) == 6, (len(ours), len(theirs))
bad = 0
for second, (row, peer) in enumerate(zip(ours, theirs)):
    mine = {str(c["cpu"]): c for c in row["cpus"]} | {"all": row["all"]}
    assert set(peer) == set(mine), (peer.keys(), mine.keys())
    for who, columns in peer.items():
        for column, value in columns.items():
            if abs(value - mine[who][names[column]]) > 3:
                print(f"second {second}, cpu {who} {column}: mpstat {value}, zscope {mine[who][names[column]]}")
                bad += 1
    core = mine[str(cpu)]
    # others may want that core, too, but it never sleeps
    if core["idle"] + core["iowait"] > 5 or core["sys"] + core["steal"] + core["soft"] + core["irq"] < 30:
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
for want in lines:
    second = want["time_ns"] // 10**9 - 1  # a row ends on a whole second, and is asked for by its beginning
    out = subprocess.run([zscope, "cores", "--json", "--store", store, "--at", f"@{second}"], stdout=subprocess.PIPE, check=True).stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert found == [want], (second, found)
PY

# a burn of three whole seconds of the wall clock is in the second that is asked for: the core has at least the time that the burner
# itself got in the middle one, however busy the host is; and where it is quiet, nothing well before
kill "$busy" && wait "$busy" 2>/dev/null
"$zscope" record --store "$tmp/burn" --no-profile --for 9s 2>"$tmp/record.err" &
record=$!
python3 - "$cpu" >"$tmp/burn.at" <<'PY'
import math, os, resource, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(-15)
start, used = math.ceil(time.time()) + 4, []
time.sleep(start - time.time())
zero, null = open("/dev/zero", "rb", buffering=0), bytearray(1 << 20)
while (now := time.time()) < start + 3:
    if now >= start + 1 + len(used):
        used.append(resource.getrusage(resource.RUSAGE_SELF).ru_stime)
    zero.readinto(null)
print(start, 100 * (used[1] - used[0]))
PY
wait "$record" || { cat "$tmp/record.err"; exit 1; }
python3 - "$zscope" "$tmp/burn" "$cpu" $(cat "$tmp/burn.at") <<'PY' || exit 1
import json, subprocess, sys
zscope, store, cpu, start, got = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
def core(second):
    out = subprocess.run([zscope, "cores", "--json", "--store", store, "--at", f"@{second}"], stdout=subprocess.PIPE, check=True).stdout
    row = json.loads(out)
    assert abs(row["from_ns"] / 1e9 - second) < 0.5, (second, row["from_ns"])
    return row["cpus"][cpu]
before, middle = core(start - 3), core(start + 1)
print(f"the burner got {got:.0f} %; its core: {middle}, three seconds before: {before}")
assert middle["sys"] + middle["steal"] > got - 15
assert before["idle"] < 70 or before["sys"] < got / 2
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
    for second in range(max(last - 4, -(-want["from_ns"] // 10**9)), last):
        run = subprocess.run([zscope, "cores", "--json", "--store", store, "--at", f"@{second}"], capture_output=True, text=True)
        assert [json.loads(line) for line in run.stdout.splitlines()] == [want], (second, last, run)
PY
