#!/usr/bin/env python3
"""Cores that go and come back while they are recorded, one of them with counters that begin anew, and one core that burns under a cool
mean: no absurd number in any second, `cores --hot` names the burning one. The machine is a /proc/stat of our own in a private mount
namespace; recorder, store and commands are the real ones.

usage: hotplug.py ZSCOPE"""
import json, os, shutil, subprocess, sys, tempfile, threading, time

if os.geteuid() != 0:
    print("skipped: needs root")
    sys.exit(77)
if len(sys.argv) == 2:  # once more, in a mount namespace of its own
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, __file__, sys.argv[1], "inside"])
zscope = sys.argv[1]
CORES, HOT, HZ = 8, 5, 100
tmp = tempfile.mkdtemp(prefix="zscope-hotplug-")


def host(stop, seen):
    """cores 0-7: 10 % usr each, core 5 all sys, core 2 away in the middle, core 3 back with counters at 0"""
    start = time.monotonic()
    fd = os.open(f"{tmp}/stat", os.O_RDWR)
    zero = 0.0
    while not stop.is_set():
        now = time.monotonic() - start
        lines = ["cpu  0 0 0 0 0 0 0 0 0 0"]
        # by what was recorded, not by time: a slow machine only takes longer
        n = seen()
        away = {2} if 10 <= n < 25 else {3} if 25 <= n < 30 else set()
        if n < 30:
            zero = now
        for cpu in range(CORES):
            if cpu in away:
                continue
            t = now - zero if cpu == 3 and n >= 30 else now + 1000
            busy, idle = (0, int(t * HZ)) if cpu != HOT else (int(t * HZ), 0)
            usr = 0 if cpu == HOT else int(t * HZ * 0.1)
            lines.append(f"cpu{cpu} {usr} 0 {busy} {idle - usr if cpu != HOT else 0} 0 0 0 0 0 0")
        text = "\n".join(lines + ["intr 1 0", "ctxt 1", "btime 1700000000", "processes 1", "procs_running 1", "procs_blocked 0", ""])
        os.pwrite(fd, text.ljust(1500, "\n").encode(), 0)
        time.sleep(0.01)
    os.close(fd)


def lines():
    r = subprocess.run([zscope, "cores", "--json", "--store", f"{tmp}/store"], capture_output=True, text=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


try:
    open(f"{tmp}/stat", "w").write("cpu  0\ncpu0 1 0 0 1 0 0 0 0 0 0\n".ljust(1500, "\n"))
    subprocess.run(["mount", "--bind", f"{tmp}/stat", "/proc/stat"], check=True)
    counted = [0]
    stop = threading.Event()
    thread = threading.Thread(target=host, args=(stop, lambda: counted[0]))
    thread.start()
    recorder = subprocess.Popen([zscope, "record", "--store", f"{tmp}/store", "--no-profile", "--interval", "200ms"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 90
    while counted[0] < 40 and time.monotonic() < deadline:
        time.sleep(0.1)
        counted[0] = len(lines())
    recorder.terminate()
    assert recorder.wait(20) == 0, "the recorder died"
    stop.set()
    thread.join()
    found = lines()
    assert len(found) >= 40, f"{len(found)} lines"
    sets = set()
    for line in found:
        cpus = {c["cpu"]: c for c in line["cpus"]}
        sets.add(tuple(sorted(cpus)))
        for c in list(cpus.values()) + [line["all"]]:
            for key in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle"):
                assert 0 <= c[key] <= 100, (line["time"], c)
            assert sum(c[k] for k in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle")) <= 100.5, (line["time"], c)
        if HOT in cpus:
            assert cpus[HOT]["idle"] <= 5, cpus[HOT]
    every = tuple(range(CORES))
    assert every in sets, sets
    assert tuple(c for c in every if c != 2) in sets, ("core 2 was never away", sets)
    assert tuple(c for c in every if c != 3) in sets, ("core 3 was never away", sets)
    assert {c["cpu"] for c in found[-1]["cpus"]} == set(every), "not all came back"
    r = subprocess.run([zscope, "cores", "--hot", "--json", "--store", f"{tmp}/store"], capture_output=True, text=True)
    hot = [json.loads(line)["hot"] for line in r.stdout.splitlines()]
    assert hot and {h["cpu"] for h in hot} == {HOT}, (r.stdout, r.stderr)
    print(f"{len(found)} lines, cores away and back: {len(sets)} sets; hot: {len(hot)} span of core {HOT}")
finally:
    subprocess.run(["umount", "/proc/stat"], check=False)
    shutil.rmtree(tmp)
