#!/usr/bin/env python3
"""Who did not get a core, in a virtual machine: a real-time task holds one core. First the kernel throttles it and says so; then nothing
stops it, and a kernel thread of that core, called upon meanwhile, must be reported with its core and how long it waited. The weight of pods
against system services is read from real cgroups.

usage: starvation.py ZSCOPE"""
import os, shutil, sys, tempfile

from kernels import package
from rig import INIT_HEAD, SHELL, boot, check, initramfs, need_tools, skip

zscope = os.path.abspath(sys.argv[1])

INIT = INIT_HEAD + SHELL + r"""mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/kubepods.slice /sys/fs/cgroup/system.slice
echo 2500 > /sys/fs/cgroup/kubepods.slice/cpu.weight
zscope record --no-profile --store /tmp/store 2>/tmp/err &
recorder=$!
until_true 60 grep -q "recording to" /tmp/err
sleep 2
hog() { timeout -s KILL $1 taskset 2 chrt -f 50 sh -c 'while :; do :; done' 2>/dev/null; }
hog 4
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
hog 15 &
sleep 1
cat /proc/sys/vm/stat_refresh # has work for a kernel thread of every core
wait %2
sleep 6
kill $recorder
wait $recorder
echo "@@events@@ [$(zscope events --store /tmp/store --json | tr '\n' ',' | sed 's/,$//')]"
echo "@@end@@ {}"
poweroff -f
"""

need_tools()
chrt = shutil.which("chrt") or skip("chrt is missing")
deb = package("6.1")
with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
    kernel, initrd = initramfs(tmp + "/tree", deb, (zscope, chrt), (), INIT)
    found = boot(kernel, initrd, "-smp", "2")["events"]
by_id = lambda i: [e for e in found if e["id"] == i]
throttled = by_id("rt-throttling")
check(throttled and throttled[0]["trusted"], found)
starved = [e for e in by_id("kthread-starved") if "/1" in e["fields"]["comm"]]
check(starved and all(e["trusted"] and int(e["fields"]["waited_ms"]) > 1000 for e in starved), found)
weight = by_id("kubepods-weight")
check(len(weight) == 1 and weight[0]["fields"]["ratio"] == "25.0", found)
print(f"RT throttling; {starved[0]['text']}; {weight[0]['text']}")
