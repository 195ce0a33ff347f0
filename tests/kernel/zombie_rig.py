"""What the tests that make real zombies share: skip with a reason, check, and where the memory cgroups are."""
import os, shutil, sys, time


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


def make_cgroup(path, v2):
    """One whose children have memory cgroups."""
    os.mkdir(path)
    if v2:
        with open(path + "/cgroup.subtree_control", "w") as f:
            f.write("+memory")


def settle(own, v2):
    """A page that was just read or made waits in a batch of its CPU and is on no list yet: it pins, but nothing can tell by what. Reclaim in
    an empty cgroup of our own makes every CPU put its batches on the lists."""
    os.mkdir(own)
    knob, text = ("memory.reclaim", "4096") if v2 else ("memory.force_empty", "0")
    try:
        with open(f"{own}/{knob}", "w") as f:
            f.write(text)
    except OSError:  # nothing was there to take; the batches are on the lists all the same
        pass
    os.rmdir(own)
    quiet(v2)


def tracked(v2):
    """What the kernel counts, removed ones included."""
    if v2:
        return sum(int(line.split()[1]) for line in open("/sys/fs/cgroup/cgroup.stat") if line.startswith(("nr_descendants", "nr_dying_descendants")))
    return int(next(line.split()[2] for line in open("/proc/cgroups") if line.startswith("memory\t")))


def quiet(v2):
    """What is released is released by workers, one after the other: until they have let go of nothing for half a second. Others on the
    host may make and remove cgroups for ever."""
    deadline, last, same = time.monotonic() + 15, None, 0
    while same < 10 and time.monotonic() < deadline:
        now = tracked(v2)
        same = same + 1 if now == last else 0
        last = now
        time.sleep(0.05)


def open_links(pid):
    """What the open files of a process are; one that it closes meanwhile is left out."""
    links = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass
    return links


def end(recorder, makers):
    """The recorder in its own time; the makers, and what they hold with them, at once."""
    if recorder and recorder.poll() is None:
        recorder.terminate()
        recorder.wait()
    for p in makers:
        if p.poll() is None:
            p.kill()
        p.wait()


def remove(base, *directories):
    """Directories of files, then the cgroup and all below it: one that was just left may be busy for a moment."""
    for d in directories:
        shutil.rmtree(d, ignore_errors=True)
    for path, _, _ in os.walk(base, topdown=False):
        for attempt in range(100):
            try:
                os.rmdir(path)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.05)
