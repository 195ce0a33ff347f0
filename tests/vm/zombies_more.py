"""What the tests of zombies in virtual machines add at their end, on cgroup v2 and v1: zombies that are held by swap, and a purge of the whole
host. The shell part runs in a directory $base of the memory hierarchy whose children have memory cgroups; $top is the hierarchy's root,
in_cgroup enters a cgroup and runs a command; the rest is of rig.SHELL."""
from rig import check

SWAPPED = 1 << 20
CACHED = 64 * 4096  # freed swap entries per core
BASE = "/more"

MORE = r"""
# ---- held by swap: a tmpfs file that a removed cgroup wrote, and that was swapped out before
top=$(cd /sys/fs/cgroup; [ -d memory ] && cd memory; pwd)
base=$topBASE
mkdir -p $base
[ -e $base/cgroup.subtree_control ] && echo +memory > $base/cgroup.subtree_control
[ -e $base/memory.use_hierarchy ] && echo 1 > $base/memory.use_hierarchy
cd $base
in_cgroup() { sh -c 'echo $$ > $1/cgroup.procs; shift; exec "$@"' sh "$@"; }
stat_of() { sed -n "s/^$2 //p" $1/memory.stat; }
dd if=/dev/zero of=/swap bs=1M count=16 2>/dev/null
losetup /dev/loop1 /swap
mkswap /dev/loop1 > /dev/null
swapon /dev/loop1 || echo "NO SWAP"
for i in 0 1; do
	mkdir swap$i
	in_cgroup swap$i dd if=/dev/zero of=/dev/shm/swapped$i bs=64k count=16 2>/dev/null
	for try in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(stat_of swap$i shmem)" = 0 ] && break
		if [ -e swap$i/memory.reclaim ]; then echo 2M > swap$i/memory.reclaim
		elif [ -e swap$i/memory.force_empty ]; then echo 0 > swap$i/memory.force_empty
		else echo 0 > swap$i/memory.high; fi
	done 2>/dev/null
	rmdir swap$i
done
until_dying 2 BASE
say swap "$(zscope zombies --json --list --pins --below BASE)"
say swap_text "{\"text\":\"$(zscope zombies --list --pins --below BASE | tr '\n"' ';_')\"}"
scanned() { awk '/^pgscan/ { n += $2 } END { print n + 0 }' /proc/vmstat; }
before=$(scanned)
say swap_files "$(zscope purge --json --below BASE --apply)"
say swap_reclaim "$(zscope purge --json --method reclaim --below BASE --apply)"
say swap_scanned "{\"pages\":$(($(scanned) - before))}"
say swap_plan "{\"text\":\"$(zscope purge --below BASE | tr '\n"' ';_')\"}"
rm /dev/shm/swapped0
swapped_less() { ! zscope zombies --json --list --below BASE | grep -q '"path":"BASE/swap0"[^}]*"swap_bytes":SWAPPED,'; }
until_true 30 swapped_less
say swap_deleted "$(zscope zombies --json --list --pins --below BASE)"
swapoff /dev/loop1
until_dying 0 BASE
say swap_off "{\"dying\":$(dying BASE)}"
# ---- the whole host: only with the flag, and what the plan says
mkdir kept
in_cgroup kept dd if=/dev/zero of=/mnt/kept bs=64k count=16 2>/dev/null
sync
for i in 1 2 3 4; do
	mkdir w$i
	in_cgroup w$i dd if=/dev/zero of=/mnt/w$i bs=64k count=4 2>/dev/null
	sync
	rmdir w$i
done
if reparents; then until_dying 0 BASE; else until_dying 4 BASE; fi
: > /root_write; : > /caches_write
knob=$top/memory.reclaim
[ -e $top/memory.force_empty ] && knob=$top/memory.force_empty
[ -e $knob ] && mount --bind /root_write $knob
mount --bind /caches_write /proc/sys/vm/drop_caches
writes() { say $1 "{\"root\":$(wc -c < /root_write),\"caches\":$(wc -c < /caches_write),\"said\":\"$said\",\"status\":$status}"; }
tell() { said=$("$@" 2>&1 > /dev/null | tr '\n"' ';_'); }
tell zscope purge --method reclaim --apply; status=$(zscope purge --method reclaim --apply > /dev/null 2>&1; echo $?)
writes whole_refused
said=; status=0
zscope purge --below BASE > /dev/null
zscope purge --whole-host > /dev/null || status=$?
writes whole_dry
dropped() { sed -n 's/^drop_pagecache //p' /proc/vmstat; }
d0=$(dropped)
say whole_watched "$(zscope purge --json --whole-host --apply)"
writes whole_written
[ -e $knob ] && umount $knob
umount /proc/sys/vm/drop_caches
say whole_before "{\"dying\":$(dying BASE),\"dropped\":$d0,\"kept\":$(stat_of kept FILE_STAT),\"min\":\"$(cat kept/memory.min 2>/dev/null)\"}"
say whole_plan "$(zscope purge --json --whole-host)"
say whole "$(zscope purge --json --whole-host --apply)"
until_dying 0 BASE
say whole_after "{\"dying\":$(dying BASE),\"dropped\":$(dropped),\"kept\":$(stat_of kept FILE_STAT),\"min\":\"$(cat kept/memory.min 2>/dev/null)\"}"
# ---- what a killed purge left: a cgroup of its own, and nobody else's
mkdir zscope-purge-1 mine
printf 'rmdir %s\nrmdir %s\n' $base/zscope-purge-1 $base/mine > /run/zscope-purge.journal
said=$(zscope purge --restore 2>&1); status=$?
say own_restored "{\"said\":\"$said\",\"status\":$status,\"left\":\"$(echo $(ls -d zscope-purge-1 mine 2>/dev/null))\",\"journal\":$([ -e /run/zscope-purge.journal ] && echo true || echo false)}"
rm -f /run/zscope-purge.journal
rmdir mine
rmdir zscope-purge-1 2>/dev/null
cd $top
""".replace("BASE", BASE).replace("SWAPPED", str(SWAPPED))


def judge_swap(a, release, version):
    got = {z["path"]: z for z in a["swap"]["zombies"]}
    check(set(got) == {BASE + "/swap0", BASE + "/swap1"}, f"{release}: {set(got)}")
    for path, z in got.items():
        swap = [p for p in z["pins"] if p["kind"] == "swap"]
        check(len(swap) == 1 and swap[0]["bytes"] == SWAPPED == z["swap_bytes"], f"{release}: {path}: {z}")
    check(a["swap_text"]["text"].count("swap ") >= 2, f"{release}: {a['swap_text']}")
    for what in ("swap_files", "swap_reclaim"):
        stuck = {x["kind"]: x for x in a[what]["not_freeable"]}
        check(stuck["swap"]["zombies"] == 2 and "swapoff" in stuck["swap"]["freed_by"], f"{release}: {what}: {stuck}")
        check(a[what]["rounds"] == 0 and a[what]["freed"] == 0 and not a[what]["plan"]["freeable"], f"{release}: {what}: {a[what]}")
    check(a["swap_scanned"]["pages"] == 0, f"{release}: {a['swap_scanned']} were scanned for what cannot go")
    check("2 held by swap" in a["swap_plan"]["text"], f"{release}: {a['swap_plan']}")
    left = {z["path"]: z["swap_bytes"] for z in a["swap_deleted"]["zombies"]}
    # up to 6.14 each core keeps the last freed entries for itself, charged, until it has more of them
    check(left.pop(BASE + "/swap0", 0) <= CACHED and left == {BASE + "/swap1": SWAPPED}, f"{release}: {a['swap_deleted']['zombies']}")
    check(a["swap_off"]["dying"] == 0, f"{release}: {a['swap_off']}")


def judge_whole(a, release, version):
    v1 = a["swap"]["cgroup"]["memory"] == "v1"
    caches = v1 or version < (5, 19)
    refused, dry, written = a["whole_refused"], a["whole_dry"], a["whole_written"]
    check(refused["status"] == 2 and "--below" in refused["said"], f"{release}: {refused}")
    for watched in (refused, dry):
        check(not watched["root"] and not watched["caches"] and dry["status"] == 0, f"{release}: written without being told: {watched}")
    reparented = version >= (7, 1)
    name = "/proc/sys/vm/drop_caches" if caches else "/sys/fs/cgroup/memory.reclaim"
    for what in ("whole_watched", "whole_plan", "whole"):
        check(a[what]["plan"]["writes"] == name, f"{release}: {a[what]['plan']}")
    before, after = a["whole_before"], a["whole_after"]
    if reparented:  # nothing is left that reclaim could free: nothing may be written
        check(before["dying"] == 0 and not written["root"] and not written["caches"], f"{release}: {before}, {written}")
        return "nothing for the whole host to reclaim, and nothing written"
    check(bool(written["caches"]) == caches and bool(written["root"]) != caches, f"{release}: {written}, but the plan says {name}")
    check(before["dying"] == 4 and a["whole"]["applied"], f"{release}: {before}, {a['whole']}")
    check((after["dropped"] > before["dropped"]) == caches, f"{release}: {before}, {after}")
    # before 5.15 writeback holds until inodes leave the cache: then these are dropped, too
    check(bool(a["whole"]["plan"]["inodes"]) == (not v1 and version < (5, 15)), f"{release}: {a['whole']}")
    check(after["dying"] == 0, f"{release}: {after}, {a['whole']}")
    # drop_caches takes everybody's; memory.reclaim leaves what is protected, and protects it only meanwhile
    check(after["kept"] == 0 if caches else after["kept"] >= before["kept"] * 0.9, f"{release}: {before}, {after}")
    check(after["min"] == before["min"], f"{release}: {before}, {after}")
    return f"the whole host by {name}: {before['dying'] - after['dying']} of 4 went"


def judge_more(a, release, version):
    judge_swap(a, release, version)
    whole = judge_whole(a, release, version)
    restored = a["own_restored"]
    if a["swap"]["cgroup"]["memory"] == "v1":  # nothing of ours is ever made there: neither line is undone
        check(restored["left"].split() == ["mine", "zscope-purge-1"] and "line 1 of" in restored["said"], f"{release}: {restored}")
    else:
        check(restored["left"] == "mine" and "line 2 of" in restored["said"] and "(1 others are)" in restored["said"], f"{release}: {restored}")
    check(restored["status"] == 2 and restored["journal"], f"{release}: what was not undone is forgotten: {restored}")
    return f"2 held by {SWAPPED >> 20} MiB of swap each are named, not tried, and go by deletion and swapoff; {whole}"
