#!/usr/bin/env python3
"""`cores --hot` live: says that it watches and shows a span when that has ended, not when the command ends. As root: an invented
/proc/stat of four cores, one of them busy for a while, lies over the real one in a mount namespace of our own. It has no clock: who
reads it waits until it has been moved on (fanotify), so a machine that is slow only takes longer."""
import ctypes
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_BIND = 0x20000, 0x4000, 1 << 18, 4096
FAN_CLASS_CONTENT, FAN_CLOEXEC, FAN_MARK_ADD, FAN_ACCESS_PERM, FAN_ALLOW, AT_FDCWD = 4, 1, 1, 0x20000, 1, -100
PATIENCE_S = 60
BUSY_READS, STEP = 12, 50  # ticks from one read to the next
zscope = os.path.realpath(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0:
    print("needs root")
    sys.exit(77)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
    print("no mount namespace of our own:", os.strerror(ctypes.get_errno()))
    sys.exit(77)
run = None


def fail(*words):
    print("FAILED:", *words)
    if run and run.poll() is None:
        run.kill()
        run.wait()
    sys.exit(1)


class Host(threading.Thread):
    """four cores that idle; once told so, core 2 computes for as long as BUSY_READS reads"""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)
        self.busy_left = self.busy = self.passed = 0
        self.write()
        self.watch = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        if self.watch < 0 or libc.fanotify_mark(self.watch, FAN_MARK_ADD, ctypes.c_uint64(FAN_ACCESS_PERM), AT_FDCWD, path.encode()):
            print("readers of a file cannot be held up here (fanotify):", os.strerror(ctypes.get_errno()))
            sys.exit(77)

    def write(self):
        lines = []
        for cpu in range(4):
            sys_ = self.busy if cpu == 2 else 0
            lines.append(f"cpu{cpu} {1000:010d} 0 {1000 + sys_:010d} {1000 + self.passed - sys_:010d} 0 0 0 0 0 0\n")
        os.pwrite(self.fd, ("cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(lines)).encode(), 0)

    def run(self):
        while True:
            event = os.read(self.watch, 4096)
            while event:
                length, _, _, _, _, fd, _ = struct.unpack_from("=IBBHQii", event)
                event = event[length:]
                self.passed += STEP
                if self.busy_left:
                    self.busy_left -= 1
                    self.busy += STEP
                self.write()
                os.write(self.watch, struct.pack("=iI", fd, FAN_ALLOW))
                os.close(fd)


def watch(host, *args):
    """Starts it; the core gets busy once it watches."""
    global run
    run = subprocess.Popen([zscope, "cores", "--hot", "--interval", "200ms", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ready, _, _ = select.select([run.stderr], [], [], PATIENCE_S)
    told = os.read(run.stderr.fileno(), 4096).decode() if ready else ""
    if "watching" not in told:
        fail("it does not say that it watches:", told)
    host.busy_left = BUSY_READS


def ended():
    try:
        return run.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        fail("it does not end")


with tempfile.TemporaryDirectory() as tmp:
    path = os.path.join(tmp, "stat")
    host = Host(path)
    if libc.mount(path.encode(), b"/proc/stat", None, MS_BIND, None):
        print("cannot mount over /proc/stat:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    host.start()
    watch(host)
    seen = b""
    while seen.count(b"\n") < 2:
        ready, _, _ = select.select([run.stdout], [], [], PATIENCE_S)
        if not ready:
            fail("no span is shown while it watches:", seen)
        some = os.read(run.stdout.fileno(), 4096)
        if not some:
            fail("it ended:", seen)
        seen += some
    row = seen.decode().splitlines()[1].split()
    if run.poll() is not None or row[4] != "2":
        fail("not the busy core:", seen.decode())
    run.send_signal(signal.SIGINT)
    if ended() != 1 or run.stdout.read():
        fail("after a span that was shown it ends with", run.returncode)

    # one object per line, and the finding is not forgotten when the span has long been shown
    watch(host, "--json", "--count", str(2 * BUSY_READS))
    spans = [json.loads(line) for line in run.stdout.read().splitlines()]
    if ended() != 1 or [s["hot"]["cpu"] for s in spans] != [2]:
        fail("--json ends with", run.returncode, spans)
    subprocess.run(["umount", "/proc/stat"], check=True)
