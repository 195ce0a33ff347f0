#!/usr/bin/env python3
"""What memory reclaim takes, measured on this host: a reader under a limit of its own must be found as the one who paid, in the cgroup
that was at its limit, with the zombies below it counted; live, from a recording, and not at all where nothing can be measured. That passes
get longer with zombies is printed, and asserted only very loosely: the machine has other things to do.
usage: zombies_reclaim.py ZSCOPE ZOMBIE_MAKER"""
import json, os, random, signal, subprocess, sys, tempfile, time

from zombie_rig import check, end, make_cgroup, memory_top, open_links, remove

zscope, maker = sys.argv[1:3]
ZOMBIES, FILE_MB, LIMIT_MB = 4000, 192, 48
FREED = ((FILE_MB - LIMIT_MB) << 20) * 9 // 10  # by one reader, at least
top, v2 = memory_top()
name = "zscope-reclaim-%08x" % random.getrandbits(32)
base, below = f"{top}/{name}", f"/{name}"
disk, shm = f"/var/tmp/{name}", f"/dev/shm/{name}"
store = tempfile.mkdtemp(prefix="zscope-reclaim-")
READER = f"rd-{random.getrandbits(32):08x}"  # its comm
holders, recorder = [], None


def evict():
    fd = os.open(disk + "/big", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def read_under_limit():
    """Reads a file that is larger than the limit, from a cgroup two levels below it."""
    evict()
    pid = os.fork()
    if pid == 0:
        open(base + "/in/deep/cgroup.procs", "w").write("0")
        open("/proc/self/comm", "w").write(READER)
        fd = os.open(disk + "/big", os.O_RDONLY)
        while os.read(fd, 1 << 20):
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def attached(process, links):
    """Waits until its programs hang on the tracepoints."""
    for attempt in range(1000):
        there = open_links(process.pid)
        if sum("bpf_link" in l or "raw-tracepoint" in l for l in there) >= links:
            return
        time.sleep(0.01)
    check(False, f"the watch did not begin: {there}")


def ours(answer):
    check("reclaim" in answer["cost"], answer.get("unknown"))
    return [g for g in answer["cost"]["reclaim"]["groups"] if g.get("path", "").startswith(below)]


def judge(answer, pids, zombies):
    groups = ours(answer)
    check(len(groups) == 1, f"{len(groups)} groups of ours: {groups}")
    g = groups[0]
    check(g["kind"] == "limit" and g["path"] == below, f"the cgroup at its limit: {g}")
    check(zombies is None or g["zombies_below"] == zombies, f"zombies below: {g['zombies_below']}, not {zombies}")
    check(g["freed_bytes"] >= FREED * len(pids), f"freed {g['freed_bytes']}")
    check(0 < g["p50_ns"] <= g["p99_ns"] <= g["max_ns"] <= g["total_ns"], g)
    paid = {p["pid"]: p for p in g["payers"]}
    for pid in pids:
        check(pid in paid and paid[pid]["comm"] == READER, f"{pid} is not in {paid}")
        check(paid[pid]["cgroup"] == below + "/in/deep" and paid[pid]["passes"] > 10, paid[pid])
        check(paid[pid]["total_ns"] < 600e9, paid[pid])
    check(sum(p["passes"] for p in g["payers"]) + answer["cost"]["reclaim"]["lost_payers"] >= g["passes"], "passes that nobody paid")
    return g


def watched(zombies):
    p = subprocess.Popen([zscope, "zombies", "--json", "--watch", "12s", "--store", store], stdout=subprocess.PIPE)
    attached(p, 10)
    pids = [read_under_limit() for i in range(3)]
    answer = json.loads(p.communicate()[0])
    return judge(answer, pids, zombies)


def make_zombies():
    """Of tmpfs: nothing that reclaim could let go."""
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holders.append(p)
    p.stdin.write(b"".join(b"tmpfs\0%s\0%s\0" % (f"{base}/z{i}".encode(), f"{shm}/z{i}".encode()) for i in range(ZOMBIES)))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")


def quiet():
    """Where nothing is reclaimed that is said; where nothing can be measured that is named."""
    p = subprocess.run([zscope, "zombies", "--json", "--watch", "300ms", "--store", store], capture_output=True)
    check(not ours(json.loads(p.stdout)), "reclaim in a cgroup where nobody was")
    for attempt in range(10):  # others may be short of memory
        p = subprocess.run([zscope, "zombies", "--watch", "300ms", "--store", store], capture_output=True)
        if b"no reclaim happened while watching: its cost could not be measured" in p.stdout:
            break
        check(b"memory reclaim in" in p.stdout, p.stdout)
    blind = subprocess.run([zscope, "zombies", "--json", "--watch", "300ms", "--store", store], capture_output=True,
                           env=dict(os.environ, ZSCOPE_CENSUS="off"))
    answer = json.loads(blind.stdout)
    check("reclaim" not in answer["cost"] and any(u["what"] == "what reclaim takes" for u in answer["unknown"]), answer)


def recorded():
    global recorder
    recorder = subprocess.Popen([zscope, "record", "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    attached(recorder, 10)
    deadline = time.time() + 60
    pid, answer = read_under_limit(), {}
    while not answer.get("cost", {}).get("reclaim", {}).get("groups"):
        check(time.time() < deadline, f"not in the recording after a minute: {answer.get('cost')}")
        for i in range(30):  # the recorder looks sooner where cgroups come and go
            os.mkdir(f"{base}/c{i}")
            os.rmdir(f"{base}/c{i}")
        time.sleep(1)
        p = subprocess.run([zscope, "zombies", "--json", "--store", store, "--from", "-1h"], capture_output=True)
        answer = json.loads(p.stdout) if p.returncode == 0 else {}
        # the first look may come while the reader is at work
        if answer and sum(g["freed_bytes"] for g in ours(answer)) < FREED:
            answer = {}
    judge(answer, [pid], None)
    recorder.send_signal(signal.SIGTERM)
    recorder.wait()
    live = subprocess.run([zscope, "zombies", "--store", store, "--color", "never"], capture_output=True, text=True).stdout
    check(f"{below} is at its limit" in live and READER in live, live)


def main():
    make_cgroup(base, v2)
    make_cgroup(base + "/in", v2)
    os.mkdir(base + "/in/deep")
    os.mkdir(base + "/home")
    for d in (disk, shm):
        os.mkdir(d, 0o700)
    with open(disk + "/big", "wb") as f:
        for i in range(FILE_MB):
            f.write(b"r" * (1 << 20))
        f.flush()
        os.fsync(f.fileno())
    quiet()
    open(base + ("/memory.max" if v2 else "/memory.limit_in_bytes"), "w").write(str(LIMIT_MB << 20))
    without = watched(0)
    open(base + ("/memory.max" if v2 else "/memory.limit_in_bytes"), "w").write("-1" if not v2 else "max")
    make_zombies()
    # what they themselves take does not count: the same room for the reader
    evict()
    used = int(open(base + ("/memory.current" if v2 else "/memory.usage_in_bytes")).read())
    open(base + ("/memory.max" if v2 else "/memory.limit_in_bytes"), "w").write(str(used + (LIMIT_MB << 20)))
    among = watched(ZOMBIES)
    ratio = lambda k: among[k] / without[k]
    mean = lambda g: g["total_ns"] / g["passes"]
    print(f"reclaim passes without zombies: {without['passes']}, p50 {without['p50_ns'] / 1e3:.0f} us, p99 {without['p99_ns'] / 1e3:.0f} us; "
          f"among {ZOMBIES}: {among['passes']}, p50 {among['p50_ns'] / 1e3:.0f} us, p99 {among['p99_ns'] / 1e3:.0f} us "
          f"(mean {mean(among) / mean(without):.1f} times, total {ratio('total_ns'):.1f} times)")
    check(mean(among) > mean(without), "4,000 zombies made reclaim no slower")
    recorded()


try:
    main()
finally:
    end(recorder, holders)
    remove(base, shm, disk, store)
