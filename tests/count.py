"""count.py TESTLOG MAY-SKIP [SECOND-LOG]: print "passed failed skipped" of a meson test run.
count.py --again TESTLOG MAY-SKIP: print the failed tests that may be tried a second time.

With CI=true a skip counts as a failure unless its name stands in MAY-SKIP (one per line, # comments): a suite that this
kind of machine can run must not vanish in silence. Tests on the real kernel share the machine with whatever else runs on
it: a few that failed are run again, alone, and SECOND-LOG holds what became of them. Tests of pure code get one try."""
import json
import os
import sys

AGAIN = ("kernel/", "vm/", "web/")
MOST = 6  # more failures than this are no accident


def results(log):
    tests = {}
    for line in open(log):
        test = json.loads(line)
        tests[test["name"].split(" / ")[-1]] = test["result"]
    return tests


def is_failure(result):
    return result not in ("OK", "EXPECTEDFAIL", "SKIP")


def allowed_skips(path):
    return {line.split("#")[0].strip() for line in open(path)} if os.path.exists(path) else set()


if sys.argv[1] == "--again":
    may = allowed_skips(sys.argv[3])
    failures = [name for name, result in results(sys.argv[2]).items()
                if is_failure(result) or (os.environ.get("CI") and result == "SKIP" and name.startswith(AGAIN) and name not in may)]
    if len(failures) <= MOST:
        print("\n".join(name for name in failures if name.startswith(AGAIN)))
    sys.exit()

log, may_skip = sys.argv[1:3]
allowed = allowed_skips(may_skip)
tests = results(log)
if len(sys.argv) > 3 and os.path.exists(sys.argv[3]):
    for name, result in results(sys.argv[3]).items():
        if not is_failure(result):
            print(f"passed at the second try: {name}", file=sys.stderr)
        tests[name] = result
passed = failed = skipped = 0
for name, result in tests.items():
    if is_failure(result):
        print(f"failed: {name}", file=sys.stderr)
        failed += 1
    elif result != "SKIP":
        passed += 1
    else:
        skipped += 1
        if os.environ.get("CI") and name not in allowed:
            print(f"skipped in CI: {name}", file=sys.stderr)
            failed += 1
print(passed, failed, skipped)
