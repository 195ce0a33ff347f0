"""What the tests in virtual machines share: a Debian kernel package, an initramfs of busybox and the programs under test, and a boot
in qemu (software emulation) whose answers come back as lines "@@KEY@@ JSON"."""
import glob, json, os, re, shutil, subprocess, sys

# What the shells in the machines share.
SHELL = r"""say() { echo "@@$1@@ $2"; }
until_true() { # TRIES COMMAND...: waits for what must come, a second between two looks
	tries=$1
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 1
	done
}
dying() { zscope zombies --json --below $1 | grep -o '"dying":[0-9]*' | head -n 1 | cut -d: -f2; } # the host's comes after it
dying_are() { [ "$(dying $2)" = $1 ]; }
until_dying() { until_true 30 dying_are $1 $2; } # N BELOW: the kernel releases in the background
reparents() { # from 7.1 on the pages of a removed cgroup go to its parent
	IFS=.- read -r major minor rest < /proc/sys/kernel/osrelease
	[ $major -gt 7 ] || { [ $major = 7 ] && [ $minor -ge 1 ]; }
}
"""
# How the machine's /init begins.
INIT_HEAD = """#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /tmp
mount -t tmpfs tmpfs /tmp
"""
CACHE = os.environ.get("ZSCOPE_TEST_CACHE", "/var/cache/zombiescope-test") + "/kernels"


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def need_tools():
    for tool in ("qemu-system-x86_64", "busybox", "cpio", "dpkg-deb", "depmod", "xz"):
        if not shutil.which(tool):
            skip(tool + " is missing")


def libraries(binary):
    text = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


def unpack_modules(tree, unpacked, release, wanted):
    """The modules and what they depend on, in the order in which they must be loaded: /modules lists them."""
    base = glob.glob(unpacked + "/lib/modules/*") + glob.glob(unpacked + "/usr/lib/modules/*")
    root = base[0].rsplit("/lib/modules/", 1)[0]
    subprocess.check_call(["depmod", "-b", root, release])
    modules, names = [], []
    for m in wanted:
        out = subprocess.run(["modprobe", "-d", root, "-S", release, "--show-depends", m], capture_output=True, text=True).stdout
        for path in re.findall(r"^insmod (\S+)", out, re.M):
            if path not in modules:
                modules.append(path)
    for i, path in enumerate(modules):
        name = "/lib/modules/%02d-%s" % (i, os.path.basename(path).removesuffix(".xz"))
        if path.endswith(".xz"):
            with open(tree + name, "wb") as f:
                subprocess.check_call(["xz", "-dc", path], stdout=f)
        else:
            shutil.copy(path, tree + name)
        names.append(name)
    open(tree + "/modules", "w").write("\n".join(names))


def unpack_kernel(debs, unpacked):
    """The kernel and its release."""
    for deb in debs:
        subprocess.check_call(["dpkg-deb", "-x", deb, unpacked])
    found = glob.glob(unpacked + "/boot/vmlinuz-*") + glob.glob(unpacked + "/usr/lib/modules/*/vmlinuz")
    kernel = found[0]
    return kernel, kernel.split("vmlinuz-")[1] if "/boot/" in kernel else kernel.split("/")[-2]


def initramfs(tree, debs, programs, modules, init, files=()):
    """Returns the kernel and the initramfs. files: (path, bytes)."""
    unpacked = tree + ".deb"
    kernel, release = unpack_kernel(debs, unpacked)
    for d in ("bin", "proc", "sys", "dev", "lib/modules"):
        os.makedirs(f"{tree}/{d}")
    shutil.copy(shutil.which("busybox"), tree + "/bin/busybox")
    applets = subprocess.check_output([tree + "/bin/busybox", "--list"], text=True).split()
    for a in applets:
        if a != "busybox":
            os.symlink("busybox", f"{tree}/bin/{a}")
    for b in programs:
        shutil.copy(b, f"{tree}/bin/{os.path.basename(b)}")
        for lib in libraries(b):
            os.makedirs(tree + os.path.dirname(lib), exist_ok=True)
            shutil.copy(lib, tree + lib)
    unpack_modules(tree, unpacked, release, modules)
    for path, data in [*files, ("/init", init.encode())]:
        with open(tree + path, "wb") as f:
            f.write(data)
    os.chmod(tree + "/init", 0o755)
    subprocess.check_call("find . | cpio -o -H newc --quiet | gzip -1 > ../initrd", shell=True, cwd=tree)
    return kernel, os.path.dirname(tree) + "/initrd"


def run_qemu(args, seconds, popen):
    p = subprocess.run(["timeout", "-k", "5", str(seconds), "qemu-system-x86_64", "-cpu", "max", "-m", "768", "-nographic", "-no-reboot", *args],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **popen)
    text = p.stdout.decode(errors="replace").replace("\r", "")
    if os.environ.get("ZSCOPE_VM_CONSOLE"):  # to look at what the machine printed
        open(os.environ["ZSCOPE_VM_CONSOLE"], "w").write(text)
    return text


# For machines in which the time that a program gets is judged: their clock is the number of instructions that they have run (8 ns each),
# so it stands still while the host has other work.
OWN_CLOCK = ("-icount", "shift=3")


def boot(kernel, initrd, *more, append="", seconds=900, **popen):
    """Boots until the machine powers itself off; the answers by key, the last of each. The limit is for one that hangs: on a quiet host
    none takes longer than two minutes."""
    args = ["-kernel", kernel, "-initrd", initrd, "-append", f"console=ttyS0 panic=-1 quiet {append}", *more]
    text = run_qemu(args, seconds, popen)
    if "Kernel panic" in text and "@@" not in text and not popen:
        # with several cores the emulator now and then trips over the kernel patching its own code, long before our part begins
        text = run_qemu(args, seconds, popen)
    answers = {}
    for key, value in re.findall(r"@@(\w+)@@ ([^\n]*)", text):
        answers[key] = json.loads(value) if value.strip() else {}
    check("end" in answers, "the machine did not come to its end:\n" + text[-3000:])
    return answers
