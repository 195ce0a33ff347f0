#!/usr/bin/env python3
"""A capture given as --root FILE lies in a temporary directory for the moment: it goes with the process, whatever ends that."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

source, zscope = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
F_SETPIPE_SZ = 1031


def unpacked(pid):
    """the directory that the process looks at, None = not yet"""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        if target.startswith("/tmp/zscope-root-"):
            return target
    return None


def until(what, condition):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    sys.exit(f"FAILED: {what}")


with tempfile.TemporaryDirectory() as tmp:
    subprocess.run([sys.executable, f"{source}/tests/golden/make_hosts.py", f"{tmp}/hosts"], check=True)
    capture = f"{tmp}/host.tar"
    with tarfile.open(capture, "w") as tar:
        tar.add(f"{tmp}/hosts/v1-96", ".")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, None):
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, F_SETPIPE_SZ, 4096)  # 96 cores do not fit: it waits for us in the middle of its work
        run = subprocess.Popen([zscope, "cores", "--json", "--root", capture], stdout=theirs, stderr=subprocess.PIPE,
                               preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
        os.close(theirs)
        where = until(f"{number}: nothing was unpacked", lambda: unpacked(run.pid))
        # it must be stuck in its write, else the pipe is not what ends it
        until(f"{number}: it does not wait", lambda: open(f"/proc/{run.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "S")
        if number:
            os.kill(run.pid, number)
        with os.fdopen(ours) as out:
            text = out.read()
        status = run.wait(timeout=20)
        until(f"{number}: {where} is left behind", lambda: not os.path.exists(where))
        if number is None and (status != 0 or len(json.loads(text)["cpus"]) != 96):
            sys.exit(f"FAILED: undisturbed it ended with {status}: {run.stderr.read()}")
        if number == signal.SIGKILL and status != -number:
            sys.exit(f"FAILED: {number} ended it with {status}")
