#!/usr/bin/env python3
"""`cores --hot` live: says that it watches and shows a span when that has ended, not when the command ends. As root: an invented
/proc/stat of four cores, one of them busy for a while, lies over the real one in a mount namespace of our own."""
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_BIND = 0x20000, 0x4000, 1 << 18, 4096
zscope = os.path.realpath(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0:
    print("needs root")
    sys.exit(77)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
    print("no mount namespace of our own:", os.strerror(ctypes.get_errno()))
    sys.exit(77)


def fail(*words):
    print("FAILED:", *words)
    sys.exit(1)


class Host(threading.Thread):
    """four cores; core 2 computes for `busy` seconds and idles then, the others idle"""

    def __init__(self, path, busy):
        super().__init__(daemon=True)
        self.fd, self.busy, self.start_s, self.ended = os.open(path, os.O_RDWR | os.O_CREAT), busy, time.monotonic(), False
        self.write()

    def write(self):
        passed = time.monotonic() - self.start_s
        busy = int(min(passed, self.busy) * 100)
        lines = []
        for cpu in range(4):
            sys_ = busy if cpu == 2 else 0
            lines.append(f"cpu{cpu} {1000:010d} 0 {1000 + sys_:010d} {1000 + int(passed * 100) - sys_:010d} 0 0 0 0 0 0\n")
        os.pwrite(self.fd, ("cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(lines)).encode(), 0)

    def run(self):
        while not self.ended:
            self.write()
            time.sleep(0.02)


with tempfile.TemporaryDirectory() as tmp:
    path = os.path.join(tmp, "stat")
    host = Host(path, 3)
    if libc.mount(path.encode(), b"/proc/stat", None, MS_BIND, None):
        print("cannot mount over /proc/stat:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    host.start()
    run = subprocess.Popen([zscope, "cores", "--hot", "--interval", "500ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    ready, _, _ = select.select([run.stderr], [], [], 10)
    told = os.read(run.stderr.fileno(), 4096).decode() if ready else ""
    if "watching" not in told:
        run.kill()
        fail("it does not say that it watches:", told)
    seen = b""
    while seen.count(b"\n") < 2:
        ready, _, _ = select.select([run.stdout], [], [], max(0, end - time.monotonic()))
        if not ready:
            run.kill()
            fail("no span is shown while it watches:", seen)
        seen += os.read(run.stdout.fileno(), 4096)
    row = seen.decode().splitlines()[1].split()
    if run.poll() is not None or row[4] != "2":
        fail("not the busy core:", seen.decode())
    run.send_signal(signal.SIGINT)
    if run.wait(timeout=20) != 1 or run.stdout.read():
        fail("after a span that was shown it ends with", run.returncode)
    host.ended = True
    host.join()

    # one object per line, and the finding is not forgotten when the span has long been shown
    host.busy, host.start_s, host.ended = 2, time.monotonic(), False
    again = threading.Thread(target=host.run, daemon=True)
    host.write()
    again.start()
    out = subprocess.run([zscope, "cores", "--hot", "--json", "--interval", "500ms", "--count", "8"], stdout=subprocess.PIPE)
    spans = [json.loads(line) for line in out.stdout.splitlines()]
    host.ended = True
    again.join()
    if out.returncode != 1 or [s["hot"]["cpu"] for s in spans] != [2]:
        fail("--json ends with", out.returncode, spans)
    subprocess.run(["umount", "/proc/stat"], check=True)
