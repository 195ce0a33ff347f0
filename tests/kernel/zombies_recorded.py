#!/usr/bin/env python3
"""When zombies were made, removed and by whom: live (--watch) and from a real recording; those that the recorder did not see are
dated by the serial numbers of the recorded censuses. Then rate, forecast and footprint from the recording alone.
usage: zombies_recorded.py ZSCOPE ZOMBIE_MAKER"""
import json, os, random, signal, subprocess, sys, tempfile, time

from zombie_rig import check, end, make_cgroup, memory_top, open_links, remove

zscope, maker = sys.argv[1:3]
top, v2 = memory_top()
name = "zscope-dates-%08x" % random.getrandbits(32)
base, below = f"{top}/{name}", f"/{name}"
shm = f"/dev/shm/{name}"
store = tempfile.mkdtemp(prefix="zscope-dates-")
makers, recorder = [], None


def make(names):
    """tmpfs zombies: nothing but their file's end lets them go."""
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    before = time.time_ns()
    p.stdin.write(b"".join(b"tmpfs\0%s\0%s\0" % ((base + "/" + n).encode(), f"{shm}/{n}".encode()) for n in names))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    return p, before, time.time_ns()


def zombies(*args):
    p = subprocess.run([zscope, "zombies", "--json", "--store", store, *args], capture_output=True)
    check(p.returncode == 0, f"{args}: {p.returncode}: {p.stderr.decode(errors='replace')}")
    return json.loads(p.stdout)


def listed(*args):
    return {z["path"].rsplit("/", 1)[1]: z for z in zombies("--list", "--below", below, *args)["zombies"]}


def frames(at_least):
    """Waits until that many censuses are in the recording."""
    deadline = time.time() + 120
    while True:
        p = subprocess.run([zscope, "zombies", "--json", "--store", store, "--from", "-1h"], capture_output=True)
        answer = json.loads(p.stdout) if p.returncode == 0 else {}
        points = next((int(u["why"].split()[3]) for u in answer.get("unknown", []) if u["what"] == "rate and forecast"), None)
        points = answer["forecast"]["points"] if "forecast" in answer else points
        if points is not None and points >= at_least:
            return answer
        check(time.time() < deadline, f"{points} censuses after two minutes: {p.stderr}")
        time.sleep(0.5)


def attached(process):
    """Waits until its programs hang on the four tracepoints."""
    for attempt in range(400):
        links = open_links(process.pid)
        if sum("bpf_link" in l or "raw-tracepoint" in l for l in links) >= 4:
            return
        time.sleep(0.01)
    check(False, f"the watch did not begin: {links}")


def churn(n=40):
    """Enough coming and going for the recorder to look within seconds."""
    for i in range(n):
        os.mkdir(f"{base}/c{i}")
        os.rmdir(f"{base}/c{i}")


def exact(z, maker_pid, before, after, what):
    check(before <= z["created_ns"] <= z["died_ns"] <= after, f"{what}: {z} not within {before}..{after}")
    check(z["creator"]["pid"] == maker_pid and z["creator"]["comm"] == "zombie_maker", f"{what}: {z['creator']}")
    check(z["age_s"] > 0, what)


def main():
    global recorder
    make_cgroup(base, v2)
    os.mkdir(base + "/home")
    os.mkdir(shm, 0o700)
    make([f"old{i}" for i in range(20)])
    z = listed()
    check(len(z) == 20 and not any("created" in x or "created_after" in x for x in z.values()), "dates out of nowhere")

    # live: what is made during the watch is dated, the rest is not
    watch = subprocess.Popen([zscope, "zombies", "--json", "--list", "--below", below, "--watch", "8s", "--store", store],
                             stdout=subprocess.PIPE)
    attached(watch)
    p, before, after = make([f"watched{i}" for i in range(20)])
    answer = json.loads(watch.communicate()[0])
    z = {x["path"].rsplit("/", 1)[1]: x for x in answer["zombies"]}
    for i in range(20):
        exact(z[f"watched{i}"], p.pid, before, after, "watch")
        check("created" not in z[f"old{i}"], z[f"old{i}"])

    # recorded
    recorder = subprocess.Popen([zscope, "record", "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    frames(1)
    first = time.time_ns()
    p, before, after = make([f"seen{i}" for i in range(20)])
    churn()
    frames(2)
    z = listed()
    for i in range(20):
        exact(z[f"seen{i}"], p.pid, before, after, "recording")
        old = z[f"old{i}"]
        check("created" not in old and "created_after" not in old and old["created_before_ns"] < first, f"old: {old}")
    recorder.send_signal(signal.SIGTERM)
    recorder.wait()
    # nobody records: only the serial numbers of the censuses before and after tell
    make([f"gap{i}" for i in range(20)])
    made = time.time_ns()
    z = listed()
    for i in range(20):
        gap = z[f"gap{i}"]
        check("created" not in gap and gap["created_after_ns"] < made and "created_before" not in gap, f"gap: {gap}")
    recorder = subprocess.Popen([zscope, "record", "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    frames(3)
    z = listed()
    for i in range(20):
        gap = z[f"gap{i}"]
        check(gap["created_after_ns"] < made < gap["created_before_ns"], f"gap: {gap}")
    recorder.send_signal(signal.SIGTERM)
    recorder.wait()
    answer = zombies("--from", "-1h")
    check(answer["recorded"] and answer["method"] == "census" and answer["dying"] >= 80, answer)
    group = [g for g in answer["churn"]["groups"] if g["parent"] == below]
    check(group and group[0]["made"] >= 60 and group[0]["removed"] >= 60, answer["churn"])
    refused = subprocess.run([zscope, "zombies", "--from", "-1h", "--store", store, "--list"], capture_output=True)
    check(refused.returncode == 2 and b"running kernel" in refused.stderr, refused)
    print("zombies dated live, from the recording and by serial numbers")


try:
    main()
finally:
    end(recorder, makers)
    remove(base, shm, store)
