#!/usr/bin/env python3
"""The cores' clocks out of the memory of other kernels, against their /proc/stat: before a core goes, while it is away, and when it is back.
Where a kernel keeps them otherwise, the recorder reads /proc/stat: then the program says so, and that is good, too.

usage: core_times.py KERNEL_CORE_TIMES [CORES KERNEL...]"""
import os, sys, tempfile

from kernels import package
from rig import INIT_HEAD, SHELL, boot, check, initramfs, need_tools

program = os.path.abspath(sys.argv[1])
cores = sys.argv[2] if len(sys.argv) > 2 else "3"
kernels = sys.argv[3:] or ["6.1", "6.12"]
# those from which it is known: 5.14 can run such a program
MUST = {"6.1", "6.12", "6.18"}

INIT = INIT_HEAD + SHELL + r"""say kernel "{\"release\":\"$(uname -r)\"}"
compare() { kernel-core-times > /tmp/said; status=$?; say $1 "{\"exit\":$status,\"said\":\"$(tr '\n"' ' .' < /tmp/said)\"}"; }
compare all
echo 0 > /sys/devices/system/cpu/cpu1/online
compare away
echo 1 > /sys/devices/system/cpu/cpu1/online
compare back
echo "@@end@@ {}"
poweroff -f
"""

need_tools()
for name in kernels:
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        kernel, initrd = initramfs(tmp + "/tree", package(name), (program,), (), INIT)
        a = boot(kernel, initrd, "-smp", cores)
        for part in ("all", "away", "back"):
            print(f"{a['kernel']['release']}, {part}: {a[part]['said']}", flush=True)
            check(a[part]["exit"] in ((0,) if name in MUST else (0, 77)), (part, a[part]))
