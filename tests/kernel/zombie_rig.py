"""What the tests that make real zombies share: skip with a reason, check, and where the memory cgroups are."""
import os, sys


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def memory_top():
    """The top of the memory hierarchy and whether it is cgroup v2; skips where zombies cannot be made or named."""
    if os.geteuid() != 0:
        skip("not root")
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        skip("no kernel BTF")
    top = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
    v2 = os.path.exists(top + "/cgroup.controllers")
    if v2 and "memory" not in open(top + "/cgroup.subtree_control").read().split():
        skip("the memory controller is not enabled below " + top)
    return top, v2


def open_links(pid):
    """What the open files of a process are; one that it closes meanwhile is left out."""
    links = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass
    return links
