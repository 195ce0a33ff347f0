#!/usr/bin/env python3
"""perfparser's recordings against its expected text: each sample's process, thread, time, period and kernel frames."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
import peer

ZSCOPE = sys.argv[1]


def expected_samples(path):
    """(comm, pid, tid, time, period, [address of each frame]); a frame has two lines, the address begins the first."""
    samples = []
    frame_line = False
    for line in open(path, encoding="utf-8", errors="replace"):
        m = re.match(r"(\S.*)\t(\d+)\t(\d+)\t(\d+\.\d+)$", line.rstrip("\n"))
        if m:
            samples.append([m.group(1), int(m.group(2)), int(m.group(3)), m.group(4), None, []])
            frame_line = True
            continue
        if not samples or not line.strip():
            continue
        m = re.match(r"\t([^\t]+): (\d+)$", line.rstrip("\n"))
        if m and samples[-1][4] is None:
            samples[-1][4] = int(m.group(2))
            continue
        if frame_line:
            m = re.match(r"\t([0-9a-f]+) ", line)
            samples[-1][5].append(int(m.group(1), 16) if m else None)
        frame_line = not frame_line
    return samples


def our_samples(text):
    samples = []
    for line in text.splitlines():
        m = re.match(r"(\S.*) (\d+)/(\d+)(?: \[\d+\])? (\d+\.\d+):\s+(\d+) \S+: $", line)
        if m:
            samples.append([m.group(1), int(m.group(2)), int(m.group(3)), m.group(4), int(m.group(5)), []])
        elif line.startswith("\t"):
            m = re.match(r"\t\s*([0-9a-f]+) (.*) \((.*)\)$", line)
            samples[-1][5].append((int(m.group(1), 16), m.group(2), m.group(3)))
    return samples


cases = peer.Cases()
root = peer.data("perfparser")
found = sorted(glob.glob(os.path.join(root, "**", "*.expected.txt"), recursive=True))
for expected in found:
    source = expected[: -len(".expected.txt")]
    name = os.path.relpath(source, root)
    if not os.path.exists(source):
        continue
    r = peer.run([ZSCOPE, "export", "--symbols", root, source])
    ours, theirs = our_samples(r.stdout.decode("utf-8", "replace")), expected_samples(expected)
    cases.check(f"{name} samples", r.returncode == 0 and len(ours) == len(theirs) > 0,
                f"{len(ours)} samples, expected {len(theirs)}; {r.stderr.decode()}")
    for field, what in ((1, "pid"), (2, "tid"), (3, "time"), (4, "period")):
        # of a tracepoint perfparser shows the fields in place of the period
        cases.check(f"{name} {what}", all(o[field] == t[field] for o, t in zip(ours, theirs) if t[field] is not None))
    # perfparser gives a process its last name, perf and we the one that it had then
    names = {s[1]: s[0] for s in ours}
    cases.check(f"{name} comm", all(names[t[1]] == t[0] for t in theirs), names)
    kernel = 1 << 63
    wrong = []
    for o, t in zip(ours, theirs):
        mine, his = [a for a, *_ in o[5] if a >= kernel], [a for a in t[5] if a is not None and a >= kernel]
        # where the CPU recorded the call stack, perfparser puts the sample's own address between both parts
        if mine != his and not ("lbr" in name and mine == his[:-1]):
            wrong.append((o[5], t[5]))
    cases.check(f"{name} kernel frames", not wrong, wrong[:1])

# the same program was recorded twice, into a file and through a pipe: all but pid, core and time is equal
pairs = [os.path.join(root, "probe.data." + kind) for kind in ("file", "stream")]
if all(os.path.exists(p) for p in pairs):
    texts = [peer.run([ZSCOPE, "export", p]).stdout.decode("utf-8", "replace") for p in pairs]
    both = [[(s[0], s[4], s[5]) for s in our_samples(text)] for text in texts]
    cases.check("as file and as pipe", both[0] == both[1] and len(both[0]) == 1, both)
    cases.check("tracepoint's name", all(" probe_untitled1:main: " in text for text in texts), texts)
content = os.path.join(root, "contentsize.data")
if os.path.exists(content):
    samples = our_samples(peer.run([ZSCOPE, "export", content]).stdout.decode("utf-8", "replace"))
    cases.check("contentsize.data", len(samples) == 69, len(samples))
cases.finish()
