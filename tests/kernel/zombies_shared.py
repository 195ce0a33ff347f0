#!/usr/bin/env python3
"""Zombies that are held by memory without a path: memfds (open, or mapped only), System V shared memory (attached, or left to nobody),
shared anonymous mappings, deleted tmpfs files. Each must be named with its holder: process, unit, how many. The same segment id in two IPC
namespaces is nobody's, because nothing tells whose it is; in another namespace than ours it is removed there, not here.
usage: zombies_shared.py ZSCOPE ZOMBIE_MAKER"""
import json, os, random, re, shlex, subprocess, sys, time

from zombie_rig import check, end, make_cgroup, memory_top, remove, settle

zscope, maker = sys.argv[1:3]
SIZE = 8192
EACH = 3
HOSTILE = "\x1b[31m<b>\n'\"\\ (deleted)"
top, v2 = memory_top()
name = "zscope-shared-%08x" % random.Random().getrandbits(32)
base, below, shm = f"{top}/{name}", f"/{name}", f"/dev/shm/{name}"
home = base + "/system.slice/zscope-holder.service"
makers = []


def make(plan, *prefix):
    """plan: (kind, cgroup, name). Returns the process id of what holds them."""
    p = subprocess.Popen([*prefix, maker, home, str(SIZE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    p.stdin.write(b"".join(b"%s\0%s\0%s\0" % (k.encode(), (base + c).encode(), n.encode()) for k, c, n in plan))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    settle(f"{top}/{name}-settle", v2)
    return p.pid


def look(where, prefix=""):
    """Those whose names begin so: an ended maker's may be left for a page of its program."""
    answer = json.loads(subprocess.check_output([zscope, "zombies", "--json", "--list", "--pins", "--below", below + where]))
    check(answer["method"] == "census", answer.get("unknown"))
    pins = {}
    for z in answer["zombies"]:
        if not z["path"].removeprefix(below).startswith(prefix):
            continue
        hits = [p for p in z["pins"] if p["kind"] == "tmpfs"]
        check(len(hits) == 1 and hits[0]["bytes"] == SIZE and hits[0]["deleted"], f"{z['path']}: {z}")
        pins[z["path"].removeprefix(below)] = hits[0]
    return pins


def gone(prefix):
    """Within ten seconds; one that is just being released has no pin any more."""
    deadline = time.time() + 10
    while time.time() < deadline:
        answer = json.loads(subprocess.check_output([zscope, "zombies", "--json", "--list", "--below", below]))
        if not any(z["path"].startswith(below + prefix) for z in answer["zombies"]):
            return True
        time.sleep(0.1)
    return False


def unit_of(pid):
    """As the first hierarchy tells in which the process is not at the top."""
    paths = {c: p for _, c, p in (line.split(":", 2) for line in open(f"/proc/{pid}/cgroup").read().splitlines())}
    for hierarchy in ("name=systemd", "", "memory"):
        if len(paths.get(hierarchy, "")) > 1:
            units = re.findall(r"[^/]+\.(?:service|scope)", paths[hierarchy])
            return units[-1] if units else None


def named():
    kinds = {"memfd": "memfd:%s", "memfd-mapped": "memfd:%s", "sysv": "SYSV00000000", "sysv-left": "SYSV00000000", "shared": "dev/zero"}
    plan = [(k, f"/{k}{i}", f"zscope-{k}-{i}") for k in kinds for i in range(EACH)] + [("memfd", "/hostile", HOSTILE)] + \
        [("deleted", f"/deleted{i}", f"{shm}/d{i}") for i in range(EACH)]
    # what is only mapped, and what is open: looked for differently, so a walk of each kind alone
    pid = make(plan)
    pins = look("")
    check(set(pins) == {c for _, c, _ in plan}, set(pins) ^ {c for _, c, _ in plan})
    for kind, c, n in plan:
        pin = pins[c]
        want = n if kind == "deleted" else kinds[kind].replace("%s", n)
        check(pin["file"] == want, f"{c}: {pin}")
        if kind == "sysv-left":
            check(pin["holder"] == {"processes": 0}, f"{c}: {pin}")
            continue
        holder = pin["holder"]
        check((holder["pid"], holder["comm"], holder["processes"], holder.get("unit")) == (pid, "zombie_maker", 1, unit_of(pid)), f"{c}: {pin}")
    for kind in kinds:
        alone = look(f"/{kind}0")
        check(alone[f"/{kind}0"].get("holder") == pins[f"/{kind}0"]["holder"], f"alone: {alone}")
    text = subprocess.check_output([zscope, "zombies", "--list", "--pins", "--below", below], text=True)
    check(f"memfd:zscope-memfd-0 (deleted) (shared memory), held by pid {pid} zombie_maker" in text and "held by no process" in text, text)
    check("\x1b[31m" not in text, "a hostile name reached the terminal")
    purge(plan, pid)
    return len(plan)


def purge(plan, pid):
    dry = json.loads(subprocess.check_output([zscope, "purge", "--json", "--below", below]))
    check(dry["plan"]["freeable"] == 0 and [x["kind"] for x in dry["not_freeable"]] == ["tmpfs"], dry)
    held = dry["not_freeable"][0]["holders"]
    mine = [h for h in held if h.get("pid") == pid and h["comm"] == "zombie_maker"]
    left = [h for h in held if "pid" not in h]
    check(len(mine) == len(plan) - EACH and len(left) == EACH, held)
    check({h["shmid"] for h in left} == segments_of(pid), f"{left}, {segments_of(pid)}")
    check(all(h["remove"] == f"ipcrm -m {h['shmid']}" for h in left), left)
    text = subprocess.check_output([zscope, "purge", "--below", below + "/sysv-left0"], text=True)
    check(re.search(r"SYSV00000000 \(ipcrm -m \d+\): 1 zombie", text), text)
    text = subprocess.check_output([zscope, "purge", "--below", below], text=True)
    check(re.search(rf"dev/zero, held by pid {pid} zombie_maker[^:]*: {EACH} zombies", text), f"told one by one: {text}")
    # and that is what lets it go
    for h in left:
        subprocess.check_call(shlex.split(h["remove"]))
    check(gone("/sysv-left"), "ipcrm did not let them go")


def segments_of(pid):
    rows = [line.split() for line in open("/proc/sysvipc/shm").read().splitlines()[1:]]
    return {int(r[1]) for r in rows if int(r[4]) == pid and int(r[6]) == 0}


def segment_of(where):
    """What purge tells about the one System V segment below."""
    dry = json.loads(subprocess.check_output([zscope, "purge", "--json", "--below", below + where]))
    text = subprocess.check_output([zscope, "purge", "--below", below + where], text=True)
    held = [h for x in dry["not_freeable"] for h in x["holders"]]
    check(len(held) == 1 and held[0]["file"] == "SYSV00000000", dry["not_freeable"])
    check(("ipcrm" in text) == ("remove" in held[0]) and ("shmid" in held[0]) == ("ipc_namespace" in held[0]), f"{held}: {text}")
    return held[0], text


def several():
    """The same id in two IPC namespaces: nobody is named, and nobody is told to remove it. In one: whoever has it, there."""
    makers[0].kill()  # its first segment has that id, too
    makers[0].wait()
    for i in range(2):
        make([("sysv", f"/ns{i}", "-")], "unshare", "-i")
    pins = look("", "/ns")
    both = [pins["/ns0"], pins["/ns1"]]
    check(both[0]["inode"] == both[1]["inode"] == 0, f"both are the first of their namespace: {both}")
    check(all(p["file"] == "SYSV00000000" and "holder" not in p for p in both), both)
    held, text = segment_of("/ns1")
    check(held.get("not_known") and "pid" not in held and "by whom is not known" in text, f"{held}: {text}")
    makers[-1].kill()
    makers[-1].wait()
    alone = look("", "/ns0")["/ns0"]
    check(alone["holder"]["pid"] == makers[1].pid and alone["holder"]["comm"] == "zombie_maker", alone)
    held, text = segment_of("/ns0")
    check(held["remove"] == f"nsenter -t {makers[1].pid} -i ipcrm -m 0", held)
    makers[1].kill()
    makers[1].wait()


def idle(what):
    """A process that did so in an IPC namespace of its own."""
    p = subprocess.Popen(["unshare", "-i", sys.executable, "-c", what + "; import time; print('ready', flush=True); time.sleep(1000)"],
                         stdout=subprocess.PIPE)
    makers.append(p)
    check(p.stdout.readline() == b"ready\n", what)
    return p


def elsewhere():
    """A segment that nobody is attached to, of a namespace that is not ours, and later one of the same id in a third that somebody has: a
    holder of the third must not be named for it. What purge advises lets exactly this one go."""
    left = idle("import ctypes; assert ctypes.CDLL(None).shmget(0, 8192, 0o1600) == 0")  # has segment 0, too, but no zombie
    make([("sysv-left", "/ns2", "-")], "unshare", "-i")
    pin = look("", "/ns2")["/ns2"]
    check(pin["inode"] == 0 and "holder" not in pin, f"two namespaces have a segment 0: {pin}")
    held, text = segment_of("/ns2")
    check(held.get("not_known") and "remove" not in held, held)
    left.kill()
    left.wait()
    ns2 = makers[-1].pid
    idle("import ctypes; assert ctypes.CDLL(None).shmget(42, 8192, 0o1600) == 0")  # the name tells that it is not this one
    pin = look("", "/ns2")["/ns2"]
    check(pin["holder"] == {"processes": 0}, pin)
    held, text = segment_of("/ns2")
    check("pid" not in held and held["remove"] == f"nsenter -t {ns2} -i ipcrm -m 0", held)
    make([("sysv", "/ns3", "-")], "unshare", "-i")
    pins = look("", ("/ns2", "/ns3"))
    check("holder" not in pins["/ns2"] and "holder" not in pins["/ns3"], f"nothing tells whose segment 0 it is: {pins}")
    makers[-1].kill()
    makers[-1].wait()
    held, text = segment_of("/ns2")
    subprocess.check_call(shlex.split(held["remove"]))
    check(gone("/ns2"), "it did not go by what was advised")


try:
    make_cgroup(base, v2)
    make_cgroup(base + "/system.slice", v2)
    os.mkdir(home)
    os.mkdir(shm, 0o700)
    n = named()
    several()
    elsewhere()
    print(f"{n} zombies held by memory without a path are named with their holders")
finally:
    segments = set().union(*(segments_of(p.pid) for p in makers))
    end(None, makers)
    for segment in segments:
        subprocess.run(["ipcrm", "-m", str(segment)])
    remove(base, shm)
