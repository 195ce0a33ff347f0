#!/usr/bin/env python3
"""What holds zombies on other kernels (cgroup v2) and is not simply a file: metadata, zombies below, namespaces that are open or a thread's,
anonymous memory with its process, and the writeback of those zombies that were asked for and of no others. With loops and without.
usage: zombies_pins.py ZSCOPE ZOMBIE_MAKER [KERNEL...] (default: 6.1)"""
import os, re, sys, tempfile

from kernels import package
from rig import boot, check, initramfs, need_tools

zscope, maker = map(os.path.abspath, sys.argv[1:3])
PLAN = [("namespace-open", "/vm/open", "-"), ("namespace-thread", "/vm/thread", "-"), ("anon", "/vm/anon", "-"),
        ("process", "/vm/pod/inner/c0", "-"), ("process", "/vm/pod/inner/c1", "-"),
        ("file", "/vm/mine/z", "/mnt/mine"), ("file", "/vm/other/z", "/mnt/other")]

INIT = r"""#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /mnt /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for m in $(cat /modules); do insmod $m 2>/dev/null; done
dd if=/dev/zero of=/disk bs=1M count=24 2>/dev/null
mke2fs -F /disk >/dev/null 2>&1
losetup /dev/loop0 /disk
mount -t ext4 /dev/loop0 /mnt || mount -t ext2 /dev/loop0 /mnt || echo "NO FILE SYSTEM"
cd /sys/fs/cgroup
echo +memory > cgroup.subtree_control
mkdir vm vm/home
echo +memory > vm/cgroup.subtree_control
for d in vm/pod vm/pod/inner vm/mine vm/other; do mkdir $d; echo +memory > $d/cgroup.subtree_control; done
zombie_maker /sys/fs/cgroup/vm/home 8192 < /plan > /ready &
maker=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q ready /ready && break; sleep 1; done
mkdir vm/meta
sh -c 'echo 0 > vm/meta/cgroup.procs; cd /mnt; for i in 0 1 2 3 4 5 6 7 8 9; do for k in 0 1 2 3 4 5 6 7 8 9; do mkdir d$i$k; done; done'
rmdir vm/meta vm/pod/inner vm/pod
sleep 1
say() { echo "@@$1@@ $2"; }
say kernel "{\"release\":\"$(uname -r)\",\"maker\":$maker}"
for how in best run; do
	say $how "$(ZSCOPE_CENSUS=$how zscope zombies --json --list --pins --below /vm)"
	say ${how}_mine "$(ZSCOPE_CENSUS=$how zscope zombies --json --list --pins --below /vm/mine)"
done
say purge "$(zscope purge --json --below /vm/other)"
echo "@@end@@ {}"
poweroff -f
"""


def judge_holders(got, maker_pid, reparented, what):
    kinds = lambda c: [(p["kind"], p.get("pid"), p.get("comm")) for p in got[c]["pins"]]
    for c in ("/vm/open", "/vm/thread"):
        check([k for k in kinds(c) if k[0] != "anon"] == [("namespace", maker_pid, "zombie_maker")], f"{what}: {got[c]}")
    for c in ("/vm/pod", "/vm/pod/inner"):
        check([k[0] for k in kinds(c)] == ["child"], f"{what}: {got[c]}")
    if reparented:
        return
    anon = [p for p in got["/vm/anon"]["pins"] if p["kind"] == "anon"]
    check([(p["pid"], p["comm"], p["bytes"]) for p in anon] == [(maker_pid, "zombie_maker", 8192)], f"{what}: {got['/vm/anon']}")
    meta = [p for p in got["/vm/meta"]["pins"] if p.get("place") == "device"]
    check(meta and all(p["file"] in ("metadata of the file system on /dev/loop0 (/mnt)", "block allocator of the file system on /dev/loop0 (/mnt)")
                       for p in meta), f"{what}: {got['/vm/meta']}")


def judge(a):
    release = a["kernel"]["release"]
    version = tuple(int(x) for x in re.findall(r"\d+", release)[:2])
    for how in ("best", "run"):
        what = f"{release} {how}"
        got = {z["path"]: z for z in a[how]["zombies"]}
        judge_holders(got, a["kernel"]["maker"], version >= (7, 1), what)
        for c in ("mine", "other"):
            held = [p for p in got[f"/vm/{c}/z"]["pins"] if p["kind"] == "writeback"]
            check([p["file"] for p in held] == ["/mnt/" + c], f"{what}: {got[f'/vm/{c}/z']}")
        mine = a[how + "_mine"]
        check([z["path"] for z in mine["zombies"]] == ["/vm/mine/z"], f"{what}: {mine['zombies']}")
        check([f["file"] for f in mine["files"]] == ["/mnt/mine"] and mine["files_in_all"] == 1 and mine["files"][0]["zombies"] == 1,
              f"{what}: files of others: {mine['files']}")
        check(not [u for u in mine["unknown"] if "writeback" in u["what"]], f"{what}: {mine['unknown']}")
        check("slab_bytes" not in mine, f"{what}: {mine}")
    check(a["purge"]["plan"]["zombies"] == 1, f"{release}: {a['purge']}")
    return f"{release}: what holds zombies is named, with and without loops; the writeback of others is left out"


need_tools()
for name in sys.argv[3:] or ["6.1"]:
    deb = package(name)
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        plan = b"".join(b"%s\0%s\0%s\0" % (k.encode(), ("/sys/fs/cgroup" + c).encode(), f.encode()) for k, c, f in PLAN)
        kernel, initrd = initramfs(tmp + "/tree", deb, (zscope, maker), ("loop", "ext4", "ext2", "crc32c_generic"), INIT, [("/plan", plan)])
        print(judge(boot(kernel, initrd)), flush=True)
