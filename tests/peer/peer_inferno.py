#!/usr/bin/env python3
"""inferno's differential cases: two files of folded stacks and the result with each option."""
import os
import sys

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
cases.finish()
