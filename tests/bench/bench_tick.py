"""What a second of looking costs: our recorder, store write included, against the tools that people use, in the same run.

What a wake-up costs moves by half within minutes, with what else the machine and its host do: mpstat runs beside our recorder,
half a second apart, and what each used is read once a second (/proc/PID/task/TID/schedstat, nanoseconds). The median second of
each side counts; the mean of all seconds, with what comes once in ten or sixty of them, is told beside it, and what a bare program
costs that only wakes and reads /proc/stat. The others: CPU time of
whole processes, start-up left out: a long run minus a short one, per second. See bench_tick.sh.
"""
import glob
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
HELPER = os.path.join(build, "tests/bench/bench-tick")
SECONDS = int(os.environ.get("BENCH_SECONDS", "4"))
BESIDE_SECONDS = int(os.environ.get("BENCH_BESIDE_SECONDS", "70"))  # a new segment is begun within them
missed = 0


def cpu_us(command, **more):
    """CPU time of a command and its children, microseconds"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6


def ours_us(what, where=None):
    """our recorder measures itself from tick to tick: start-up (locking memory) would drown a few ticks"""
    found = []
    for _ in range(3):
        store = tempfile.mkdtemp(prefix="zscope-bench-", dir=where)
        try:
            out = subprocess.run([HELPER, "record", store, what, str(SECONDS + 4)], stdout=subprocess.PIPE, check=True).stdout
            found.append(float(out))
        finally:
            shutil.rmtree(store)
    return sorted(found)[1]


def used_us(pid):
    """CPU time of all threads of a process so far"""
    return sum(int(open(path).read().split()[0]) for path in glob.glob(f"/proc/{pid}/task/*/schedstat")) / 1e3


def wait_phase(part):
    """until that part of the second"""
    time.sleep((part - time.time() % 1) % 1)


def beside_mpstat(where):
    """our recorder, which ticks on whole seconds, mpstat and a bare reader in the same seconds: microseconds of every second, of each"""
    store = tempfile.mkdtemp(prefix="zscope-bench-", dir=where)
    whole = str(BESIDE_SECONDS + 10)
    ours = subprocess.Popen([HELPER, "record", store, "cores", whole], stdout=subprocess.DEVNULL)
    wait_phase(0.4)
    peer = subprocess.Popen(["mpstat", "-P", "ALL", "1", whole], stdout=subprocess.DEVNULL)
    floor = subprocess.Popen([HELPER, "floor", whole])
    processes = (ours, peer, floor)
    seconds = []
    try:
        time.sleep(3)  # what starting costs is not part of a second
        for _ in range(BESIDE_SECONDS + 1):
            wait_phase(0.75)
            seconds.append([used_us(process.pid) for process in processes])
            time.sleep(0.3)
        assert all(process.poll() is None for process in processes), "one of them ended early"
    finally:
        for process in processes:
            process.terminate()
            process.wait()
        shutil.rmtree(store)
    return [[after[i] - before[i] for before, after in zip(seconds, seconds[1:])] for i in range(len(processes))]


def slope(run):
    """median of three: (long - short) / seconds between them"""
    found = sorted((run(SECONDS + 1) - run(1)) / SECONDS for _ in range(3))
    return found[1]


def tell(name, ours, peer, goal, unit="µs"):
    global missed
    ratio = peer / ours if ours > 0 else float("inf")
    ok = not goal or ratio >= goal
    missed += not ok
    verdict = f"(goal 1/{goal:g}) {'ok' if ok else 'MISSED'}" if goal else "(no goal)"
    print(f"{name}: ours {ours:.0f} {unit}, peer {peer:.0f} {unit}, ratio 1/{ratio:.1f} {verdict}", flush=True)


def tell_beside(name, where, goal):
    ours, peer, floor = beside_mpstat(where)
    tell(name, statistics.median(ours), statistics.median(peer), goal)
    mean, peer_mean = statistics.mean(ours), statistics.mean(peer)
    print(f"    mean of {len(ours)} seconds: ours {mean:.0f} µs, peer {peer_mean:.0f} µs, ratio 1/{peer_mean / mean:.1f}; "
          f"a bare reader: median {statistics.median(floor):.0f} µs, at best 1/{statistics.median(peer) / statistics.median(floor):.1f}",
          flush=True)


def fake_cores(cores, where):
    """mounts a machine of so many cores over this one, in our own mount namespace"""
    stat = open("/proc/stat").read().split("\n")
    fields = "123456 789 45678 9876543 3210 0 1234 0 0 0"
    lines = [f"cpu  {fields}"] + [f"cpu{i} {fields}" for i in range(cores)]
    rest = [line for line in stat if line and not line.startswith("cpu")]
    path = os.path.join(where, "stat")
    with open(path, "w") as f:
        f.write("\n".join(lines + rest) + "\n")
    subprocess.run(["mount", "--bind", path, "/proc/stat"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/devices/system/cpu"], check=True)
    for i in range(cores):
        os.mkdir(f"/sys/devices/system/cpu/cpu{i}")
        with open(f"/sys/devices/system/cpu/cpu{i}/online", "w") as f:
            f.write("1\n")
    for name in ("possible", "online", "present"):
        with open(f"/sys/devices/system/cpu/{name}", "w") as f:
            f.write(f"0-{cores - 1}\n")


def cores(count):
    goal = {0: 2, 96: 10, 384: 25}[count]
    where = tempfile.mkdtemp(prefix="zscope-bench-")
    try:
        if count:
            fake_cores(count, where)
        name = f"{count} cores" if count else f"{os.cpu_count()} cores (this machine)"
        tell_beside(f"recorded tick against mpstat, {name}", "/dev/shm", goal)
        # the block layer's work for fdatasync, in a thread beside the ticks, which mpstat has no counterpart of
        tell_beside(f"... and synced to disk, {name}", None, None)
    finally:
        if count:
            subprocess.run(["umount", "/proc/stat"], check=False)
        shutil.rmtree(where)


def processes():
    idle = subprocess.Popen([HELPER, "idle", "2000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        idle.stdout.readline()
        peer = slope(lambda n: cpu_us(["pidstat", "1", str(n)]))
        ours = ours_us("tasks", "/dev/shm")
        tell("recorded tasks against pidstat, 2,000 processes", ours, peer, 20)
    finally:
        idle.stdin.close()
        idle.wait()


def walk():
    for mount in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        top = os.path.join(mount, f"zscope-bench-{os.getpid()}")
        try:
            os.mkdir(top)
            break
        except OSError:
            continue
    else:
        print("live cgroup count: skipped, no cgroup directory can be made here")
        return
    made = []
    try:
        for pod in range(100):
            for path in [f"{top}/pod{pod}"] + [f"{top}/pod{pod}/c{c}" for c in range(19)]:
                os.mkdir(path)
                made.append(path)
        peer = sorted(cpu_us(["sh", "-c", f"find {top} -type d | wc -l"]) for _ in range(5))[2]
        out = subprocess.run([HELPER, "walk", top[1:], "20"], capture_output=True, text=True, check=True).stdout.split()
        assert int(out[1]) == len(made), out
        tell(f"live count against find | wc -l, {len(made)} cgroups", float(out[0]), peer, 8)
    finally:
        for path in reversed(made):
            os.rmdir(path)
        os.rmdir(top)


def full():
    global missed
    mean, most = map(float, subprocess.run([HELPER, "tick", "11"], capture_output=True, text=True, check=True).stdout.split())
    ok = mean <= 2000
    missed += not ok
    print(f"full tick, all sources: ours {mean:.0f} µs, worst of 11 {most:.0f} µs (goal 2000 µs) {'ok' if ok else 'MISSED'}", flush=True)


if len(sys.argv) > 2:
    cores(int(sys.argv[2]))
else:
    cores(0)
    for n in (96, 384):
        missed += subprocess.run(["unshare", "-m", sys.executable, __file__, build, str(n)]).returncode != 0
    processes()
    walk()
    full()
sys.exit(1 if missed else 0)
