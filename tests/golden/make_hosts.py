#!/usr/bin/env python3
"""Invented hosts for the golden tests, as trees that --root takes (layout: src/source/captured.h).

make_hosts.py DIR [NAME...]: writes DIR/NAME for each host. The numbers are fixed: the same trees every time.
"""
import os
import sys

REAL = 1_770_000_000  # 2026-02-02 02:40:00 UTC
SECOND = 1_000_000_000


def put(root, path, data):
    full = os.path.join(os.fsencode(root), os.fsencode(path))
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def clock(root, second):
    put(root, ".zscope/clock",
        f"real_ns {(REAL + second) * SECOND}\nmono_ns {(9000 + second) * SECOND}\nboot_ns {(9000 + second) * SECOND}\n")


def stat(cores, second, busy):
    """busy(cpu) -> percent of (usr, sys) of that core in the second"""
    lines, total = [], [0] * 10
    for cpu in range(cores):
        usr, sys_ = busy(cpu)
        base = [100000 + cpu, 50, 40000 + cpu, 5000000, 700, 0, 900, 0, 0, 0]
        base[0] += usr * second
        base[2] += sys_ * second
        base[3] += (100 - usr - sys_) * second
        total = [a + b for a, b in zip(total, base)]
        lines.append(f"cpu{cpu} " + " ".join(map(str, base)))
    head = "cpu  " + " ".join(map(str, total))
    tail = [f"intr {7000 + 90 * second} 0 0", f"ctxt {10000 + 5000 * second}", f"btime {REAL - 9000}",
            f"processes {4000 + 20 * second}", "procs_running 3", "procs_blocked 0"]
    return "\n".join([head] + lines + tail) + "\n"


def common(root, second, host, cores, busy, load="3.10 2.90 2.50 4/900 5000"):
    clock(root, second)
    put(root, "proc/stat", stat(cores, second, busy))
    put(root, "proc/loadavg", load + "\n")
    put(root, "proc/meminfo", "MemTotal:       395841536 kB\nMemFree:        100000000 kB\nMemAvailable:   300000000 kB\n"
                              "SwapTotal:             0 kB\nSwapFree:              0 kB\nSlab:            4000000 kB\n"
                              "Percpu:           380000 kB\n")
    put(root, "proc/vmstat", f"nr_free_pages 1\npgscan_kswapd {500 + 100 * second}\npgscan_direct 40\nallocstall_normal 2\n"
                             "oom_kill 0\npgmajfault 900\n")
    for resource in ("cpu", "memory", "io"):
        put(root, f"proc/pressure/{resource}",
            f"some avg10=1.50 avg60=1.00 avg300=0.50 total={1000000 + 15000 * second}\n"
            f"full avg10=0.20 avg60=0.10 avg300=0.00 total={500000 + 2000 * second}\n")
    put(root, "proc/softirqs", "       " + " ".join(f"CPU{i}" for i in range(cores)) + "\n NET_RX: "
        + " ".join("7" for _ in range(cores)) + "\n")
    put(root, "proc/net/softnet_stat", "".join(
        f"0000000d 00000000 00000000 0 0 0 0 0 0 0 0 00000000 {i:08x} 0 0\n" for i in range(cores)))
    put(root, "proc/sys/kernel/hostname", host + "\n")
    put(root, "proc/sys/kernel/osrelease", "5.10.0-golden\n")
    put(root, "sys/devices/system/cpu/possible", f"0-{cores - 1}\n")


def process(root, pid, comm, utime, stime, cpu, cgroup, flags=0):
    rest = f"R 1 1 1 0 -1 {flags} 0 0 0 0 {utime} {stime} 0 0 20 0 1 0 {pid * 10} 1000 300 1 1 1 1 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0"
    put(root, f"proc/{pid}/stat", os.fsencode(f"{pid} (") + os.fsencode(comm) + os.fsencode(f") {rest}"))
    put(root, f"proc/{pid}/comm", os.fsencode(comm) + b"\n")
    put(root, f"proc/{pid}/cgroup", b"4:memory:" + os.fsencode(cgroup) + b"\n0::" + os.fsencode(cgroup) + b"\n")
    put(root, f"proc/{pid}/schedstat", f"{utime * 10000000} 5000000 9\n")


V1_MOUNTS = ("32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n")
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def proc_cgroups(tracked, memory_hierarchy=4):
    return ("#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t60\t1\n"
            f"memory\t{memory_hierarchy}\t{tracked}\t1\npids\t8\t60\t1\n")


def pods(root, mount, live):
    """live cgroups, the root counted: pods of ten containers each"""
    made = 1
    os.makedirs(os.path.join(root, mount), exist_ok=True)
    pod = 0
    while made < live:
        path = f"{mount}/kubepods/pod{pod}"
        if pod == 0:
            made += 1  # kubepods itself
        os.makedirs(os.path.join(root, path))
        made += 1
        for c in range(10):
            if made < live:
                os.makedirs(os.path.join(root, path, f"c{c}"))
                made += 1
        pod += 1


def v1_96(root, second):
    common(root, second, "node-sick", 96, lambda cpu: (0, 100) if cpu == 5 else (19, 0), "21.00 20.50 19.00 24/4000 99999")
    put(root, "proc/self/mountinfo", V1_MOUNTS)
    put(root, "proc/cgroups", proc_cgroups(68680))
    pods(root, "sys/fs/cgroup/memory", 240)
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    process(root, 17, "ksoftirqd/5", 0, 10, 5, "/", 0x200000)
    process(root, 2000, "kubelet", 100, 9000 + 100 * second, 5, "/system.slice/kubelet.service")


def v2(root, second):
    common(root, second, "node-v2", 8, lambda cpu: (30, 5))
    put(root, "proc/self/mountinfo", V2_MOUNT)
    put(root, "proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n")
    put(root, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
    put(root, "sys/fs/cgroup/cgroup.stat", "nr_descendants 149\nnr_dying_descendants 2100\nnr_dying_subsys_memory 2050\n")
    pod = "sys/fs/cgroup/kubepods.slice/pod1"
    put(root, f"{pod}/cpu.max", "50000 100000\n")
    put(root, f"{pod}/cpu.stat", f"usage_usec 1\nnr_periods {100 + 10 * second}\nnr_throttled {20 + 9 * second}\n"
                                 f"throttled_usec {1000 + 400000 * second}\n")
    put(root, "sys/fs/cgroup/system.slice/cpu.max", "max 100000\n")


def hybrid(root, second):
    common(root, second, "node-hybrid", 4, lambda cpu: (10, 2))
    put(root, "proc/self/mountinfo", V1_MOUNTS + UNIFIED)
    put(root, "proc/cgroups", proc_cgroups(41))
    put(root, "sys/fs/cgroup/unified/cgroup.controllers", "\n")
    put(root, "sys/fs/cgroup/unified/cgroup.stat", "nr_descendants 30\nnr_dying_descendants 0\n")
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    pods(root, "sys/fs/cgroup/memory", 40)


def container(root, second):
    common(root, second, "pod-7c9f", 16, lambda cpu: (5, 1))
    put(root, "proc/self/mountinfo",
        "35 31 0:32 /docker/4f6e /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
        "36 31 0:33 /docker/4f6e /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n")
    put(root, "proc/cgroups", proc_cgroups(68680))
    put(root, "sys/fs/cgroup/memory/memory.stat", "cache 1\n")
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    os.makedirs(os.path.join(root, "proc/self/ns"), exist_ok=True)
    os.symlink("cgroup:[4026532291]", os.path.join(root, "proc/self/ns/cgroup"))


HOSTILE = b"x) R 1\x1b[31m<b>\"'\\\xff\xe2\x80\xae"


def hostile(root, second):
    common(root, second, "node-\x1b]0;owned\x07<script>", 2, lambda cpu: (10, 2))
    put(root, "proc/self/mountinfo", V2_MOUNT)
    put(root, "proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n")
    put(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    put(root, "sys/fs/cgroup/cgroup.stat", "nr_descendants 3\nnr_dying_descendants 1\n")
    group = b"sys/fs/cgroup/" + HOSTILE
    put(root, group + b"/cpu.max", "1000 100000\n")
    put(root, group + b"/cpu.stat", f"nr_periods {100 + 10 * second}\nnr_throttled {20 + 10 * second}\nthrottled_usec {900000 * second}\n")
    process(root, 66, HOSTILE + b"\n", 5, 5, 1, b"/" + HOSTILE)


def broken(root, second):
    """missing, empty, cut and nonsensical files"""
    clock(root, second)
    put(root, "proc/stat", stat(2, second, lambda cpu: (50, 0))[:130])
    put(root, "proc/loadavg", "")
    put(root, "proc/meminfo", "MemTotal:    39584")
    put(root, "proc/vmstat", "\0\0\0\0\nthis is no vmstat\n")
    put(root, "proc/pressure/cpu", "some avg10=")
    put(root, "proc/cgroups", "memory\t")
    put(root, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cg")
    os.makedirs(os.path.join(root, "proc/softirqs"), exist_ok=True)  # a directory where a file should be
    os.makedirs(os.path.join(root, "proc/pressure"), exist_ok=True)
    os.mkfifo(os.path.join(root, "proc/pressure/memory"))


HOSTS = {"v1-96": v1_96, "v2": v2, "hybrid": hybrid, "container": container, "hostile": hostile, "broken": broken}


def main():
    where, names = sys.argv[1], sys.argv[2:] or list(HOSTS)
    for name in names:
        root = os.path.join(where, name)
        HOSTS[name](root, 1)
        HOSTS[name](os.path.join(root, ".zscope/before"), 0)
    empty = os.path.join(where, "empty")
    clock(empty, 1)


main()
