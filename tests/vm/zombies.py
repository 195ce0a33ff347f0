#!/usr/bin/env python3
"""The census on other kernels: boots Debian kernels in qemu (software emulation) with cgroup v2 and a busybox userland, makes zombies
of six kinds there and compares what zscope says; once with the classic page lists and once with the multi-gen ones.

usage: zombies.py ZSCOPE ZOMBIE_MAKER [PATTERN...]
PATTERN names kernel packages as apt-cache search does (default: the newest 6.1 and 6.12 of this Debian). A kernel package file (.deb)
works too, so older and newer kernels can be tried with packages that were downloaded from another suite:
    tests/vm/zombies.py build/zscope build/tests/kernel/zombie_maker ./linux-image-5.10.0-32-cloud-amd64_*.deb"""
import glob, json, os, re, shutil, subprocess, sys, tempfile

zscope, maker = map(os.path.abspath, sys.argv[1:3])
patterns = sys.argv[3:] or [r"linux-image-6\.1\.[0-9.-]+-cloud-amd64$", r"linux-image-6\.12\.[0-9.]+[+]?[a-z0-9]*-cloud-amd64$"]
cache = os.environ.get("ZSCOPE_TEST_CACHE", "/var/cache/zombiescope-test") + "/kernels"
SIZE = 8192
KINDS = {"file": 6, "deleted": 6, "tmpfs": 6, "mmap": 6, "process": 2, "namespace": 2}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def package(pattern):
    """A kernel package file; downloaded once."""
    if pattern.endswith(".deb"):
        return os.path.abspath(pattern)
    names = subprocess.run(["apt-cache", "pkgnames", "linux-image"], capture_output=True, text=True).stdout.split()
    names = [n for n in names if re.match(pattern, n)]
    if not names:
        skip("apt offers no package like " + pattern)
    version = lambda n: [int(x) for x in re.findall(r"\d+", n)]
    name = max(names, key=version)
    have = glob.glob(f"{cache}/{name}_*.deb")
    if not have:
        os.makedirs(cache, exist_ok=True)
        if subprocess.run(["apt-get", "download", "-qq", name], cwd=cache).returncode != 0:
            skip("cannot download " + name)
        have = glob.glob(f"{cache}/{name}_*.deb")
    return have[0]


def libraries(binary):
    text = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


INIT = r"""#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /mnt
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
zombie_maker /sys/fs/cgroup/vm/home SIZE < /plan > /ready &
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q ready /ready && break; sleep 1; done
sleep 1
say() { echo "@@$1@@ $2"; }
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
say after "$(zscope zombies --json --list --pins --below /vm)"
echo "@@end@@ {}"
poweroff -f
"""


def plan():
    made = []
    for kind, n in KINDS.items():
        for i in range(n):
            cgroup = "/docker/%064x" % (i + 1) if kind == "file" else f"/{kind}{i}"
            where = "/dev/shm" if kind == "tmpfs" else "/mnt"
            made.append((kind, "/vm" + cgroup, None if kind in ("process", "namespace") else f"{where}/{kind}{i}"))
    return made


def initramfs(tree, deb, made):
    unpacked = tree + ".deb"
    subprocess.check_call(["dpkg-deb", "-x", deb, unpacked])
    kernel = glob.glob(unpacked + "/boot/vmlinuz-*")[0]
    release = kernel.split("vmlinuz-")[1]
    for d in ("bin", "proc", "sys", "dev", "lib/modules"):
        os.makedirs(f"{tree}/{d}")
    shutil.copy(shutil.which("busybox"), tree + "/bin/busybox")
    applets = subprocess.check_output([tree + "/bin/busybox", "--list"], text=True).split()
    for a in applets:
        if a != "busybox":
            os.symlink("busybox", f"{tree}/bin/{a}")
    for b in (zscope, maker):
        shutil.copy(b, f"{tree}/bin/{os.path.basename(b)}")
        for lib in libraries(b):
            os.makedirs(tree + os.path.dirname(lib), exist_ok=True)
            shutil.copy(lib, tree + lib)
    base = glob.glob(unpacked + "/lib/modules/*") + glob.glob(unpacked + "/usr/lib/modules/*")
    root = base[0].rsplit("/lib/modules/", 1)[0]
    subprocess.check_call(["depmod", "-b", root, release])
    modules = []
    for m in ("loop", "ext4", "ext2", "crc32c_generic"):
        out = subprocess.run(["modprobe", "-d", root, "-S", release, "--show-depends", m], capture_output=True, text=True).stdout
        for path in re.findall(r"^insmod (\S+)", out, re.M):
            if path not in modules:
                modules.append(path)
    names = []
    for i, path in enumerate(modules):
        name = "/lib/modules/%02d-%s" % (i, os.path.basename(path).removesuffix(".xz"))
        if path.endswith(".xz"):
            with open(tree + name, "wb") as f:
                subprocess.check_call(["xz", "-dc", path], stdout=f)
        else:
            shutil.copy(path, tree + name)
        names.append(name)
    open(tree + "/modules", "w").write("\n".join(names))
    with open(tree + "/plan", "wb") as f:
        for kind, c, file in made:
            f.write(b"%s\0%s\0%s\0" % (kind.encode(), ("/sys/fs/cgroup" + c).encode(), (file or "-").encode()))
    with open(tree + "/init", "w") as f:
        f.write(INIT.replace("SIZE", str(SIZE)))
    os.chmod(tree + "/init", 0o755)
    subprocess.check_call("find . | cpio -o -H newc --quiet | gzip -1 > ../initrd", shell=True, cwd=tree)
    return kernel, os.path.dirname(tree) + "/initrd"


def boot(kernel, initrd):
    p = subprocess.run(["timeout", "-k", "5", "270", "qemu-system-x86_64", "-cpu", "max", "-smp", "1", "-m", "768", "-nographic",
                        "-no-reboot", "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 panic=-1 quiet"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = p.stdout.decode(errors="replace").replace("\r", "")
    answers = {}
    for key, value in re.findall(r"@@(\w+)@@ ([^\n]*)", text):
        answers[key] = json.loads(value) if value.strip() else {}
    check("end" in answers, "the machine did not come to its end:\n" + text[-3000:])
    return answers


def compare(answer, made, what):
    check(answer.get("method") == "census", f"{what}: {answer.get('method')}, {answer.get('unknown')}")
    check(answer["kernel_count"]["difference"] == 0, f"{what}: {answer['kernel_count']}")
    got = {z["path"]: z for z in answer["zombies"]}
    check(set(got) == {c for k, c, f in made}, f"{what}: {set(got) ^ {c for k, c, f in made}}")
    for kind, c, file in made:
        pins = got[c]["pins"]
        if kind in ("process", "namespace"):
            check(any(p["kind"] == kind for p in pins), f"{what}: {c}: {pins}")
            continue
        hit = [p for p in pins if p.get("file") == file]
        check(len(hit) == 1 and hit[0]["bytes"] == SIZE, f"{what}: {c}: {file} is not in {pins}")
        check(hit[0]["deleted"] == (kind == "deleted"), f"{what}: {c}: {hit}")
        check(hit[0]["kind"] == ("tmpfs" if kind == "tmpfs" else "file"), f"{what}: {c}: {hit}")
    check(any(g["kind"] == "docker" and g["count"] == KINDS["file"] for g in answer["groups"]), what)


def judge(answers, made):
    release = answers["kernel"]["release"]
    version = tuple(int(x) for x in re.findall(r"\d+", release)[:2])
    if version >= (7, 1):
        # pages go to the parent there: what remains is held by references
        left = {z["path"] for z in answers["classic"]["zombies"]}
        check({c for k, c, f in made if k in ("process", "namespace")} <= left, left)
        check(answers["classic"]["cost"]["verdict"] == "references", answers["classic"]["cost"])
        return f"{release}: declared gap: pages are reparented, {len(left)} zombies held by references are named"
    for what in ("classic", "multigen", "chunk"):
        if what in answers:
            compare(answers[what], made, f"{release} {what}")
    check(answers["off"]["method"] == "cgroup-stat" and answers["off"]["dying"] >= len(made), answers["off"])
    left = {z["path"] for z in answers["after"]["zombies"]}
    stay = {c for k, c, f in made if k in ("tmpfs", "process", "namespace")}
    freed = {c for k, c, f in made if k in ("file", "deleted")}
    check(stay <= left and len(freed & left) <= 1, f"{release}: after the purge: {left}")
    lists = "classic and multi-gen lists" if "multigen" in answers else "classic lists"
    return f"{release}: {len(made)} zombies named and held as they should ({lists}), {len(freed) - len(freed & left)} purged"


for tool in ("qemu-system-x86_64", "busybox", "cpio", "dpkg-deb", "depmod", "xz"):
    if not shutil.which(tool):
        skip(tool + " is missing")
made = plan()
for pattern in patterns:
    deb = package(pattern)
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        kernel, initrd = initramfs(tmp + "/tree", deb, made)
        print(judge(boot(kernel, initrd), made), flush=True)
