#!/usr/bin/env python3
"""linux-perf-data's fixtures: zstd streams of both record types, as files and as pipes."""
import collections
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import peer

DUMP = sys.argv[2]
# SAMPLE, MMAP, MMAP2, COMM, EXIT of the files whose counts another reader gave
KNOWN = {"sleep.compressed.pipe.data": {9: 8, 1: 45, 10: 4, 3: 2, 4: 1}}

cases = peer.Cases()
root = peer.data("linux-perf-data")
for path in sorted(glob.glob(os.path.join(root, "*.data"))):
    name = os.path.basename(path)
    r = peer.run([DUMP, "--sorted", path])
    lines = [json.loads(line) for line in r.stdout.decode("utf-8", "surrogateescape").splitlines()]
    cases.check(name + " reads", r.returncode == 0 and lines, r.stderr.decode())
    records, summary = lines[:-1], lines[-1]
    counts = collections.Counter(record["type"] for record in records)
    # one of them was made with perf's own messages on the same descriptor as the data
    mixed = b"[ perf record: " in open(path, "rb").read()[-300:]
    cases.check(name + " is whole", (summary["damage"] == "") != mixed, summary["damage"])
    cases.check(name + " pipe", summary["pipe"] == (".pipe." in name))
    cases.check(name + " samples", counts[9] > 0 and counts[3] > 0 and counts[10] + counts[1] > 0, counts)
    times = [r["info"]["sample_time_ns"] for r in records if r["info"].get("sample_time_ns")]
    cases.check(name + " order", times == sorted(times))
    for kind, n in KNOWN.get(name, {}).items():
        cases.check(f"{name} type {kind}", counts[kind] == n, f"{counts[kind]}, not {n}")
    if name.startswith("fibo"):
        cases.check(name + " straddling", len(records) > 1000 and counts[9] > 500, counts)
cases.finish()
