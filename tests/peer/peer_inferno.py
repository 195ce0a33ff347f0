#!/usr/bin/env python3
"""inferno's differential cases: two files of folded stacks and the result with each option; and its perf script cases."""
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import peer

ZSCOPE = sys.argv[1]
CASES = [("before.txt", [], "default.txt"), ("before.txt", ["-n"], "normalize.txt"), ("before.txt", ["-s"], "strip_hex.txt"),
         ("before_fractionals.txt", [], "fractionals.txt")]

cases = peer.Cases()
root = peer.data("inferno", "diff-folded")
for before, options, result in CASES:
    r = peer.run([ZSCOPE, "export", "--diff", *options, os.path.join(root, before), os.path.join(root, "after.txt")])
    want = sorted(open(os.path.join(root, "results", result), "rb").read().splitlines())
    ours = sorted(r.stdout.splitlines())
    cases.check(result, r.returncode == 0 and ours == want,
                f"{r.stderr.decode()} ours {sorted(set(ours) - set(want))}, theirs {sorted(set(want) - set(ours))}")
r = peer.run([ZSCOPE, "export", "--diff", os.path.join(root, "bad_before.txt"), os.path.join(root, "after.txt")])
cases.check("bad_before.txt is reported", r.returncode == 2 and b"line 3" in r.stderr, r.stderr.decode())

# What inferno makes of perf script text. It differs from stackcollapse-perf.pl, whose form is ours, in these ways.
RUST = re.compile(r"rust|single-event")  # it mends Rust names that an old perf mangled
MODIFIERS = "single-line-stacks"         # to it cycles:u and cycles are one event
# What it must become to be FlameGraph's.
THEIRS = {
    # a parenthesis in a template ends the name
    "cpp-stacks-std-function-collapsed.txt":
        lambda line: re.sub(rb"\([^;]*(?=;)|\([^;]*(?= \d+$)", b"", line),
    # vmlinux-VERSION, modules by their file, and jitted-PID-N.so are not marked
    "versioned-vmlinux-collapsed-kernel.txt": lambda line: line.replace(b"_[k]", b""),
    "sourcepawn-jitdump-collapsed-jit.txt": lambda line: line.replace(b"_[j]", b""),
}
collapse = os.path.join(os.path.dirname(root), "collapse-perf")
for expected in sorted(glob.glob(os.path.join(collapse, "results", "*-collapsed*.txt"))):
    name, option = re.fullmatch(r"(.*)-collapsed-?(.*)\.txt", os.path.basename(expected)).groups()
    source = os.path.join(collapse, name + ".txt")
    if RUST.search(name) or not os.path.exists(source):
        continue
    with tempfile.NamedTemporaryFile() as closed:
        # it counts a last stack that no blank line closes
        closed.write(open(source, "rb").read() + b"\n")
        closed.flush()
        ours = set(peer.run([ZSCOPE, "flame", "--folded", *(["--" + option] if option else []), closed.name]).stdout.splitlines())
    want = set(map(THEIRS.get(os.path.basename(expected), bytes), open(expected, "rb").read().splitlines()))
    if name == MODIFIERS:
        want.discard(b"false;_dl_start 1")
    cases.check(os.path.basename(expected), ours == want, f"ours {sorted(ours - want)[:1]}, theirs {sorted(want - ours)[:1]}")
cases.finish()
