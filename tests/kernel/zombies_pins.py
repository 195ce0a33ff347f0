#!/usr/bin/env python3
"""What holds zombies and is not simply a file: metadata of a file system, zombies below, namespaces, memory of processes. Each is named, and
sums that nobody made are absent. usage: zombies_pins.py ZSCOPE ZOMBIE_MAKER"""
import json, os, random, signal, subprocess, sys

from zombie_rig import check, end, make_cgroup, memory_top, remove, settle

zscope, maker = sys.argv[1:3]
SIZE = 8192
top, v2 = memory_top()
name = "zscope-pins-%08x" % random.Random().getrandbits(32)
base, below, disk = f"{top}/{name}", f"/{name}", f"/var/tmp/{name}"
home = base + "/home"
makers = []


def make(*plan):
    """plan: (kind, cgroup, file). Returns the process id of what holds them."""
    p = subprocess.Popen([maker, home, str(SIZE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    p.stdin.write(b"".join(b"%s\0%s\0%s\0" % (k.encode(), (base + c).encode(), f.encode()) for k, c, f in plan))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    settle(f"{top}/{name}-settle", v2)
    return p.pid


def ask(where, *more):
    answer = json.loads(subprocess.check_output([zscope, "zombies", "--json", "--below", below + where, *more]))
    check(answer["method"] == "census", answer.get("unknown"))
    return answer


def look(where):
    answer = ask(where, "--list", "--pins")
    return {z["path"].removeprefix(below): z for z in answer["zombies"]}


def in_cgroup(cgroup, script):
    subprocess.check_call(["sh", "-c", f'echo 0 > "$1/cgroup.procs" && shift && {script}', "sh", cgroup])


def metadata():
    """Directories of an ext4: what is left in the cgroup are buffers of the block device, which have no path."""
    image, mnt = disk + "/image", disk + "/mnt"
    os.mkdir(mnt)
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    subprocess.check_call(["mke2fs", "-q", "-F", "-t", "ext4", image])
    if subprocess.run(["mount", "-o", "loop", image, mnt], stderr=subprocess.DEVNULL).returncode:
        print("no loop device here: metadata of a file system was not tried")
        return 0
    try:
        device = next(line.split()[0] for line in open("/proc/self/mounts") if line.split()[1] == mnt)
        os.mkdir(base + "/meta")
        in_cgroup(base + "/meta", f'cd {mnt} && i=0 && while [ $i -lt 300 ]; do mkdir d$i; i=$((i + 1)); done && sync -f .')
        os.rmdir(base + "/meta")
        settle(f"{top}/{name}-settle", v2)
        z = look("/meta")["/meta"]
        pins = [p for p in z["pins"] if p.get("file") == f"metadata of the file system on {device} ({mnt})"]
        check(len(pins) == 1 and pins[0]["place"] == "device" and not pins[0]["deleted"] and pins[0]["bytes"] >= 100 << 10, z)
        check(all("file" in p and p["file"] != "/" for p in z["pins"] if p["kind"] == "file"), z)
        check(all(p["file"] == f"block allocator of the file system on {device} ({mnt})" and p["place"] == "device"
                  for p in z["pins"] if p.get("inode") == 1), z)
        text = subprocess.check_output([zscope, "zombies", "--pins", "--below", below + "/meta"], text=True)
        check(f"metadata of the file system on {device} ({mnt})" in text, text)
    finally:
        subprocess.check_call(["umount", mnt])
    return 1


def dead_parent():
    """A pod's slice above its containers: nothing but them holds it."""
    make_cgroup(base + "/pod", v2)
    make_cgroup(base + "/pod/inner", v2)
    make(("process", "/pod/inner/c0", "-"), ("process", "/pod/inner/c1", "-"), ("file", "/pod/c2", disk + "/c2"))
    os.rmdir(base + "/pod/inner")
    os.rmdir(base + "/pod")
    got = look("/pod")
    check(set(got) == {"/pod", "/pod/inner", "/pod/inner/c0", "/pod/inner/c1", "/pod/c2"}, set(got))
    for parent in ("/pod", "/pod/inner"):
        check([p["kind"] for p in got[parent]["pins"]] == ["child"], got[parent])
    for child in ("/pod/inner/c0", "/pod/inner/c1"):
        check([p["kind"] for p in got[child]["pins"]] == ["process"], got[child])
    held = ask("/pod", "--pins")["held_by"]
    check("reference" not in held and held["child"]["zombies"] == 2 and "below it" in held["child"]["freed_by"], held)
    return 1


def namespaces():
    """Held by an open file, and by a thread that is not the first of its process: the process is named, once."""
    pid = make(("namespace-open", "/ns-open", "-"), ("namespace-thread", "/ns-thread", "-"))
    got = look("")
    for c in ("/ns-open", "/ns-thread"):
        pins = [p for p in got[c]["pins"] if p["kind"] != "anon"]  # a stack may be charged to it
        check([(p["kind"], p["pid"], p["comm"], p["parent_pid"]) for p in pins] == [("namespace", pid, "zombie_maker", os.getpid())], got[c])
    return 2


def anonymous():
    """Two processes have memory in one zombie, a third inherited what it did not touch: whoever made it is named."""
    os.mkdir(base + "/anon")
    holders = []
    for bytes_each in (40960, 81920):
        script = f"""import ctypes, mmap, os, sys, time
move = lambda to: open(to + "/cgroup.procs", "w").write("0")
m = mmap.mmap(-1, {bytes_each}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
move({base + "/anon"!r})
for i in range(0, {bytes_each}, 4096):
    m[i] = 1
move({home!r})
if os.fork():
    print("ready", flush=True)
time.sleep(1000)"""
        p = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        holders.append((p, bytes_each))
        check(p.stdout.readline() == b"ready\n", "memory was not made")
    try:
        os.rmdir(base + "/anon")
        settle(f"{top}/{name}-settle", v2)
        pins = {p.get("pid"): p for p in look("/anon")["/anon"]["pins"] if p["kind"] == "anon"}
        for p, n in holders:
            check(p.pid in pins and n <= pins[p.pid]["bytes"] < n + 40960 and pins[p.pid]["comm"].startswith("python"), f"{p.pid}: {pins}")
        dry = json.loads(subprocess.check_output([zscope, "purge", "--json", "--below", below + "/anon"]))
        named = {h["pid"] for x in dry["not_freeable"] if x["kind"] == "anon" for h in x["holders"]}
        check({p.pid for p, n in holders} <= named, dry["not_freeable"])
    finally:
        for p, n in holders:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    return 1


def sums():
    """Anonymous and shared memory are told apart page by page: a sum that nobody made is absent, not 0."""
    make(("anon", "/sum/anon", "-"), ("tmpfs", "/sum/tmpfs", f"/dev/shm/{name}"))
    try:
        plain, listed = ask("/sum"), ask("/sum", "--list")
        check("anon_bytes" not in plain and "shmem_bytes" not in plain and any(u["what"] == "shmem_bytes" for u in plain["unknown"]), plain)
        check(listed["anon_bytes"] == listed["shmem_bytes"] == SIZE, listed)
        check(("slab_bytes" in plain) == ("slab_bytes" in listed["zombies"][0]) == (not v2), plain)
    finally:
        os.unlink(f"/dev/shm/{name}")
    return 1


def on_no_list():
    """Pages in a core's batch are on no list yet: that is no reference. (cgroup v2 does not tell them from kernel memory.)"""
    if v2:
        return 0
    p = subprocess.Popen([maker, home, "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    for i in range(20):
        p.stdin.write(b"file\0%s\0%s\0" % (f"{base}/batch{i}".encode(), f"{disk}/batch{i}".encode()))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    got = look("")
    mine = {c: z["pins"] for c, z in got.items() if c.startswith("/batch")}
    check(len(mine) == 20, mine)
    # where a core's batch was full meanwhile they are on the lists; one that was removed just now may show nothing yet
    check(all(p["kind"] in ("file", "pages") for pins in mine.values() for p in pins), mine)
    for attempt in range(5):
        settle(f"{top}/{name}-settle", v2)
        mine = {c: z["pins"] for c, z in look("").items() if c.startswith("/batch")}
        if all([(p["kind"], p.get("file"), p["bytes"]) for p in mine.get(f"/batch{i}", [])] == [("file", f"{disk}/batch{i}", 4096)] for i in range(20)):
            return 1
    check(False, mine)


try:
    make_cgroup(base, v2)
    os.mkdir(home)
    make_cgroup(base + "/sum", v2)
    os.mkdir(disk, 0o700)
    n = metadata() + dead_parent() + namespaces() + anonymous() + sums() + on_no_list()
    print(f"{n} kinds of pins are named")
finally:
    end(None, makers)
    remove(base, disk)
