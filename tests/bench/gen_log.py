#!/usr/bin/env python3
"""A log of N kernel messages without prefixes for the pattern bench: this machine's own kernel log over and over with other numbers,
ordinary lines of other subsystems, and one line in 500 that matches a row of the table. gen_log.py PATTERNS N SEED"""
import random
import re
import subprocess
import sys

patterns, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
rows = [line.rstrip("\n").split("\t") for line in open(patterns) if not line.startswith(("#", "id\t"))]
examples = [row[11] for row in rows]
own = subprocess.run(["dmesg", "-t"], capture_output=True, text=True, errors="replace").stdout.splitlines()
own = [line for line in own if line.strip()] or ["Linux version 6.1.0"]
other = [
    "audit: type=1400 audit(1700000000.123:45): apparmor=\"STATUS\" operation=\"profile_load\" profile=\"unconfined\" name=\"docker-default\"",
    "veth8f3c2a1: renamed from eth0", "docker0: port 3(veth1234567) entered blocking state",
    "docker0: port 3(veth1234567) entered forwarding state", "IPv6: ADDRCONF(NETDEV_CHANGE): veth12ab34c: link becomes ready",
    "device veth12ab34c entered promiscuous mode", "eth0: renamed from tmp5f2b1", "cgroup: cgroup2: unknown option \"nsdelegate\"",
    "nvme nvme1: I/O 123 QID 4 timeout, completion polled", "EXT4-fs (nvme1n1p1): mounted filesystem with ordered data mode. Quota mode: none.",
    "XFS (dm-3): Ending clean mount", "systemd[1]: Started Session 1234 of User root.", "usb 1-1: new high-speed USB device number 5 using xhci_hcd",
    "overlayfs: upper fs does not support tmpfile.", "TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.  Check SNMP counters.",
    "python3[12345]: segfault at 7f0012345678 ip 00007f0012345678 sp 00007ffd12345678 error 4 in libc.so.6[7f0012300000+195000]",
    "kauditd_printk_skb: 12 callbacks were held back", "ipmi_si IPI0001:00: IPMI message handler: Found new BMC (man_id: 0x002a7c)",
    "mce: [Hardware Error]: Machine check events logged", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.104.05",
    "libceph: mon0 (1)10.0.0.1:6789 session established", "nfs: server 10.0.0.1 not responding, still trying", "nfs: server 10.0.0.1 OK",
    "br-0a1b2c3d4e5f: port 2(vethabcdef1) entered disabled state", "kworker/u96:3 (1234): drop_caches: 3", "perf: interrupt took 2501 ns",
]


def other_numbers(line):
    return re.sub(r"\d+", lambda m: str(rng.randrange(10 ** min(len(m[0]), 9))) if len(m[0]) > 2 else m[0], line)


base = [other_numbers(rng.choice(own if rng.random() < 0.6 else other)) for _ in range(20000)]
out = sys.stdout
for i in range(0, n, 1000):
    block = [rng.choice(base) for _ in range(1000)]
    block[rng.randrange(500)] = rng.choice(examples)
    block[500 + rng.randrange(500)] = rng.choice(examples)
    out.write("\n".join(block) + "\n")
