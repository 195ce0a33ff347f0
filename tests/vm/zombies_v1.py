#!/usr/bin/env python3
"""The census on cgroup v1, where the original incident happened, on kernels that can still mount its memory controller: names, owners and
what holds each zombie, then a purge by files that leaves a neighbour's cache alone, then one by memory.force_empty of the parent. Where a parent's force_empty does
not reach its children (5.10 without use_hierarchy), the purge must say so. Then zombies held by swap and a purge of the whole host.

usage: zombies_v1.py ZSCOPE ZOMBIE_MAKER [KERNEL...]"""
import os, re, sys, tempfile

from kernels import package
from rig import SHELL, boot, check, initramfs, need_tools
from zombies_more import MORE, judge_more

zscope, maker = map(os.path.abspath, sys.argv[1:3])
kernels = sys.argv[3:] or ["6.1"]
SIZE = 8192
HEX = "%064x"
# kind, cgroup below /vm, file or None
MADE = [("file", f"/docker/{HEX % i}", f"/mnt/file{i}") for i in range(1, 7)] + \
    [("file", f"/system.slice/loop{i}.service", f"/mnt/unit{i}") for i in range(4)] + \
    [("deleted", f"/deleted{i}", f"/mnt/deleted{i}") for i in range(4)] + \
    [("tmpfs", f"/tmpfs{i}", f"/dev/shm/tmpfs{i}") for i in range(4)] + \
    [("process", f"/process{i}", None) for i in range(2)] + [("namespace", f"/namespace{i}", None) for i in range(2)]
STAY = ("tmpfs", "process", "namespace")

INIT = "#!/bin/sh\n" + SHELL + r"""export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /mnt /run
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/memory
mount -t cgroup -o memory memory /sys/fs/cgroup/memory || echo "NO V1 MEMORY"
for m in $(cat /modules); do insmod $m 2>/dev/null; done
dd if=/dev/zero of=/disk bs=1M count=24 2>/dev/null
mke2fs -F /disk >/dev/null 2>&1
losetup /dev/loop0 /disk
mount -t ext4 /dev/loop0 /mnt || mount -t ext2 /dev/loop0 /mnt || echo "NO FILE SYSTEM"
cd /sys/fs/cgroup/memory
mkdir flat flat/child
say flat "{\"hierarchy\":$(cat flat/memory.use_hierarchy),\"said\":\"$(zscope purge --method reclaim --below /flat --apply 2>&1 >/dev/null | tr -d '\n')\"}"
rmdir flat/child flat
mkdir vm
echo 1 > vm/memory.use_hierarchy # systemd does so at the root
mkdir vm/docker vm/system.slice vm/home vm/live
zombie_maker /sys/fs/cgroup/memory/vm/home SIZE < /plan > /ready &
until_true 60 grep -q ready /ready
sh -c 'echo $$ > vm/live/cgroup.procs; exec dd if=/dev/zero of=/mnt/live bs=64k count=64 2>/dev/null'
sync
until_dying MADE /vm
live() { say $1 "{\"cache\":$(sed -n 's/^cache //p' vm/live/memory.stat)}"; }
say kernel "{\"release\":\"$(uname -r)\"}"
say census "$(zscope zombies --json --list --pins --below /vm)"
say off "$(ZSCOPE_CENSUS=off zscope zombies --json)"
live live_before
say purge "$(zscope purge --json --below /vm --apply)"
live live_after
until_dying STAY /vm
say after "$(zscope zombies --json --list --pins --below /vm)"
for i in 1 2 3 4 5 6; do
	mkdir vm/docker/again$i
	sh -c 'echo $$ > $1/cgroup.procs; exec dd if=/dev/zero of=/mnt/again bs=4k count=2 seek=$2 2>/dev/null' sh vm/docker/again$i $((i * 2))
	sync
	rmdir vm/docker/again$i
done
until_dying 6 /vm/docker
say again "$(zscope zombies --json --list --below /vm/docker)"
say forced "$(zscope purge --json --method reclaim --below /vm/docker --apply)"
until_dying 0 /vm/docker
say empty "$(zscope zombies --json --list --below /vm/docker)"
MORE
echo "@@end@@ {}"
poweroff -f
"""


def judge_census(a, release):
    census = a["census"]
    check(census.get("method") == "census", f"{release}: {census.get('method')}, {census.get('unknown')}")
    check(census["cgroup"]["memory"] == "v1", census["cgroup"])
    check(census["kernel_count"]["difference"] == 0, f"{release}: {census['kernel_count']}")
    got = {z["path"]: z for z in census["zombies"]}
    check(set(got) == {"/vm" + c for _, c, _ in MADE}, f"{release}: {set(got) ^ {'/vm' + c for _, c, _ in MADE}}")
    for kind, c, file in MADE:
        pins = got["/vm" + c]["pins"]
        if not file:
            check(any(p["kind"] == kind and p["pid"] > 0 for p in pins), f"{release}: {c}: {pins}")
            continue
        hit = [p for p in pins if p.get("file") == file]
        check(len(hit) == 1 and hit[0]["bytes"] == SIZE and hit[0]["deleted"] == (kind == "deleted"), f"{release}: {c}: {pins}")
    groups = {(g["kind"], g["count"]) for g in census["groups"]}
    check(("docker", 6) in groups, groups)
    units = {g.get("unit") for g in census["groups"]}
    check({f"loop{i}.service" for i in range(4)} <= units, units)
    check(a["off"]["dying"] >= len(MADE) and a["off"]["method"] == "proc-cgroups", a["off"])


def judge(a):
    release = a["kernel"]["release"]
    judge_census(a, release)
    left = {z["path"] for z in a["after"]["zombies"]}
    check(left == {"/vm" + c for k, c, _ in MADE if k in STAY}, f"{release}: after the purge: {left}")
    check(a["live_after"]["cache"] >= a["live_before"]["cache"] >= 0.9 * (4 << 20), f"{a['live_before']} {a['live_after']}")
    check(a["flat"]["hierarchy"] == 1 or "use_hierarchy is 0" in a["flat"]["said"], a["flat"])
    check(a["again"]["dying"] == 6, a["again"])
    check(a["forced"]["applied"] and a["empty"]["dying"] == 0, f"{a['forced']}, {a['empty']}")
    more = judge_more(a, release, tuple(int(x) for x in re.findall(r"\d+", release)[:2]))
    return f"{release}, cgroup v1: {len(MADE)} zombies named and held as they should, {len(MADE) - len(left)} purged, the live cache stayed; " \
        f"force_empty let 6 of 6 go; {more}"


need_tools()
values = {"SIZE": SIZE, "MADE": len(MADE), "STAY": sum(k in STAY for k, _, _ in MADE), "MORE": MORE.replace("FILE_STAT", "cache")}
init = INIT
for key, value in values.items():
    init = init.replace(key, str(value))
plan = b"".join(b"%s\0%s\0%s\0" % (k.encode(), ("/sys/fs/cgroup/memory/vm" + c).encode(), (f or "-").encode()) for k, c, f in MADE)
for name in kernels:
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        kernel, initrd = initramfs(tmp + "/tree", package(name), (zscope, maker), ("loop", "ext4", "ext2", "crc32c_generic"),
                                   init, [("/plan", plan)])
        print(judge(boot(kernel, initrd)), flush=True)
