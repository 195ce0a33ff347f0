#!/usr/bin/env python3
"""What a window of `cores` is of, and how it is shown. As root: an invented /proc/stat of 40 cores lies over the real one in a mount
namespace of our own, and core 2 is busy in seconds of the wall clock that we know. It is recorded with a pause and across a boot."""
import ctypes
import fcntl
import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_BIND = 0x20000, 0x4000, 1 << 18, 4096
CORES, BUSY = 40, 2
zscope = os.path.realpath(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0:
    print("needs root")
    sys.exit(77)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
    print("no mount namespace of our own:", os.strerror(ctypes.get_errno()))
    sys.exit(77)
failed = 0


def check(what, good, *more):
    global failed
    if not good:
        print("FAILED:", what, *more)
        failed += 1


class Host(threading.Thread):
    """core 2 computes from `start` to `end`, the others one second in ten, times their number"""

    def __init__(self, path, start, end):
        super().__init__(daemon=True)
        self.fd, self.start_s, self.end_s, self.base = os.open(path, os.O_RDWR | os.O_CREAT), start, end, time.time() - 100
        self.write()

    def write(self):
        now = time.time()
        lines = []
        for cpu in range(CORES):
            sys_ = min(max(now - self.start_s, 0), self.end_s - self.start_s) if cpu == BUSY else cpu / 200 * (now - self.base)
            lines.append(f"cpu{cpu} {1000:010d} 0 {1000 + int(sys_ * 100):010d} {int((now - self.base - sys_) * 100):010d} 0 0 0 0 0 0\n")
        os.pwrite(self.fd, ("cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(lines)).encode(), 0)

    def run(self):
        while True:
            self.write()
            time.sleep(0.01)


def run(*args):
    return subprocess.run([zscope, "cores", *args], capture_output=True, text=True)


def rows(*args):
    r = run("--json", *args)
    check(f"cores {args}", r.returncode == 0, r.stderr)
    return [json.loads(line) for line in r.stdout.splitlines()]


def busy(row):
    return 100 - row["cpus"][BUSY]["idle"]


def on_terminal(lines, columns, env, *args):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
        os.execve(zscope, [zscope, "cores", *args], {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env})
    out = b""
    try:
        while part := os.read(fd, 65536):
            out += part
    except OSError:
        pass
    os.waitpid(pid, 0)
    return out.decode().replace("\r", "")


def record(store, length):
    r = subprocess.run([zscope, "record", "--no-profile", "--store", store, "--for", length], capture_output=True, text=True)
    check("record", r.returncode == 0, r.stderr)


def windows(store, start):
    """a second is asked for by its beginning"""
    for second, wanted in [(start - 1, False), (start, True), (start + 1, True), (start + 2, True), (start + 3, False)]:
        found = rows("--store", store, "--at", f"@{second}")
        check(f"second {second - start}: one row", len(found) == 1, found)
        check(f"second {second - start} is of [T, T+1)", abs(found[0]["from_ns"] / 1e9 - second) < 0.4 and abs(found[0]["time_ns"] / 1e9 - second - 1) < 0.4)
        check(f"second {second - start}: {busy(found[0])} % busy", busy(found[0]) > 70 if wanted else busy(found[0]) < 30)
    found = rows("--store", store, "--from", f"@{start}", "--to", f"@{start + 3}")
    check("three seconds are three rows", len(found) == 3 and min(map(busy, found)) > 70, [busy(f) for f in found])
    found = rows("--store", store, "--at", f"@{start}", "--interval", "3s")
    check("--interval makes rows of its length", len(found) == 1 and 2.5 < found[0]["seconds"] < 3.5 and busy(found[0]) > 85, found)
    r = run("--store", store, "--interval", "300ms")
    check("no finer than recorded", r.returncode == 2 and "one reading every" in r.stderr, r.stderr)
    text = run("--store", store, "--at", f"@{start}").stdout
    span = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(start)) + "–" + time.strftime("%H:%M:%S", time.localtime(start + 1))
    check("the time it covers is shown", text.startswith(span), text[:80])


def gaps(store):
    found = rows("--store", store)
    marked = [f for f in found if f.get("gap")]
    check("one gap is marked", len(marked) == 1 and marked[0]["seconds"] > 3, [(f["seconds"], f.get("gap")) for f in found])
    check("no row reaches over a boot", all(f["seconds"] < 1.6 for f in found if f not in marked), [f["seconds"] for f in found])
    text = run("--store", store).stdout
    check("one gap is shown as a mean", len(re.findall("^── gap: no reading for .* mean", text, re.M)) == 1, text[:300])
    check("one is named as a boot", len(re.findall("^── gap: .* started anew", text, re.M)) == 1)
    middle = (marked[0]["from_ns"] + marked[0]["time_ns"]) // 2 // 10**9
    check("a second in a gap is the gap's", rows("--store", store, "--at", f"@{middle}") == marked)
    grouped = rows("--store", store, "--interval", "2s")
    check("rows of two seconds do not hide it", [g.get("gap") for g in grouped].count(True) == 1, [(g["seconds"], g.get("gap")) for g in grouped])
    last = found[-1]["time_ns"] // 10**9
    r = run("--store", store, "--at", f"@{last}")
    nearest = re.search("--at '(.*)'", r.stderr)
    check("the last second: why not, and which", r.returncode == 2 and store in r.stderr and "none follows" in r.stderr and nearest, r.stderr)
    check("the nearest can be shown", nearest and rows("--store", store, "--at", nearest[1]) == found[-1:])
    r = run("--store", store, "--at", f"@{last - 7200}")
    check("outside: of which recording", r.returncode == 2 and store in r.stderr and "outside the recording" in r.stderr, r.stderr)


def screens(store):
    out = on_terminal(25, 80, {}, "--store", store, "--count", "3")
    check("a recording is printed, not drawn over", "\033[H" not in out and "\033[J" not in out and out.count("–") == 3, repr(out[:200]))
    for env, args in [({"TERM": "dumb"}, []), ({"NO_COLOR": "1"}, []), ({}, ["--color", "never"])]:
        out = on_terminal(25, 80, env, "--count", "2", "--interval", "200ms", *args)
        check(f"no cursor is moved with {env}{args}", "\033" not in out and out.count("–") == 2, repr(out[:200]))
        check("then every core is there", re.search(r"^ 39 ", out, re.M))
    for lines, columns in [(25, 80), (12, 100), (50, 120)]:
        out = on_terminal(lines, columns, {}, "--count", "2", "--interval", "300ms")
        frames = [re.sub(r"\033\[[0-9;]*m", "", f) for f in re.split(r"\033\[2J\033\[H|\033\[H\033\[J", out)[1:]]
        check(f"{lines} lines: two frames", len(frames) == 2, repr(out[:200]))
        for frame in frames:
            check(f"{lines} lines: it fits", frame.count("\n") <= lines - 1 and max(map(len, frame.split("\n"))) <= columns, frame)
            shown = [int(n) for n in re.findall(r"^ *(\d+) .*\.\d\d [#=~.]+$", frame, re.M)]
            more = re.search(r"^(\d+) more, none above (\d+\.\d) % busy$", frame, re.M)
            if lines == 50:
                check("50 lines: all, in order", shown == list(range(CORES)) and not more, frame)
                continue
            idle = [float(n) for n in re.findall(r"^ *\d+ .* (\d+\.\d\d) [#=~.]+$", frame, re.M)]
            check(f"{lines} lines: the busiest first", shown[0] == BUSY and idle == sorted(idle), frame)
            check(f"{lines} lines: how many more", more and int(more[1]) == CORES - len(shown) and float(more[2]) < 40, frame)
    widths = {line.index(".") for line in run("--count", "3", "--interval", "200ms").stdout.split("\n") if re.match(r" *(\d+|all) ", line)}
    check("columns keep their place", len(widths) == 1, widths)


def hot(store, start):
    spans = [json.loads(line)["hot"] for line in run("--hot", "--json", "--store", store).stdout.splitlines()]
    check("the span is of the seconds it was", len(spans) == 1 and abs(spans[0]["from_ns"] / 1e9 - start) < 0.4 and abs(spans[0]["to_ns"] / 1e9 - start - 3) < 0.4, spans)
    r = run("--hot", "--store", store, "--at", f"@{start + 3}")
    when = time.strftime("%H:%M:%S", time.localtime(start + 3)) + " to " + time.strftime("%H:%M:%S", time.localtime(start + 4))
    check("none: in which time", r.returncode == 0 and "in 1 sample of" in r.stdout and when in r.stdout, r.stdout)


with tempfile.TemporaryDirectory() as tmp:
    path, boot, store = os.path.join(tmp, "stat"), os.path.join(tmp, "boot"), os.path.join(tmp, "store")
    start = math.ceil(time.time()) + 3
    host = Host(path, start, start + 3)
    with open(boot, "w") as f:
        f.write("11111111-2222-3333-4444-555555555555\n")
    if libc.mount(path.encode(), b"/proc/stat", None, MS_BIND, None):
        print("cannot mount over /proc/stat:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    host.start()
    record(store, "9s")
    time.sleep(4)
    record(store, "3s")
    if libc.mount(boot.encode(), b"/proc/sys/kernel/random/boot_id", None, MS_BIND, None):
        print("cannot mount over boot_id:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    time.sleep(3)
    record(store, "3s")
    windows(store, start)
    gaps(store)
    hot(store, start)
    host.start_s, host.end_s, host.base = time.time(), time.time() + 1000, host.base - 10000
    screens(store)
    begun = time.monotonic()
    r = run("--for", "2s", "--json")
    check("--for alone watches that long", r.returncode == 0 and len(r.stdout.splitlines()) == 2 and 1.9 < time.monotonic() - begun < 10, r)
    subprocess.run(["umount", "/proc/sys/kernel/random/boot_id"], check=True)
    subprocess.run(["umount", "/proc/stat"], check=True)
sys.exit(failed != 0)
