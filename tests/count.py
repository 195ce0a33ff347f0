"""count.py TESTLOG MAY-SKIP SECOND-LOG REPORT: print "passed failed skipped" of a meson test run; REPORT is written: each test that
failed, with the end of what it said.
count.py --again TESTLOG MAY-SKIP: print the failed tests that may be tried a second time.

With CI=true a skip counts as a failure unless its name stands in MAY-SKIP (one per line, # comments): a suite that this
kind of machine can run must not vanish in silence. Tests on the real kernel share the machine with whatever else runs on
it: a few that failed are run again, alone, and SECOND-LOG holds what became of them. Tests of pure code get one try."""
import json
import os
import sys

AGAIN = ("kernel/", "vm/", "web/")
MOST = 10  # more failures than this are no accident
LINES, COLUMNS = 40, 1200  # of each failed test in the report


def results(log):
    tests = {}
    for line in open(log):
        test = json.loads(line)
        tests[test["name"].split(" / ")[-1]] = test
    return tests


def last_words(test):
    """The end of what it said; of a line that is too long its two ends."""
    half = COLUMNS // 2
    lines = (test.get("stdout", "") + "\n" + test.get("stderr", "")).strip().splitlines()
    short = [line if len(line) <= COLUMNS else f"{line[:half]} ... {line[-half:]}" for line in lines[-LINES:]]
    cut = [f"  (the last {LINES} of {len(lines)} lines)"] if len(lines) > LINES else []
    return "\n".join(cut + ["  " + line for line in short or ["(it said nothing)"]])


def is_failure(result):
    return result not in ("OK", "EXPECTEDFAIL", "SKIP")


def allowed_skips(path):
    return {line.split("#")[0].strip() for line in open(path)} if os.path.exists(path) else set()


if sys.argv[1] == "--again":
    may = allowed_skips(sys.argv[3])
    failures = [name for name, test in results(sys.argv[2]).items() if is_failure(test["result"]) or
                (os.environ.get("CI") and test["result"] == "SKIP" and name.startswith(AGAIN) and name not in may)]
    if len(failures) <= MOST:
        print("\n".join(name for name in failures if name.startswith(AGAIN)))
    sys.exit()

log, may_skip, second_log, report = sys.argv[1:5]
allowed = allowed_skips(may_skip)
tests = results(log)
told = []
if os.path.exists(second_log):
    for name, test in results(second_log).items():
        if not is_failure(test["result"]):
            told.append(f"passed at the second try: {name}")
        tests[name] = test
passed = failed = skipped = 0
for name, test in tests.items():
    if is_failure(test["result"]):
        told.append(f"failed: {name} ({test['result']}, {test['duration']:.0f} s)\n{last_words(test)}")
        failed += 1
    elif test["result"] != "SKIP":
        passed += 1
    else:
        skipped += 1
        if os.environ.get("CI") and name not in allowed:
            told.append(f"skipped in CI: {name}\n{last_words(test)}")
            failed += 1
with open(report, "w") as f:
    f.write("".join(line + "\n" for line in told))
print(passed, failed, skipped)
