#!/usr/bin/env python3
"""FlameGraph's own test suite: perf script text and what stackcollapse-perf.pl makes of it, with each of its options."""
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import peer

ZSCOPE = sys.argv[1]
# FlameGraph's own script does not give these any more: it strips the leading L of Java names when the process label
# merely begins with "java", the stored results keep it.
STALE = re.compile(r"perf-(java|vertx)-.*-collapsed-(pid|tid)\.txt$")

scratch = tempfile.TemporaryDirectory()


def recording(source):
    """The recording that the file was imported into."""
    store = os.path.join(scratch.name, os.path.basename(source))
    if not os.path.exists(store):
        r = peer.run([ZSCOPE, "import", "--store", store, source])
        cases.check("import of " + os.path.basename(source), r.returncode == 0, r.stderr.decode())
    return store


cases = peer.Cases()
stale = 0
root = peer.data("flamegraph", "test")
for expected in sorted(glob.glob(os.path.join(root, "results", "*-collapsed-*.txt"))):
    m = re.fullmatch(r"(.*)-collapsed-([a-z]+)\.txt", os.path.basename(expected))
    source = os.path.join(root, m.group(1) + ".txt")
    want = open(expected, "rb").read()
    r = peer.run([ZSCOPE, "flame", "--folded", "--" + m.group(2), "--store", recording(source)])
    if r.stdout != want and STALE.search(expected):
        # the only difference that is allowed
        with_l = {re.sub(rb"(;)L(?=[a-z]\w*/)", rb"\1", line) for line in want.splitlines()}
        cases.check(os.path.basename(expected) + " (stale)", with_l == set(r.stdout.splitlines()), "differs otherwise, too")
        stale += 1
        continue
    ours, theirs = set(r.stdout.splitlines()), set(want.splitlines())
    cases.check(os.path.basename(expected), r.returncode == 0 and r.stdout == want,
                f"{r.stderr.decode()}{len(ours - theirs)} lines only ours, {len(theirs - ours)} only theirs\n"
                f"  ours   {sorted(ours - theirs)[:1]}\n  theirs {sorted(theirs - ours)[:1]}")
# the whole file at once, without a recording, gives the same
source = os.path.join(root, "perf-iperf-stacks-pidtid-01.txt")
direct = peer.run([ZSCOPE, "flame", "--folded", "--all", source]).stdout
cases.check("flame on a file", direct == open(os.path.join(root, "results", "perf-iperf-stacks-pidtid-01-collapsed-all.txt"),
                                              "rb").read())
cases.check("stale results", stale <= 8, stale)
cases.finish()
