#!/usr/bin/env python3
"""Live `cores` when it was stopped for a while, and on small terminals. Usage: cores_live.py ZSCOPE"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

zscope = os.path.abspath(sys.argv[1])
failures = []


def check(what, good, shown=""):
    if not good:
        failures.append(f"{what}: {str(shown)[:1500]}")


def stopped():
    """a reader that was stopped says how long its row is, and makes no row of nearly no time"""
    p = subprocess.Popen([zscope, "cores", "--count", "4", "--interval", "500ms", "--json"], stdout=subprocess.PIPE, text=True)
    rows = [json.loads(p.stdout.readline())]
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.6)
    p.send_signal(signal.SIGCONT)
    rows += [json.loads(line) for line in p.stdout]
    p.wait()
    check("rows", len(rows) == 4, rows)
    check("the gap", rows[1].get("gap") and rows[1]["seconds"] >= 1.5, rows[1])
    # a busy machine may make others
    check("long rows are marked, and no others", all(bool(r.get("gap")) == (r["seconds"] > 0.75) for r in rows), [(r["seconds"], r.get("gap")) for r in rows])
    check("no row is short", min(r["seconds"] for r in rows) >= 0.24, [r["seconds"] for r in rows])


def stat(second):
    """96 cores of which one works for the kernel, all of the time"""
    lines = []
    for cpu in range(96):
        busy = 100 * second if cpu == 41 else second
        lines.append(f"cpu{cpu} 10 0 {1000 + busy} {90000 + 100 * second - busy} 0 0 0 0 0 0\n")
    return "cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(lines) + "ctxt 1\n"


def screen(width, height, path):
    """what a terminal of that size is sent for the last drawing, escape codes taken out"""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.environ.pop("NO_COLOR", None)  # with it nothing is drawn in place
        time.sleep(0.2)  # the size comes first
        os.execv(zscope, [zscope, "cores", "--interval", "300ms", "--count", "2"])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    text, second, end = b"", 1, time.time() + 30
    while time.time() < end:
        second += 1
        with open(path, "r+") as f:
            f.write(stat(second))
        if select.select([fd], [], [], 0.05)[0]:
            try:
                got = os.read(fd, 65536)
            except OSError:
                break
            if not got:
                break
            text += got
    os.waitpid(pid, 0)
    os.close(fd)
    last = text.decode().replace("\r", "").split("\033[H\033[J")[-1]
    return re.sub(r"\033\[[0-9;]*[A-Za-z]", "", last).rstrip("\n").split("\n")


def small_terminals():
    """every line fits, all of them fit, and the core that one looks for is among them"""
    with tempfile.NamedTemporaryFile("w", prefix="zscope-stat-") as f:
        f.write(stat(1))
        f.flush()
        subprocess.run(["mount", "--bind", f.name, "/proc/stat"], check=True)
        for width, height in ((200, 24), (80, 24), (60, 24), (40, 10), (30, 10)):
            lines = screen(width, height, f.name)
            taken = sum(max(1, -(-len(line) // width)) for line in lines)
            name = f"{width}x{height}"
            check(f"{name}: fits", taken < height, lines)
            check(f"{name}: no row is broken", all(len(line) <= width for line in lines if re.match(r" *(\d+|all) +\d+\.|cpu ", line)), lines)
            check(f"{name}: the busy core", any(line.startswith(" 41 ") for line in lines), lines)
            check(f"{name}: its bar", any(line.startswith(" 41 ") and line.endswith("#" * min(5, width // 5)) for line in lines), lines)
            check(f"{name}: all columns where there is room", width < 80 or any("gnice" in line for line in lines), lines)


if len(sys.argv) > 2:
    small_terminals()
else:
    stopped()
    if os.geteuid() != 0:
        print("small terminals: needs root")
        sys.exit(77)
    r = subprocess.run(["unshare", "-m", sys.executable, __file__, zscope, "small"])
    check("small terminals", r.returncode == 0)
print("\n".join(failures) or "good")
sys.exit(1 if failures else 0)
