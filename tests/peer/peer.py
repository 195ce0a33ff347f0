"""What the peer tests share: where the data lies, running, counting."""
import os
import subprocess
import sys


def data(*parts):
    """The path of peer data; leaves with 77 (skipped) and its name when it is not there."""
    root = os.environ.get("ZSCOPE_PEER_DATA") or os.environ.get("ZSCOPE_PEER_DEFAULT", "")
    path = os.path.join(root, *parts)
    if not os.path.exists(path):
        print(f"skipped: no peer data at {path} (ZSCOPE_PEER_DATA)")
        sys.exit(77)
    return path


def run(argv, **options):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **options)


class Cases:
    """Counts cases; a run of none is a failure."""

    def __init__(self):
        self.passed = 0
        self.failures = []

    def check(self, name, ok, why=""):
        if ok:
            self.passed += 1
        else:
            self.failures.append(name)
            print(f"FAILED {name}: {why}")

    def finish(self):
        print(f"{self.passed} cases passed, {len(self.failures)} failed")
        sys.exit(0 if self.passed and not self.failures else 1)
