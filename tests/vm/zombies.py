#!/usr/bin/env python3
"""The census on other kernels: boots Debian kernels in qemu (software emulation) with cgroup v2 and a busybox userland, makes zombies
of six kinds there and compares what zscope says; once with the classic page lists and once with the multi-gen ones.

usage: zombies.py ZSCOPE ZOMBIE_MAKER [KERNEL...]
KERNEL is one of kernels.py (default: 6.1 and 6.12), or a kernel package file (.deb).

On 7.1 and newer a declared gap: the kernel hands the pages of a removed cgroup to its parent, so only references are left to be named;
writeback is one, and the purge must let those go.
Before 5.15 another: the inodes that a removed cgroup wrote to hold it until they leave the cache themselves. The purge must say so.
Then zombies that are held by swap, a purge of the whole host, and which files a purge writes to (zombies_more.py)."""
import os, re, sys, tempfile

from kernels import package
from rig import SHELL, boot, check, initramfs, need_tools
from zombies_more import MORE, judge_more

zscope, maker = map(os.path.abspath, sys.argv[1:3])
kernels = sys.argv[3:] or ["6.1", "6.12"]
SIZE = 8192
KINDS = {"file": 6, "deleted": 6, "tmpfs": 6, "mmap": 6, "process": 2, "namespace": 2, "socket": 2}
BARE = ("process", "namespace", "socket")  # held without a page


INIT = "#!/bin/sh\n" + SHELL + r"""export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /mnt /run
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
for m in $(cat /modules); do insmod $m 2>/dev/null; done
dd if=/dev/zero of=/disk bs=1M count=24 2>/dev/null
mke2fs -F /disk >/dev/null 2>&1
losetup /dev/loop0 /disk
mount -t ext4 /dev/loop0 /mnt || mount -t ext2 /dev/loop0 /mnt || echo "NO FILE SYSTEM"
cd /sys/fs/cgroup
echo +memory > cgroup.subtree_control
mkdir vm vm/docker vm/home
echo +memory > vm/cgroup.subtree_control
echo +memory > vm/docker/cgroup.subtree_control
# what is written stays dirty until somebody asks: how long the looks take must not matter
echo 360000 > /proc/sys/vm/dirty_expire_centisecs
zombie_maker /sys/fs/cgroup/vm/home SIZE < /plan > /ready &
until_true 60 grep -q ready /ready
no_tmpfs() { ! zscope zombies --json --list --below /vm | grep -q /vm/tmpfs; }
if reparents; then until_true 30 no_tmpfs; else until_dying MADE /vm; fi
say kernel "{\"release\":\"$(uname -r)\"}"
say classic "$(zscope zombies --json --list --pins --below /vm)"
if [ -e /sys/kernel/mm/lru_gen/enabled ]; then
	echo y > /sys/kernel/mm/lru_gen/enabled
	say multigen "$(zscope zombies --json --list --pins --below /vm)"
	echo n > /sys/kernel/mm/lru_gen/enabled
fi
say chunk "$(ZSCOPE_CENSUS=run zscope zombies --json --list --pins --below /vm)"
say off "$(ZSCOPE_CENSUS=off zscope zombies --json)"
say purge "$(zscope purge --json --below /vm --apply)"
# where writeback does not hold what wrote: the purge is done when the kernel has released them
at_most() { [ "$(dying /vm)" -le $1 ]; }
if reparents; then until_dying HELD /vm; elif [ -e memory.reclaim ]; then until_true 10 at_most REST; fi
say after "$(zscope zombies --json --list --pins --below /vm)"
say own "{\"left\":\"$(ls -d zscope-purge-* vm/zscope-purge-* 2>/dev/null)\",\"journal\":$([ -e /run/zscope-purge.journal ] && echo true || echo false)}"
# reclaim of a subtree: live children keep their cache and their memory.min, also when the purge is killed
mkdir -p /sys/fs/cgroup/rec
cd /sys/fs/cgroup/rec
echo +memory > cgroup.subtree_control
mkdir inner
echo +memory > inner/cgroup.subtree_control
mkdir inner/live
in_cgroup() { sh -c 'echo $$ > $1/cgroup.procs; shift; exec "$@"' sh "$@"; }
in_cgroup inner/live dd if=/dev/zero of=/mnt/live bs=64k count=64 2>/dev/null
sync
echo 65536 > inner/live/memory.min
left() {
	for i in 1 2 3 4; do
		mkdir $1$i
		in_cgroup $1$i dd if=/dev/zero of=/mnt/$1$i bs=64k count=8 2>/dev/null
		sync
		rmdir $1$i
	done
}
state() { echo "{\"file\":$(sed -n 's/^file //p' inner/live/memory.stat),\"min\":$(cat inner/live/memory.min),\"outer\":$(cat inner/memory.min),\"journal\":$([ -e /run/zscope-purge.journal ] && echo true || echo false),\"dying\":$(sed -n 's/^nr_dying_descendants //p' cgroup.stat)}"; }
if [ -e memory.reclaim ]; then
	left z
	reparents || until_dying 4 /rec
	say rec_before "$(state)"
	dying_now() { sed -n 's/^nr_dying_descendants //p' cgroup.stat; }
	fewer_than() { [ $(dying_now) -lt $1 ]; }
	before=$(dying_now)
	say reclaim "$(zscope purge --json --method reclaim --below /rec --apply)"
	reparents || until_true 10 fewer_than $before
	say rec_after "$(state)"
	left y
	zscope purge --json --method reclaim --below /rec --apply > /dev/null 2>&1 &
	while [ ! -s /run/zscope-purge.journal ] && [ -e /proc/$!/exe ]; do :; done
	kill -9 $!
	wait $! 2>/dev/null
	say rec_killed "$(state)"
	say rec_put_back "{\"said\":\"$(zscope purge --restore)\"}"
	say rec_restored "$(state)"
	# told to stop: it puts back by itself
	left x
	zscope purge --json --method reclaim --below /rec --apply > /dev/null 2> /stopped &
	i=0
	while [ ! -s /run/zscope-purge.journal ] && [ $i -lt 200000 ]; do i=$((i + 1)); done
	kill -TERM $!
	status=0
	wait $! || status=$?
	say rec_stopped "$(state)"
	say rec_told "{\"status\":$status,\"said\":\"$(tr '\n"' ';_' < /stopped)\"}"
fi
MOREmount -t securityfs securityfs /sys/kernel/security 2>/dev/null
if [ -w /sys/kernel/security/lockdown ]; then
	echo confidentiality > /sys/kernel/security/lockdown
	say lockdown "$(zscope zombies --json)"
fi
echo "@@end@@ {}"
poweroff -f
"""


def plan():
    made = []
    for kind, n in KINDS.items():
        for i in range(n):
            cgroup = "/docker/%064x" % (i + 1) if kind == "file" else f"/{kind}{i}"
            where = "/dev/shm" if kind == "tmpfs" else "/mnt"
            made.append((kind, "/vm" + cgroup, None if kind in BARE else f"{where}/{kind}{i}"))
    return made


def init(made):
    """How many there are at first, are held without a page, and may be left by a purge of files: what is mapped, and one more."""
    rest = sum(k not in ("file", "deleted") for k, c, f in made) + 1
    values = {"SIZE": SIZE, "MADE": len(made), "HELD": sum(k in BARE for k, c, f in made), "REST": rest, "MORE": MORE.replace("FILE_STAT", "file")}
    text = INIT
    for key, value in values.items():
        text = text.replace(key, str(value))
    return text


def plan_file(made):
    return b"".join(b"%s\0%s\0%s\0" % (kind.encode(), ("/sys/fs/cgroup" + c).encode(), (file or "-").encode()) for kind, c, file in made)


def compare(answer, made, what):
    check(answer.get("method") == "census", f"{what}: {answer.get('method')}, {answer.get('unknown')}")
    check(answer["kernel_count"]["difference"] == 0, f"{what}: {answer['kernel_count']}")
    got = {z["path"]: z for z in answer["zombies"]}
    check(set(got) == {c for k, c, f in made}, f"{what}: {set(got) ^ {c for k, c, f in made}}")
    for kind, c, file in made:
        pins = got[c]["pins"]
        if kind in BARE:
            check(any(p["kind"] == kind and p["pid"] > 0 for p in pins), f"{what}: {c}: {pins}")
            continue
        hit = [p for p in pins if p.get("file") == file and p["kind"] != "writeback"]
        check(len(hit) == 1 and hit[0]["bytes"] == SIZE, f"{what}: {c}: {file} is not in {pins}")
        check(hit[0]["deleted"] == (kind == "deleted"), f"{what}: {c}: {hit}")
        check(hit[0]["kind"] == ("tmpfs" if kind == "tmpfs" else "file"), f"{what}: {c}: {hit}")
    check(any(g["kind"] == "docker" and g["count"] == KINDS["file"] for g in answer["groups"]), what)


def judge_references(answers, made, release):
    """Pages go to the parent there: what remains is held by references, writeback among them, and that the purge lets go."""
    stay = {c: k for k, c, f in made if k in BARE}
    wrote = {c: f for k, c, f in made if k not in BARE + ("tmpfs",)}
    held = 0
    for what in ("classic", "multigen", "chunk"):
        got = {z["path"]: z["pins"] for z in answers[what]["zombies"]}
        check(set(stay) <= set(got) <= set(stay) | set(wrote), f"{release} {what}: {set(got)}")
        check(answers[what]["kernel_count"]["difference"] == 0, answers[what]["kernel_count"])
        for c, pins in got.items():
            if c in stay:
                check(any(p["kind"] == stay[c] and p["pid"] > 0 for p in pins), f"{release}: {c}: {pins}")
                continue
            check([p["kind"] for p in pins] == ["writeback"] and pins[0]["file"] == wrote[c] and pins[0]["dirty"], f"{release} {what}: {c}: {pins}")
            held += 1
    check(answers["classic"]["cost"]["verdict"] == "references", answers["classic"]["cost"])
    plan = answers["purge"]["plan"]
    check(held and plan["writeback"] == plan["freeable"] > 0 and not plan["files"], f"{release}: {held}, {plan}")
    check(answers["purge"]["freed"] == plan["writeback"], f"{release}: {answers['purge']}")
    left = {z["path"] for z in answers["after"]["zombies"]}
    check(left == set(stay), f"{release}: after the purge: {left}")
    judge_own(answers, release)
    return f"{release}: declared gap: pages are reparented; of {plan['zombies']} zombies {len(stay)} are named with who holds them, " \
        f"{plan['writeback']} with the file whose writeback holds them, and the purge let these go; "


def judge_own(answers, release):
    check(answers["own"] == {"left": "", "journal": False}, f"{release}: left behind: {answers['own']}")


def judge(answers, made):
    release = answers["kernel"]["release"]
    version = tuple(int(x) for x in re.findall(r"\d+", release)[:2])
    if version >= (7, 1):
        return judge_references(answers, made, release) + judge_more(answers, release, version)
    for what in ("classic", "multigen", "chunk"):
        if what in answers:
            compare(answers[what], made, f"{release} {what}")
    check(answers["off"]["method"] == "cgroup-stat" and answers["off"]["dying"] >= len(made), answers["off"])
    left = {z["path"] for z in answers["after"]["zombies"]}
    stay = {c for k, c, f in made if k in ("tmpfs",) + BARE}
    freed = {c for k, c, f in made if k in ("file", "deleted")}
    # before 5.15 the kernel does not hand a removed cgroup's inodes to its parent's writeback: what wrote to a file stays until the
    # inode itself leaves the cache
    gap = version < (5, 15)
    stuck = {x["kind"]: x for x in answers["purge"]["not_freeable"]}
    check(not gap or stuck["writeback"]["zombies"] >= len(freed & left), f"{release}: {stuck}, {left}")
    check(gap or answers["purge"]["plan"]["writeback"] > 0, f"{release}: {answers['purge']}")
    judge_own(answers, release)
    check(stay <= left and (gap or len(freed & left) <= 1), f"{release}: after the purge: {left}")
    if "lockdown" in answers:
        locked = answers["lockdown"]
        check(locked["method"] == "cgroup-stat" and any("lockdown" in u["why"] for u in locked["unknown"]), f"{release}: {locked}")
    reclaimed = judge_reclaim(answers, release) if "rec_before" in answers else "no memory.reclaim there"
    lists = "classic and multi-gen lists" if "multigen" in answers else "classic lists"
    return f"{release}: {len(made)} zombies named and held as they should ({lists}), {len(freed) - len(freed & left)} purged{' (declared gap: writeback holds the inodes)' if gap else ''}; {reclaimed}{'; counts only under lockdown' if 'lockdown' in answers else ''}; {judge_more(answers, release, version)}"


def judge_reclaim(answers, release):
    before, after, killed, restored = (answers["rec_" + k] for k in ("before", "after", "killed", "restored"))
    check(before["dying"] >= 4 and answers["reclaim"]["applied"], f"{release}: {before}, {answers['reclaim']}")
    check(after["dying"] < before["dying"], f"{release}: nothing was reclaimed: {before}, {after}")
    check(after["file"] >= before["file"] * 0.9, f"{release}: the live child's cache: {before}, {after}")
    stopped, told = answers["rec_stopped"], answers["rec_told"]
    check(told["status"] in (0, 2) and (told["status"] == 2) == ("stopped by a signal" in told["said"]), f"{release}: {told}")
    for state in (after, restored, stopped):
        check(state["min"] == 65536 and state["outer"] == 0 and not state["journal"], f"{release}: not put back: {state}")
    raised = killed["journal"] and (killed["min"] != 65536 or killed["outer"] != 0)
    return f"reclaim let {before['dying'] - after['dying']} of {before['dying']} go, live cache stayed, " + \
        ("a killed purge was put back" if raised else "the purge was over before the kill") + \
        (", a stopped one put itself back" if told["status"] == 2 else ", it was over before it was told to stop")


need_tools()
made = plan()
for name in kernels:
    deb = package(name)
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        kernel, initrd = initramfs(tmp + "/tree", deb, (zscope, maker), ("loop", "ext4", "ext2", "crc32c_generic"),
                                   init(made), [("/plan", plan_file(made))])
        print(judge(boot(kernel, initrd), made), flush=True)
